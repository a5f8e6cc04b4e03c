# Everything here sets up what it needs; Go and g++ are the only requirements.
export CGO_ENABLED = 0
GO ?= go

.PHONY: all build demo test generate fuzz bench clean

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
	bin/ptoc test --run verify examples

# Generated pages: docs/ops.md, docs/errors.md.
generate:
	$(GO) run ./docs/gen

# A short run of each fuzz target.
FUZZTIME ?= 10s
fuzz:
	@for pkg in $$($(GO) list ./...); do \
	  dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
	  for f in $$(grep -hoE 'func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go 2>/dev/null | sed 's/func //'); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run=NONE -fuzz="^$$f$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=10x $$pkg || exit 1; \
	  done; \
	done

bench: build
	bin/ptoc bench allreduce

clean:
	rm -rf bin
