# Two commands: `make ladder` sets up and prints the measured table, `make test` sets up and runs every test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: ladder test lab setup lint readme notebooks bench test-server clean

ladder: setup
	$(BIN)/rungs ladder

test: setup
	$(BIN)/rungs ladder
	$(BIN)/ruff check .
	$(BIN)/pytest tests --nbmake --nbmake-timeout=300 notebooks --durations=10

lab: setup
	$(BIN)/rungs lab

setup: $(READY)

# The CPU build of torch is taken first, by its pin; a plain install of the rest would otherwise choose a build for it.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rungs needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@date +%s > $(VENV)/.started
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)
	@echo "set-up took $$(( $$(date +%s) - $$(cat $(VENV)/.started) )) s"

lint: setup
	$(BIN)/ruff check .

# Outside `make test`: a real Milvus server (its own virtual environment), and the benchmarks.
test-server: setup
	benchmarks/milvus_server.sh $(PYTHON) $(BIN)/python

bench: setup
	$(BIN)/python benchmarks/run.py

# The README's tables and picture, peers included (those embed the corpus once more). The second looks at the held-out file.
readme: setup
	$(BIN)/rungs ladder --peers --write README.md --picture data/ladder.png
	$(BIN)/rungs ladder --peers --golden golden/celery.heldout.jsonl --write README.md

# Run every notebook again and keep the new outputs.
notebooks: setup
	$(BIN)/rungs ladder
	$(BIN)/pytest --nbmake --overwrite --nbmake-timeout=300 notebooks

clean:
	rm -rf $(VENV) .rungs .pytest_cache .ruff_cache .hypothesis
