# duerow's commands. Each installs what it is missing into .venv and says so; the second time it starts at once.

RUN := env -u PYTHONPATH -u PYTHONHOME -u PYTHONDONTWRITEBYTECODE .venv/bin/python

# make demo FLIGHTS=336776 DB=sqlite:///elsewhere.db REPORT=report.html
FLIGHTS ?=
DB ?=
REPORT ?=
DEMO_ARGS := $(if $(FLIGHTS),--flights $(FLIGHTS)) $(if $(DB),--db $(DB)) $(if $(REPORT),--report $(REPORT))

# make test ARGS="-k push"; make bench SIZE=smoke
ARGS ?=
SIZE ?= full

# Two more processes than cores, since most wait for their servers; each has its own, so one alone where one is given.
PROCESSES := $(shell n=$$(nproc); echo $$((n < 6 ? n + 2 : 8)))
PARALLEL := $(if $(filter DUEROW_TEST_%_URL,$(.VARIABLES)),,-n $(PROCESSES) --dist loadscope)

.DEFAULT_GOAL := help
.PHONY: help demo example test soak torture simulate lint types docs bench screenshots mutate mutants model wheel changelog lock clean java peers servers classes

help: ## Show this list
	@echo "duerow: what 'make' can do"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: .venv/demo.stamp java ## Run real flights through a pipeline on Spark (FLIGHTS=20000 DB=sqlite:///file.db REPORT=file.html)
	$(RUN) -m examples.flights $(DEMO_ARGS) $(ARGS)

example: .venv/demo.stamp java ## Run Python's own library through a pipeline on Spark, and report on it (DB=URL ARGS="--only json")
	$(RUN) -m examples.library $(if $(DB),--db $(DB)) $(ARGS)

test: .venv/dev.stamp java servers classes ## Run the tests on every database (ARGS="-k push")
	$(RUN) -m pytest $(PARALLEL) $(ARGS)
	$(RUN) tools/databases.py --check

soak: .venv/dev.stamp java servers ## Run the long tests
	$(RUN) -m pytest -m soak -rP -o faulthandler_timeout=0 $(ARGS)

torture: .venv/dev.stamp servers ## Kill and disturb processes on SQLite and PostgreSQL for two minutes (ARGS="sqlite --kills 2000")
	$(RUN) -m tests.crash.torture $(ARGS)

simulate: .venv/dev.stamp ## Interleave many workers in one process, by a seed (ARGS="memory --interleavings 1000000 --seed 1")
	$(RUN) -m tests.simulation $(ARGS)

lint: .venv/dev.stamp ## Check form, types, and that generated code is current
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -m mypy --strict --config-file= tests/release/outside.py
	$(RUN) -m pyright --pythonpath .venv/bin/python tests/release/outside.py
	$(RUN) tools/generate_sync.py --check

types: .venv/dev.stamp ## Check types alone
	$(RUN) -m mypy

docs: .venv/dev.stamp ## Build the documentation into site/
	$(RUN) -m zensical build --strict --clean
	@echo "open site/index.html"

bench: .venv/dev.stamp java $(if $(filter --peers,$(ARGS)),peers) ## Measure against plain SQL on the same server (SIZE=smoke|full ARGS=--peers)
	$(RUN) -m bench --size $(SIZE) $(ARGS)

screenshots: .venv/dev.stamp ## Draw every page of the dashboard for the documentation (ARGS="overview queue")
	$(RUN) -m tools.screenshots $(ARGS)

mutate: .venv/dev.stamp ## Break the stores on purpose, one mistake at a time: the tests must notice each
	$(RUN) -m tests.mutations $(ARGS)

mutants: .venv/dev.stamp ## Change decisions, plans or the worker in every way mutmut knows (ARGS="plans settle claim", settlement, worker)
	$(RUN) -m tests.mutations.mutants $(if $(ARGS),$(ARGS),settlement)

model: .venv/dev.stamp ## Explore the models of the protocol with Spin, which is fetched if missing (SIZE=full ARGS="groups --story")
	$(RUN) -m model $(if $(filter command line environment,$(origin SIZE)),--size $(SIZE)) $(ARGS)

wheel: .venv/dev.stamp ## Build the wheel, install it for each Python found here, and follow the README and the tutorials
	$(RUN) -m tools.wheel_check $(ARGS)

changelog: .venv/dev.stamp ## Gather changelog.d/ under the version of pyproject.toml, before a release
	$(RUN) -m towncrier build --yes --version "$$($(RUN) -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')"

lock: .venv/dev.stamp ## Choose versions anew and write requirements/*.txt with their hashes (ARGS=--upgrade)
	$(RUN) tools/lock.py $(ARGS)

clean: ## Remove what these commands made
	rm -rf .venv .cache site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@tools/setup java

peers: .venv/dev.stamp .venv/peers.stamp
	@$(RUN) -m bench.peers

servers: .venv/dev.stamp
	@$(RUN) -m tests.servers prepare

classes: .venv/dev.stamp java
	@$(RUN) -m tests.spark.quick_settings

.venv/%.stamp: requirements/build.txt requirements/%.txt pyproject.toml tools/setup
	@tools/setup $*
