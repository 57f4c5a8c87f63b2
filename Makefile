# SPDX-License-Identifier: Apache-2.0
#
# The front door once everything is installed (./run TARGET installs first).  CMake does the work.

PREFIX ?= /usr/local

.PHONY: all demo test test-debug test-asan-ubsan test-clang fuzz coverage bench lint install package clean
all: build-release

.PHONY: build-release build-debug build-asan-ubsan build-clang build-fuzz build-coverage
build-release build-debug build-asan-ubsan build-clang build-fuzz build-coverage: build-%:
	@cmake --preset $* > /dev/null
	@cmake --build --preset $*

demo: all
	@examples/demo build/weir

test: all
	@tools/check_includes
	@tools/check_calls
	@tools/run_tests build

test-debug: build-debug
	@tools/run_tests build-debug

test-asan-ubsan: build-asan-ubsan
	@tools/run_tests build-asan-ubsan

test-clang: build-clang
	@tools/run_tests build-clang

# FUZZ_SECONDS for each harness; what is found stays in build-fuzz/found.
FUZZ_SECONDS ?= 60
fuzz: build-fuzz
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

coverage: build-coverage
	@tools/run_tests build-coverage
	@tools/coverage build-coverage

bench: all
	@cmake --build --preset release --target benches
	@for bench in build/bench_*; do [ ! -x "$$bench" ] || "$$bench" || exit 1; done

# Reads, runs nothing: test-clang and test-asan-ubsan do.
lint:
	@cmake --preset clang > /dev/null
	@tools/lint build-clang

# DESTDIR, where given, comes before PREFIX.
install: all
	@cmake --install build --prefix "$(PREFIX)"

package: all
	@tools/package build

clean:
	rm -rf build build-debug build-asan-ubsan build-clang build-fuzz build-coverage
