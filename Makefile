# One command for each thing one does with the project. `make test` on a fresh Debian 12 installs what it needs (as
# root), builds, and runs everything that needs no GPU.
#
#   make build       configure and build into build/       make test      all tests without a GPU
#   make wheel       dist/tileloom-*.whl, checked           make gpu-test  tests that need a GPU
#   make demo        a first look                           make bench     benchmarks (need a GPU)
#   make docs        references from the .td files          make clean     remove what was built
#   make sweep       every feature over 20 seeds; every schedule of the search space: refused, or clean and right (hours)

BUILD ?= build
TYPE ?= Development
JOBS ?= $(shell nproc)
PYTHON ?= .venv/bin/python
export TILELOOM_BUILD := $(abspath $(BUILD))
export TILELOOM_LIBRARY ?= $(TILELOOM_BUILD)/lib/libtileloom.so
export PYTHONPATH := $(CURDIR)/python

.PHONY: setup configure build demo test sweep wheel gpu-test bench docs clean

setup:
	@tools/setup.sh

$(BUILD)/build.ninja:
	cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=$(TYPE) \
	  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
	  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22

configure: setup
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja

build: configure
	ninja -C $(BUILD) -j$(JOBS)

demo: build
	$(PYTHON) examples/demo.py

test: build
	@$(PYTHON) tools/run_tests.py --build $(BUILD)

sweep: build
	$(PYTHON) test/status/table.py --seeds 20 --output $(BUILD)/status.md
	TILELOOM_SEARCH_SPACE=all $(PYTHON) -m pytest -q test/python/test_search_space.py

wheel: build
	rm -rf dist
	$(PYTHON) tools/wheel_backend.py dist
	$(PYTHON) tools/check_wheel.py dist/*.whl --fake $(BUILD)/test/fake_cuda/libfake_cuda.so

# A GPU machine brings its own Python with torch and may lack LLVM; the release library needs nothing:
#   make gpu-test PYTHON=python3 TILELOOM_LIBRARY=$PWD/build-release/wheel/libtileloom.so
gpu-test:
	$(PYTHON) -m pytest -q test/gpu

# The records that README.md quotes. The hand-written programs beside known PTX: bench/programs.py --reference DIR.
RESULTS ?= bench/results/h200
bench:
	$(PYTHON) bench/language.py --repeats 11 --json $(RESULTS)-language.json
	$(PYTHON) bench/gemm.py --repeats 9 --json $(RESULTS)-gemm.json --plot docs/plots/gemm
	$(PYTHON) bench/attention.py --no-triton --repeats 7 --only arguments,fp8,varlen --json $(RESULTS)-attention.json
	$(PYTHON) bench/attention.py --no-triton --repeats 7 --only decode,few,short,latent,unequal,search --resume --json $(RESULTS)-attention.json
	$(PYTHON) bench/programs.py --json $(RESULTS)-programs.json
	$(PYTHON) bench/launch.py --json $(RESULTS)-launch.json
	$(PYTHON) bench/search.py --summary --json $(RESULTS)-search.json

docs: setup
	tools/make_docs.sh

clean:
	rm -rf $(BUILD) build-release dist
