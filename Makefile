# Two commands do everything on a fresh machine with Rust: `make demo` and `make test`.

DEMO_TIME ?= 120s
DEMO_VERSION ?= 3.39.2
CAQTUS = ./target/release/caqtus
PROVER = ./target/release/caqtus-prover
# For `make proofs`, seconds per pair. Long, so that the repeatable limits decide and not the machine.
PROOF_DEADLINE ?= 120
# Where `make dist` writes.
DIST ?= target/dist

.PHONY: browser demo dist engines packagers postgresql proofs prover queries test tools tree z3

# Builds, fetches and builds an old SQLite, hunts on it, and shows a bug found there beside the current version.
demo: tools
	cargo build --release
	$(CAQTUS) dbms install sqlite@$(DEMO_VERSION)
	@echo; echo "Hunting for $(DEMO_TIME) on SQLite $(DEMO_VERSION), which has known bugs; Ctrl-C ends it early."
	@rm -rf caqtus-findings/demo
	@$(CAQTUS) hunt --dbms sqlite@$(DEMO_VERSION) --for $(DEMO_TIME) --out caqtus-findings/demo; test $$? -le 1
	@echo; echo "The same hunt on the current SQLite, with nothing known to be wrong: $(CAQTUS) hunt --for 10m"

# The prover, the only part that needs Z3.
prover: tools z3
	cargo build --release -p prover

# For users without Rust: an archive that any prefix can take and a Debian package, with both programs, libz3, manual
# pages, completions and the unit of the service. They run where the C library is no older than here.
dist: tree
	packaging/archives.sh $(DIST)

# What both hold, laid out in $(DIST)/tree.
tree: prover packagers
	cargo build --release --locked
	packaging/tree.sh $(DIST)/tree

# Proves the shipped classes anew: each member against the first of its class, then whatever pairs could connect what
# is still apart. Ends with an error if a pair is refuted.
proofs: prover
	cargo build --release
	mkdir -p target/proofs
	$(CAQTUS) oracle pairs | $(PROVER) prove --pairs - --json --deadline $(PROOF_DEADLINE) > target/proofs/answers.jsonl; \
	  test $$? -le 2
	$(CAQTUS) oracle record --prover "$$($(PROVER) --version)" < target/proofs/answers.jsonl > target/proofs/first.jsonl; \
	  test $$? -le 1
	cp target/proofs/first.jsonl corpus/proofs.jsonl
	cargo build --release
	$(CAQTUS) oracle pairs --apart > target/proofs/apart.jsonl
	test ! -s target/proofs/apart.jsonl || \
	  $(PROVER) prove --pairs target/proofs/apart.jsonl --json --deadline $(PROOF_DEADLINE) >> target/proofs/answers.jsonl; \
	  test $$? -le 2
	$(CAQTUS) oracle record --prover "$$($(PROVER) --version)" < target/proofs/answers.jsonl > corpus/proofs.jsonl

# Checks the store's queries against the migrations and writes `.sqlx`, with which they are checked elsewhere. Needs a
# server: make queries DATABASE_URL=postgres://user@host/an_empty_database
queries:
	@test -n "$(DATABASE_URL)" || { echo "Name an empty database: make queries DATABASE_URL=postgres://…"; exit 1; }
	psql "$(DATABASE_URL)" -q -v ON_ERROR_STOP=1 -c 'DROP SCHEMA IF EXISTS caqtus CASCADE' -c 'CREATE SCHEMA caqtus'
	cat migrations/*.sql | PGOPTIONS='-c search_path=caqtus' psql "$(DATABASE_URL)" -q -v ON_ERROR_STOP=1
	rm -rf .sqlx && mkdir .sqlx && touch src/lib.rs
	SQLX_OFFLINE=false SQLX_OFFLINE_DIR=$(CURDIR)/.sqlx PGOPTIONS='-c search_path=caqtus' \
	  DATABASE_URL="$(DATABASE_URL)" cargo check

# The same checks as in continuous integration.
test: tools z3 postgresql engines browser
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@mkdir -p target; rm -f target/skipped-tests
# Tests wait for servers now and then, so there are more of them at a time than cores.
	CAQTUS_SKIPPED=$(CURDIR)/target/skipped-tests RUST_TEST_THREADS=$$(($$(nproc) + 3)) \
	  cargo test --workspace --locked; status=$$?; \
	if [ -s target/skipped-tests ]; then \
	  echo "$$(cut -d' ' -f1 target/skipped-tests | sort -u | wc -l) tests skipped, some in part:"; sort -u target/skipped-tests; \
	fi; exit $$status

# A C compiler builds SQLite.
tools:
	@command -v cargo >/dev/null || { echo "Rust is missing: see https://rustup.rs"; exit 1; }
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy
	@command -v cc >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends gcc libc6-dev; \
	else echo "A C compiler is missing: install gcc and libc6-dev (Debian: apt-get install gcc libc6-dev)"; exit 1; fi

# patchelf makes the prover find its libz3, dpkg-dev knows what the programs need.
packagers:
	@command -v patchelf >/dev/null && command -v dpkg-shlibdeps >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends patchelf dpkg-dev; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends patchelf dpkg-dev; \
	else echo "Missing: install patchelf and dpkg-dev"; exit 1; fi

# For the store: the tests, and programs without DATABASE_URL, start a private server.
postgresql:
	@command -v pg_ctl >/dev/null && exit 0; ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends postgresql; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends postgresql; \
	else echo "PostgreSQL is missing: install it (Debian: apt-get install postgresql)"; exit 1; fi

# For the tests on other engines: npm, which carries DuckDB. Without it they are skipped, and counted.
engines:
	@command -v npm >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends npm; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends npm; \
	fi || true; \
	command -v npm >/dev/null || echo "npm is missing (Debian: apt-get install npm): tests that need it are skipped"

# For the tests of pages: a browser. Without it they are skipped, and counted.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends chromium; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends chromium; \
	fi || true; \
	command -v chromium >/dev/null || echo "Chromium is missing (Debian: apt-get install chromium): tests of pages are skipped"

# Debian 12's libz3 (4.8.12) hangs on time-outs, so a current one comes from its PyPI wheel.
# It is linked with the C++ library, which comes with g++.
Z3_VERSION = 5.4.0.0
z3: .z3/z3.pc

.z3/z3.pc:
	@command -v c++ >/dev/null && command -v pkg-config >/dev/null && command -v unzip >/dev/null && python3 -m pip --version >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -y -q --no-install-recommends g++ pkg-config unzip python3-pip; \
	elif command -v sudo >/dev/null; then sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends g++ pkg-config unzip python3-pip; \
	else echo "Missing: install g++, pkg-config, unzip and python3-pip"; exit 1; fi
	mkdir -p .z3
	python3 -m pip download -q --no-deps --only-binary :all: -d .z3 z3-solver==$(Z3_VERSION)
	cd .z3 && unzip -q -o z3_solver-*.whl 'z3/lib/*' 'z3/include/*' && rm z3_solver-*.whl
	printf '%s\n' 'prefix=$${pcfiledir}/z3' 'Name: z3' 'Description: the Z3 solver' 'Version: $(Z3_VERSION)' \
	  'Libs: -L$${prefix}/lib -lz3' 'Cflags: -I$${prefix}/include' > $@
