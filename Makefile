# The one list of commands. CI calls the same names; whatever a command needs is in scripts/.

# Options for `make bench`, such as ARGS='-t get,set -n 100000 -q', and for the other commands that
# take them.
ARGS ?=
CARGO ?= cargo
TARGET = $${CARGO_TARGET_DIR:-target}

.PHONY: help bench compare precision microbench test test-python package package-test docs pictures setup setup-tools setup-test fmt lint clippy lint-fuzz

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

bench: setup ## Build keystorm, start a private server and run the suite (options: ARGS='-t get -q')
	$(CARGO) build --profile quick --locked -p keystorm
	$(TARGET)/quick/keystorm --spawn $(ARGS)

compare: ## keystorm, redis-benchmark and a bare loop turn about on a pinned server (options: ARGS='--case set')
	$(CARGO) build --release --locked -p keystorm -p bench
	$(CARGO) build --release --locked -p keystorm-engine --example bare
	$(TARGET)/release/compare $(ARGS)

precision: ## How well a schedule is kept on the real clock; wants an idle machine (options: ARGS='--tries 3')
	$(CARGO) build --release --locked -p keystorm
	python3 scripts/precision.py $(TARGET)/release/keystorm $(ARGS)

microbench: ## What encoding, decoding, keys and recording cost (options: ARGS=decode)
	$(CARGO) bench --locked -p bench --bench hot_path -- $(ARGS)

test: setup-tools ## Everything that must pass: formatting, lints, all tests
	@MAKE="$(MAKE)" sh scripts/test.sh

test-python: ## The Python package against the program of the tests, and on a Ray of its own
	@# Built as the tests have it: built alone it would have other features, and take as long again.
	$(CARGO) test --locked --no-run --quiet
	cd python && target=$$(cd .. && realpath $(TARGET)) && \
	  PATH="$$target/debug:$$PATH" PYTHONPATH=.:$$(realpath ..)/target/test-servers/ray \
	  KEYSTORM_SKIPPED_CHECKS="$$target/skipped-checks" python3 -m unittest -v tests.test_keystorm tests.test_packaging

package: setup ## What people install: wheels, .deb and .rpm for each architecture, in target/packages
	@sh scripts/package.sh

package-test: package ## Each package installed into an empty place, and run there
	@sh scripts/package-test.sh

docs: ## The pages of docs/ as a site in target/book, by mdBook
	@sh scripts/docs.sh

pictures: ## The picture of the README, of a run on this machine; wants redis-server and Chromium
	$(CARGO) build --release --locked -p keystorm
	@sh scripts/pictures.sh $(TARGET)/release/keystorm

setup: ## Install a server, a linker and OpenSSL's headers where they are missing
	@sh scripts/setup.sh

setup-tools: ## Install what the tests need beside that
	@sh scripts/setup-test.sh

setup-test: setup-tools ## The same, and fetch servers and clients of others that the tests run
	@sh scripts/test-servers.sh

clippy: lint-fuzz
	$(CARGO) clippy --locked --all-targets -- -D warnings

# The fuzz targets are a package of their own, since they link what no test needs: here they are only looked
# at.
lint-fuzz:
	CUSTOM_LIBFUZZER_PATH=/none/libfuzzer.a $(CARGO) clippy --locked --manifest-path fuzz/Cargo.toml \
	  --target-dir $(TARGET) -- -D warnings

fmt: ## Format the code
	$(CARGO) fmt

lint: ## Formatting and lints, without the tests
	$(CARGO) fmt --check
	@$(MAKE) --no-print-directory clippy
