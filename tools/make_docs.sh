#!/usr/bin/env bash
# Writes docs/reference/: one page for each dialect (dialects/*/, from the file that defines the dialect) and for each
# stage of passes (passes/*/Passes.td), made from the .td files.
set -euo pipefail
cd "$(dirname "$0")/.."
llvm=${LLVM_PREFIX:-/usr/lib/llvm-22}
out=docs/reference
mkdir -p "$out"
include=(-I "$llvm/include" -I . -I include)

# The dialect's operations may be in a file that includes the dialect's own: take the one that no other includes.
for folder in dialects/*/; do
  name=$(basename "$folder")
  for file in "$folder"*.td; do
    [[ -e "$file" ]] || continue
    grep -qE "include \"[^\"]*$(basename "$file")\"" "$folder"*.td && continue
    dialect=$(cat "$folder"*.td | grep -A8 -E ': *Dialect *\{' | grep -oE 'name = "[a-z_]+"' | head -n 1 | cut -d'"' -f2)
    [[ -n "$dialect" ]] || continue
    "$llvm/bin/mlir-tblgen" -gen-dialect-doc -dialect="$dialect" "${include[@]}" -I "$folder" "$file" >"$out/$name.md"
    echo "$out/$name.md"
  done
done
for file in passes/*/Passes.td; do
  [[ -e "$file" ]] || continue
  name=$(basename "$(dirname "$file")")
  "$llvm/bin/mlir-tblgen" -gen-pass-doc "${include[@]}" "$file" >"$out/passes-$name.md"
  echo "$out/passes-$name.md"
done
