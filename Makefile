# Two commands do everything on a fresh machine with Rust: `make demo` and `make test`.

DEMO_TIME ?= 120s
DEMO_VERSION ?= 3.39.2
CAQTUS = ./target/release/caqtus

.PHONY: demo test tools

# Builds, fetches and builds an old SQLite, hunts on it, and shows the first finding there and on the current version.
demo: tools
	cargo build --release
	$(CAQTUS) dbms install sqlite@$(DEMO_VERSION)
	@echo; echo "Hunting for $(DEMO_TIME) on SQLite $(DEMO_VERSION), which has known bugs; Ctrl-C ends it early."
	@$(CAQTUS) hunt --dbms sqlite@$(DEMO_VERSION) --for $(DEMO_TIME) --out caqtus-findings/demo; test $$? -le 1
	@echo; $(CAQTUS) bug list --findings caqtus-findings/demo
	@id=$$(ls caqtus-findings/demo | grep -E '^[0-9a-f]{12}$$' | head -1); \
	if [ -n "$$id" ]; then \
	  echo; echo "The first finding on SQLite $(DEMO_VERSION):"; \
	  $(CAQTUS) bug replay $$id --findings caqtus-findings/demo; \
	  echo; echo "The same case on the SQLite linked into caqtus:"; \
	  $(CAQTUS) bug replay $$id --findings caqtus-findings/demo --dbms sqlite | tail -1; \
	  echo; echo "Its files: caqtus-findings/demo/$$id"; \
	fi

# The same checks as in continuous integration.
test: tools
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings
	cargo test --locked

# A C compiler builds SQLite.
tools:
	@command -v cargo >/dev/null || { echo "Rust is missing: see https://rustup.rs"; exit 1; }
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy
	@command -v cc >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends gcc libc6-dev; \
	else echo "A C compiler is missing: install gcc and libc6-dev (Debian: apt-get install gcc libc6-dev)"; exit 1; fi
