# Thin verbs; each line can be typed by hand.

SHELL := bash
.DEFAULT_GOAL := help

# Where tests/parts/install puts programs.
PARTS = $(or $(ARO_PARTS_DIR),$(HOME)/.cache/aro-parts)/bin

# Arguments for aro-dev, e.g. make dev ARGS="--clusters 500".
ARGS ?=

# Made-up inputs of the properties are the same in every run of the tests, so that a red run is a change's doing;
# the soak makes up new ones each time.
test: export PROPTEST_RNG_SEED ?= 20261122

help: ## What there is
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

dev: ## The whole system on this machine, with simulated clusters; REAL=1 adds a real Kubernetes
ifdef REAL
	tests/parts/install
	cargo build -p aro-dev
	cargo run -q -p tests-kit --example real -- $(ARGS)
else
	cargo build -p aro -p aro-dev
	cargo run -q -p aro-dev -- $(ARGS)
endif

parts: ## The real programs that the tests run against
	tests/parts/install

test: ## Every test; installs the real parts meanwhile
	tests/run

check: ## Format, lints, dependencies, and advisories where their database can be reached
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets -- -D warnings
	tests/parts/install cargo
	$(PARTS)/cargo-machete --skip-target-dir
	$(PARTS)/cargo-deny --locked check bans licenses sources
	@if GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote -q https://github.com/RustSec/advisory-db HEAD > /dev/null 2>&1; then $(PARTS)/cargo-deny --locked check advisories; \
	else echo 'the database of advisories cannot be reached: no check of advisories'; fi
	@if command -v typos > /dev/null; then typos; else echo 'typos is not installed: no check of spelling'; fi

pictures: parts ## Pictures of every page in every state, wide and narrow, in every theme, and what axe says
	tests/browser/pictures

generated: ## Write docs/reference and the picture of the crates anew
	cargo build -p aro -p aro-dev
	mkdir -p docs/reference
	target/debug/aro print config-reference > docs/reference/configuration.md
	target/debug/aro print metrics > docs/reference/metrics.md
	target/debug/aro print routes > docs/reference/routes.md
	target/debug/aro print openapi > docs/reference/openapi.json
	target/debug/aro print api-versions > docs/reference/api-versions.md
	target/debug/aro print command-line > docs/reference/command-line.md
	rm -rf docs/reference/swagger
	set -e; for version in $$(sed -n 's/^### \(20[^ ]*\) (\(stable\|preview\)).*/\1/p' docs/reference/api-versions.md); do \
		target/debug/aro print swagger $$version --into docs/reference/swagger; done
	ARO_GOLDEN=write cargo test -q -p tests --test contracts its_schema_knows
	cargo run -q -p tests-kit --example crates > target/crates.svg
	mv target/crates.svg docs/architecture/crates.svg

images: export ARO_COMMIT ?= $(shell git rev-parse --short=12 HEAD)
images: ## Images of aro and of the operator in target/images; the commit is the version of both
	cargo build --profile dist -p aro -p rp-operator
	mkdir -p target/images
	set -e; for name in aro aro-operator; do rm -rf target/images/$$name; \
		deploy/images/build $$name target/dist/$$name target/images/$$name; done

bench: ## Speed and memory beside other programs, as it ships
	tests/parts/install bench
	tests/bench/run

soak: ## What takes too long or too much for every run; tests/soak/run says what, and takes single steps
	tests/soak/run

.PHONY: help dev parts test check pictures generated images bench soak
