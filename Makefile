# The one door to the project: `make quickstart` and `make check` are the README's two commands.
CONFIGURATION ?= debug
BIN = .build/$(CONFIGURATION)

.PHONY: setup build release man deb image lint imports test test-unit check schema quickstart torture rates fuzz bench clean

## Installs the system packages that are missing (Debian).
setup:
	./Scripts/setup

build: setup
	swift build -c $(CONFIGURATION)

# Equal functions once, relocations packed (as glibc 2.36 reads them), no symbols for others to link.
OPTIMISED = -c release --static-swift-stdlib -Xlinker -s -Xswiftc -use-ld=lld -Xlinker --icf=all -Xlinker --no-export-dynamic \
	-Xlinker -z -Xlinker pack-relative-relocs

## An optimised build without symbols, which needs no Swift where it runs; haul may have 25 MB.
release: setup
	swift build $(OPTIMISED) --product haul
	swift build $(OPTIMISED) --product depot
	@size=$$(stat -Lc %s .build/release/haul); [ $$size -le 25000000 ] || { echo "haul has $$size bytes" >&2; exit 1; }

## The man pages of what was built, in .build/man: made from the commands themselves.
man:
	mkdir -p .build/man
	for program in haul depot; do Scripts/manual $(BIN)/$$program >.build/man/$$program.1 || exit 1; done

## .build/haul_VERSION_ARCH.deb: programs, man pages, completions, systemd units, documents (docs/packaging.md).
deb: release
	./Scripts/deb

## An OCI image of the package, by buildah; BASE is the image of Debian 12 that it is made from.
BASE ?= docker.io/library/debian:12-slim
image: deb
	deb=$$(ls -t .build/haul_*.deb | head -n 1) && version=$$(.build/release/haul --version) \
	&& buildah build --build-arg BASE=$(BASE) --build-arg DEB=$$(basename $$deb) -t haul:$$version -f packaging/oci/Containerfile .build

## Format lint, strict; no `Mutex` where an optimised build breaks it, and no Foundation in what haul links (ARCHITECTURE.md).
lint:
	swift format lint --strict -r -p Sources Tests Package.swift
	! grep -rnE 'Mutex[<(]' Sources
	! grep -rnE --exclude-dir=DepotServer --exclude-dir=depot 'import Foundation' Sources

## Builds everything; a target that imports what it does not declare is an error, and so is a warning.
imports: setup
	swift build --build-tests --explicit-target-dependency-import-check error

test: imports
	./Scripts/test

## The quick tests, of what was built: those of the targets that start no server.
test-unit:
	./Scripts/test unit

check: lint test

## Writes what schemas/job.schema.json says of endpoints and policies from their key tables.
schema: imports
	HAUL_WRITE_SCHEMA=1 swift test --disable-xctest --skip-build --explicit-target-dependency-import-check error \
	--filter JobSchemaTests

## Kills haul and depot 500 times at seeded instants, and 50 times for each other endpoint and direction; the seed is
## printed, and taken from HAUL_TORTURE_SEED. HAUL_NOTICE_KILLS times for notices, under each of two kinds of receivers;
## HAUL_ATTACH_KILLS times while files are tied to their records.
torture: imports
	HAUL_TORTURE_KILLS=$${HAUL_TORTURE_KILLS:-500} HAUL_NOTICE_KILLS=$${HAUL_NOTICE_KILLS:-200} \
	HAUL_ATTACH_KILLS=$${HAUL_ATTACH_KILLS:-500} \
	HAUL_TORTURE_SEED=$${HAUL_TORTURE_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')} \
	swift test --disable-xctest --skip-build --explicit-target-dependency-import-check error --filter 'TortureTests|/kills\(|/killedAtAnyInstant'

## Rate limits by the server's measure: all rates and numbers of transfers, some ten minutes on a quiet machine.
rates: imports
	HAUL_RATES=1 swift test --disable-xctest --skip-build --no-parallel --filter EndToEndTests.RateTests

## Fuzzes what reads strangers' bytes, FUZZ_SECONDS a target; .ci/run only runs the corpus again.
FUZZ_SECONDS ?= 20
fuzz: setup
	FUZZ_SECONDS=$(FUZZ_SECONDS) ./Scripts/fuzz

## The main job end to end: depot on loopback, jobs/quickstart.yaml, its report.
quickstart: build
	BIN=$(BIN) ./Scripts/quickstart

clean:
	rm -rf .build

## Measures haul and its peers on the same work (Benchmarks/); ROUNDS runs of each, ROWS of the table.
ROUNDS ?= 5
bench: release
	./Scripts/setup-bench
	python3 Benchmarks/bench.py --rounds $(ROUNDS) $(if $(ROWS),--only $(ROWS)) --json .build/bench/results.json --markdown docs/performance.md
