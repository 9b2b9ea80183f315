# Thin verbs; each line can be typed by hand.

SHELL := bash
.DEFAULT_GOAL := help

# Arguments for aro-dev, e.g. make dev ARGS="--clusters 500".
ARGS ?=

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

test: parts ## Every test
	cargo build -p aro -p aro-dev
	cargo test --workspace

check: ## Format and lints
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets -- -D warnings
	@if command -v cargo-deny > /dev/null; then cargo deny check; else echo 'cargo-deny is not installed: no check of licences and advisories'; fi
	@if command -v typos > /dev/null; then typos; else echo 'typos is not installed: no check of spelling'; fi

generated: ## Write docs/reference anew
	cargo build -p aro
	mkdir -p docs/reference
	target/debug/aro print config-reference > docs/reference/configuration.md
	target/debug/aro print metrics > docs/reference/metrics.md
	target/debug/aro print routes > docs/reference/routes.md

bench: parts ## Speed and memory beside other proxies, release build
	cargo build --release -p aro -p aro-dev
	tests/bench/run

soak: parts ## Properties of everything that reads from the network, by the 100,000; a million grants; an audit log of ten million entries
	PROPTEST_CASES=100000 cargo test -p rp-access -p rp-audit -p rp-documents -p rp-kube -p rp-seal -p rp-config -p proxy never
	ARO_SOAK=1 cargo test -p rp-access --test grants scale
	tests/bench/run audit --entries 10000000

.PHONY: help dev parts test check generated bench soak
