# Everything here sets up what it needs; Go and g++ are the only requirements.
export CGO_ENABLED = 0
GO ?= go

.PHONY: all build demo test generate fuzz gpu-bundles gpu-check bench clean

all: build

build:
	$(GO) build -trimpath -o bin/ptoc ./cmd/ptoc

demo: build
	bin/ptoc run examples/allreduce.pl --ranks 8 --check

# Every test. Tests that need a tool which is missing say so when they skip.
test: build
	$(GO) vet ./...
	$(GO) test ./...
	bin/ptoc fmt -l examples stdlib
	bin/ptoc test --run verify --ranks 1..8 examples
	bin/ptoc test tests/moe

# Generated pages: docs/ops.md, docs/errors.md.
generate:
	$(GO) run ./docs/gen

# A short run of each fuzz target. What it tries is random; the same FUZZSEED and FUZZTIME=1000x try the same.
FUZZTIME ?= 10s
fuzz: export GODEBUG := $(if $(FUZZSEED),fuzzseed=$(FUZZSEED),$(GODEBUG))
fuzz:
	@for pkg in $$($(GO) list ./...); do \
	  dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
	  for f in $$(grep -hoE 'func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go 2>/dev/null | sed 's/func //'); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run=NONE -fuzz="^$$f$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=10x $(if $(FUZZSEED),-parallel=1) $$pkg || exit 1; \
	  done; \
	done

# Bundles of the examples, the conformance programs and the benchmarks, for GPUs. They need LLVM to be made.
gpu-bundles: build
	bin/ptoc gpu-bundles -o bin/gpu examples/*.pl examples/course/*.pl

# Checks and measures a GPU with bin/ptoc and the bundles in bin/gpu; without a GPU it says so. It needs
# no Go, no compiler and no network: copy bin to the machine with the GPU.
gpu-check:
	@test -x bin/ptoc || { echo "bin/ptoc is missing: make gpu-bundles, on a machine with Go and LLVM"; exit 1; }
	bin/ptoc gpu-check bin/gpu --report bin/gpu-report.md

bench: build
	bin/ptoc bench allreduce

clean:
	rm -rf bin
