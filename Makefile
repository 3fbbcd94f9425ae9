# make lab        the course in JupyterLab, on your own copy of the chapters
# make test       every part of the suite, in minutes (make types: mypy)
# make help       the rest

PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# As root (in a container) Jupyter asks to be told that this is meant.
LAB_FLAGS := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)

# Every core runs a test process already; threads that wait for each other on top make small tensors slow.
ONE_THREAD := OMP_NUM_THREADS=1

# A hundred processes import the same modules: the first one's bytecode is kept, also where an image says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help lab teach exercise chapter claims links attacks chaos test test-gpu test-runner test-judge test-classroom test-exercises test-course planted matrix test-all types lint build book notebooks release test-release grade-demo bench gpu audit doctor clean

FIRST := lab|test|build|types|exercise|chapter
help:           ## what there is to make
	@echo "To begin with:"
	@grep -E '^($(FIRST)): .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16
	@echo; echo "The rest:"
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | grep -vE '^($(FIRST)):' | sed -E 's/:[^#]*## /\t/' | expand -t 16

# One stamp for the whole set-up: made again when the pins or the set-up change, untouched otherwise.
.venv/.ready: requirements.txt pyproject.toml setup.py setup_venv.py
	@$(PYTHON) setup_venv.py
	@touch $@

lab: .venv/.ready    ## JupyterLab on your own copy of the chapters, in my-notebooks/
	@python -m graded_kernels.course.desk.lab $(LAB_FLAGS) $(LAB_ARGS)

teach: .venv/.ready  ## JupyterLab on the course root, with nbgrader's formgrader
	@echo "Building the notebooks of the chapters that have changed ..."
	@python -m graded_kernels.course.build
	@echo "Starting JupyterLab on the course root; formgrader is in its menu Nbgrader. Ctrl-C here, twice, stops it."
	@cd course && JUPYTER_CONFIG_PATH=$(CURDIR)/course/lab/quiet jupyter lab $(LAB_FLAGS) $(LAB_ARGS)

STYLE := ruff check . && ruff format --check .

# Three processes for two cores, four for the exhaustive tests (conftest.py). A module stays in one, which makes its
# fixtures once; the module that took longest in the last run comes first.
PYTEST := $(ONE_THREAD) python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations=10

test: .venv/.ready   ## style, and tests of everything, in minutes; test-gpu, -runner, -judge, ... one product's
	@$(STYLE)
	@$(PYTEST) $(PYTEST_ARGS)

PRODUCTS := gpu runner judge classroom exercises course

$(PRODUCTS:%=test-%): test-%: .venv/.ready  # tests of one product
	@$(PYTEST) tests/$* $(PYTEST_ARGS)

test-all: .venv/.ready  ## of what `make test` leaves out, a twelfth: answers through every path, attacks, chapters run
	@GRADED_KERNELS_TEST_ONE_IN=12 $(PYTEST) -m exhaustive $(PYTEST_ARGS)

test-release: .venv/.ready  ## before a release: all of it, attacks at every level of isolation, random kernels by the thousand
	@$(PYTEST) -m "exhaustive or release" $(PYTEST_ARGS)

types: .venv/.ready  ## mypy, a minute or two the first time: not within `make test`, whose tests need both cores
	@mypy

lint: types          ## style and types
	@$(STYLE)

build: .venv/.ready  ## course/source from chapters and answers, and the tests' submissions from it
	@python -m graded_kernels.course.build
	@python tests/material/make_submissions.py

exercise: .venv/.ready  ## begin an exercise: NAME=softcap LIKE=elementwise, rowwise, loss or nothing; CHAPTER=01_silu (the last)
	@python -m graded_kernels.course.new_exercise "$(NAME)" --like "$(LIKE)" --chapter "$(CHAPTER)"

chapter: .venv/.ready  ## begin a chapter: NAME=10_topic TITLE="The topic"
	@python -m graded_kernels.course.new_chapter "$(NAME)" --title "$(TITLE)"

book: .venv/.ready   ## the chapters, run, with outputs and figures, as a site in build/book/
	@python -c "import furo, myst_nb" 2>/dev/null || { echo "Installing what the book needs ..."; \
		python -m pip install --disable-pip-version-check --quiet --editable '.[book]'; }
	@echo "Running the chapters; the first time this takes minutes ..."
	@$(ONE_THREAD) python -m sphinx -q -W --keep-going book build/book && echo "built build/book/index.html"

release: book        ## wheel, source archive and book of this version in dist/, used in empty environments
	@python -c "import build" 2>/dev/null || python -m pip install --disable-pip-version-check --quiet build
	@rm -rf dist && python -m build --outdir dist . > build/release.log 2>&1 || { tail -20 build/release.log; exit 1; }
	@python tests/material/check_release.py dist
	@tar --create --gzip --file dist/book.tar.gz --directory build book && ls -l dist

notebooks: .venv/.ready  ## the chapters for Colab and others, with an install cell and a badge, into build/notebooks/
	@python -m graded_kernels.course.public_notebooks $(NOTEBOOKS_ARGS)

grade-demo: .venv/.ready  ## grade three submissions through nbgrader and print who got what, and why
	@python tests/material/grade_demo.py

doctor: .venv/.ready ## what this machine can run
	@python -P autograder/runner/doctor/doctor.py

# ATTACKS_ARGS=--user: as an unprivileged user, too
attacks: .venv/.ready ## files and notebooks that cheat, at every level of isolation this machine has
	@python tests/material/attacks $(ATTACKS_ARGS)
	@$(ONE_THREAD) python tests/material/attack_notebooks $(ATTACKS_ARGS)

chaos: .venv/.ready  ## a class graded while workers and runs are killed: the same grades, nothing made twice
	@$(ONE_THREAD) python tests/material/chaos.py $(CHAOS_ARGS)

planted: .venv/.ready ## planted bugs: what the plain interpreter says of each, and what the emulator says
	@cd tests/material && TRITON_INTERPRET=1 python -m planted

matrix: .venv/.ready  ## the emulator's tests on Triton 3.6, 3.7, 3.8 and 3.9, in throw-away environments
	@python tests/material/emulator_matrix.py

bench: .venv/.ready  ## the benchmarks, as ratios
	@for file in benchmarks/*.py; do python $$file || exit 1; done

# GPU_ARGS=--again: puts what is kept aside; it goes on with what is missing otherwise
gpu: .venv/.ready    ## what only a GPU can say, in at most 25 minutes, into benchmarks/gpu.md
	@python -m benchmarks.gpu $(GPU_ARGS)

audit: .venv/.ready  ## released packages put to our exercises, each in a throw-away folder; needs the registry, takes minutes
	@$(ONE_THREAD) python research/audit/audit.py $(AUDIT_ARGS)

claims: .venv/.ready ## what README and CHANGELOG claim: its tests and commands run, and compared anew
	@$(ONE_THREAD) python tests/material/claims.py

links: .venv/.ready  ## whether what README, book and chapters link to is there; the web is asked where there is a network
	@python tests/material/links.py

clean:          ## remove the environment and what was built; your notebooks and gradebooks stay
	rm -rf .venv build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
