# The one door to the project: `make quickstart` and `make check` are the README's two commands.
CONFIGURATION ?= debug
BIN = .build/$(CONFIGURATION)

.PHONY: setup build release lint imports test check fuzz quickstart clean

## Installs the system packages that are missing (Debian).
setup:
	./Scripts/setup

build: setup
	swift build -c $(CONFIGURATION)

## An optimised build.
release: setup
	swift build -c release

## Format lint, strict.
lint:
	swift format lint --strict -r -p Sources Tests Package.swift

## Builds everything; a target that imports what it does not declare is an error, and so is a warning.
imports: setup
	swift build --build-tests --explicit-target-dependency-import-check error

test: imports
	swift test --disable-xctest --skip-build --explicit-target-dependency-import-check error

check: lint test

## Fuzzes what reads strangers' bytes, FUZZ_SECONDS a target; .ci/run only runs the corpus again.
FUZZ_SECONDS ?= 20
fuzz: setup
	FUZZ_SECONDS=$(FUZZ_SECONDS) ./Scripts/fuzz

## The main job end to end: depot on loopback, jobs/quickstart.yaml, its report.
quickstart: build
	BIN=$(BIN) ./Scripts/quickstart

clean:
	rm -rf .build
