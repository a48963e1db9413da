# SPDX-License-Identifier: Apache-2.0
# The front door.  Meson builds; this only says in which order.
MAKEFLAGS += --no-print-directory
DATA ?=

help:
	@echo 'make demo [DATA=folder]  trains a small network, fed by forebay, and says how fast'
	@echo 'make test                sets up, builds and runs all tests'
	@echo 'make build               a release in build/'
	@echo 'make quick               after an edit: debug build, unit tests, format, commits'
	@echo 'make check               what CI does beside make test; tests/check -l lists the steps'
	@echo 'make bench               the benchmarks'
	@echo 'make clean               removes build/ and build-*/'
	@echo
	@echo 'Missing Debian packages are installed by one apt-get line, which is shown.'

build:
	@tools/setup build
	@tools/build build --buildtype=release

demo:
	@tools/demo $(if $(DATA),"$(DATA)")

test:
	@tests/run

quick:
	@[ -f build-debug/build.ninja ] || tools/setup test
	@tools/build build-debug --buildtype=debug
	@meson test -C build-debug --no-rebuild --suite unit
	@tests/check format commits

check:
	@tools/setup check
	@tests/check

bench: build
	@meson test -C build --benchmark --verbose

clean:
	rm -rf build build-*

.PHONY: help build demo test quick check bench clean
