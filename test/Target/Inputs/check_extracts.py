"""Fails if an extractvalue of LLVM IR on standard input takes a call's result from another block."""

import re
import sys

block, calls, apart, count = 0, {}, [], 0
for line in sys.stdin:
    if re.match(r"\S+:|define ", line):
        block += 1
    if call := re.match(r"\s+(%\S+) = (tail )?call \{", line):
        calls[call[1]] = block
    if extract := re.match(r"\s+%\S+ = extractvalue .* (%[^\s,]+), \d+", line):
        count += 1
        if calls.get(extract[1], block) != block:
            apart.append(line.strip()[:40])
print(f"{count} extracts, {len(apart)} of them apart from their call")
sys.exit(bool(apart))
