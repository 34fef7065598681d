#!/usr/bin/env bash
# Installs what the build and the tests need on Debian 12, and makes the Python environment .venv. Says what it installs;
# does nothing when everything is there. Needs root only if packages are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  libmlir-22-dev llvm-22-dev mlir-22-tools llvm-22-tools clang-22 lld-22
  g++ ccache ninja-build cmake make libgtest-dev python3 python3-venv
  # The CMake exports of LLVM name these.
  libzstd-dev zlib1g-dev libxml2-dev libedit-dev libcurl4-openssl-dev
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok' || missing+=("$package")
done

if ((${#missing[@]})); then
  if ((EUID != 0)); then
    echo "setup: not installed: ${missing[*]}; run tools/setup.sh as root, or install them" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  apt-get update -qq
  # grep reads to the end: with -q it may stop first, and a broken pipe counts as a failure here.
  known() { apt-cache policy "$1" | grep 'Candidate: [^(]' >/dev/null; }
  # LLVM 22 is part of Debian 12's security suite, which minimal images may lack. Its mirror lies beside the main one.
  if ! known libmlir-22-dev; then
    mirror=$(grep -rhoE '[a-z]+://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
      head -n 1 | sed 's:/* *$::' || true)
    if [[ -n "$mirror" ]]; then
      echo "setup: adding the suite bookworm-security to the package sources"
      echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror-security bookworm-security main" \
        >/etc/apt/sources.list.d/tileloom-security.list
      apt-get update -qq
    fi
    if ! known libmlir-22-dev; then
      echo "setup: libmlir-22-dev is in no package source; needed: Debian 12 with the suite bookworm-security" >&2
      exit 1
    fi
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# The environment is made again when the pinned versions change.
stamp=.venv/requirements.txt
if ! cmp -s test/requirements.txt "$stamp"; then
  echo "setup: making .venv with $(grep -cE '^[a-z]' test/requirements.txt) packages"
  rm -rf .venv
  /usr/bin/python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r test/requirements.txt
  cp test/requirements.txt "$stamp"
fi

# The assembler, and nvcc for the simulator's tests: of an installed CUDA toolkit if there is one, else from their Python packages.
# A toolkit with ptxas alone is completed.
if ! PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH" command -v nvcc >/dev/null && ! compgen -G '.venv/lib/python*/site-packages/nvidia/cu13/bin/nvcc' >/dev/null; then
  echo "setup: installing ptxas and nvcc 13.0 into .venv"
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 \
    nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96
  chmod -R +x .venv/lib/python*/site-packages/nvidia/cu13/bin .venv/lib/python*/site-packages/nvidia/cu13/nvvm/bin
fi
if ! PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH" command -v ptxas >/dev/null && [[ ! -x .venv/bin/ptxas ]]; then
  found=$(find .venv/lib -path '*/bin/ptxas' | head -n 1)
  ln -sf "$(realpath "$found")" .venv/bin/ptxas
fi
echo "setup: ready"
