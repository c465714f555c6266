# Every target makes .venv and installs what it needs first; `make` alone lists the targets.
#   make test PYTHON=/path/to/python       use an environment of your own, install nothing
#   make test BASE_PYTHON=python3.12       make .venv with this interpreter
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BASE_PYTHON ?= python3

ifeq ($(strip $(PYTHON)),)
override PYTHON := $(VENV)/bin/python
READY := $(VENV)/.installed
else
READY := own-python
endif

# Two processes with one thread each: threads of one process wait for one another on busy cores.
# Compiled modules are kept, or each kernel and command that a test starts compiles them again.
JOBS ?= 2
# Files go out in their order, notebooks last: they are alike in length, so no process waits long.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n $(JOBS) \
	--dist loadfile --no-loadscope-reorder

# $(call check_python,INTERPRETER,VARIABLE): stop with one line unless it is Python 3.11 or later
define check_python
$(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "rbpkit needs Python 3.11 or later; $(1) is $$($(1) -V 2>/dev/null || echo 'not a Python that runs'). Name one: make $(MAKECMDGOALS) $(2)=/path/to/python" >&2; \
	exit 1; }
endef

.PHONY: help lab class handin reproduce real served test test-slow harness test-gpu-dry gpu mutants notebooks site docs-test lint release lowest clean own-python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "PYTHON=/path/to/python uses your own environment and installs nothing."

# The server's folder is the repository, so that pictures, docs/ and params/ are in reach.
# The environment's programs are first in PATH, so that a terminal in JupyterLab finds rbpkit.
# LAB: options of jupyterlab, such as LAB="--no-browser --port=8899"
OPEN ?= notebooks/00_quickstart.ipynb
lab: $(READY) ## open the quickstart in JupyterLab
	@PATH="$$($(PYTHON) -c 'import os, sys; print(os.path.dirname(sys.executable))'):$$PATH" \
		$(PYTHON) -m jupyterlab --ServerApp.root_dir="$(CURDIR)" \
		--LabApp.app_settings_dir="$(CURDIR)/docs/lab" --LabApp.default_url="/lab/tree/$(OPEN)" $(LAB)

NAME ?=
class: $(READY) ## a student's folder to work in: make class NAME=ann makes work-ann
	@$(PYTHON) docs/class/folder.py "$(NAME)"

handin: $(READY) ## zip that folder without models: make handin NAME=ann makes handin-ann.zip
	@$(PYTHON) docs/class/folder.py "$(NAME)" --zip

reproduce: $(READY) ## measure the pocket models, run the notebooks on that, compare: all in out/
	@echo "== reproduce: params/pocket.yaml"
	@$(PYTHON) -m rbpkit reproduce params/pocket.yaml

real: $(READY) ## download two real models once, measure them on HumanEval: all in out/real
	@$(PYTHON) docs/real_models.py out/real

served: $(READY) ## serve pocket models with vLLM on this CPU, compare with rbpkit's own ranks
	@$(PYTHON) docs/served.py out/served

test: $(READY) ## the tests, and every notebook against its committed outputs
	@echo "== test: tests/, and every output of notebooks/"
	@$(PYTEST) -p tests.nbval_sockets --nbval --nbval-current-env tests notebooks

# pytest ends with 5 when it has collected nothing: no slow tests is no failure.
# SLOW: some of them, as SLOW=tests/test_golden.py
SLOW ?=
test-slow: $(READY) ## the tests that take minutes
	@echo "== test-slow: tests marked slow $(SLOW)"
	@$(PYTHON) -m pytest -m slow $(SLOW) || [ $$? -eq 5 ]

# lm-evaluation-harness brings some 60 packages, so it gets a separate environment.
HARNESS := out/harness
harness: $(READY) ## the model class for lm-evaluation-harness against the harness's own
	@echo "== harness: tests/tools/test_harness.py"
	@[ -x $(HARNESS)/bin/python ] || $(PYTHON) -m venv $(HARNESS)
	@$(HARNESS)/bin/python -m pip install -q -c constraints.txt -e '.[test,harness,peft]' -e pocket
	@OMP_NUM_THREADS=1 $(HARNESS)/bin/python -m pytest -q tests/tools/test_harness.py

test-gpu-dry: $(READY) ## the GPU kernel without a GPU: interpreted, and compiled for two
	@if [ "$(READY)" != own-python ] && ! $(PYTHON) -c "import triton" 2>/dev/null; then \
		echo "== test-gpu-dry: installing what it needs"; \
		$(PYTHON) -m pip install -q -c constraints.txt -e '.[gpu]'; \
	fi
	@echo "== test-gpu-dry: tests/test_ranking_triton.py, all cases"
	@RBPKIT_GPU_DRY=1 $(PYTHON) -m pytest tests/test_ranking_triton.py

# Can be run in parts: shapes whose rows are in docs/gpu.md are not timed again.
gpu: $(READY) ## the tests that need a GPU, then the paper's shapes timed into docs/gpu.md
	@echo "== gpu: tests/test_ranking_cuda.py, then docs/gpu.md"
	@$(PYTHON) -m pytest -q tests/test_ranking_cuda.py
	@$(PYTHON) docs/time_heads.py --shapes paper --device cuda --dtype bfloat16 --out docs/gpu.md

# A tool for maintainers alone, so no extra of the package. Survivors: python -m mutmut show NAME
mutants: $(READY) ## do the tests of ranking, summary and fit see a change in the code?
	@$(PYTHON) -c "import mutmut" 2>/dev/null || $(PYTHON) -m pip install -q mutmut==3.8.1
	@rm -rf mutants
	@OMP_NUM_THREADS=1 $(PYTHON) -m mutmut run --max-children $(JOBS)
	@$(PYTHON) -m mutmut results

notebooks: $(READY) ## make notebooks/*.ipynb from notebooks/py, execute them, write figures/
	@echo "== notebooks: from notebooks/py"
	@$(PYTHON) -m rbpkit.tools.study.notebooks

# A site needs packages that nothing else does; an environment of one's own must have them.
site: $(READY) ## the executed notebooks as pages, in out/site; opens without a network
	@if [ "$(READY)" != own-python ] && ! $(PYTHON) -c "from importlib.metadata import version; \
		[version(name) for name in ('myst-nb', 'sphinx-book-theme', 'sphinx-mathjax-offline')]" \
		2>/dev/null; then \
		echo "== site: installing what it needs"; \
		$(PYTHON) -m pip install -q -c constraints.txt -e '.[site]'; \
	fi
	@echo "== site: out/site"
	@$(PYTHON) docs/build.py out/site

docs-test: $(READY) ## run the commands and programs that the pages show, compare what they print
	@echo "== docs-test: README.md, docs/*.md"
	@OMP_NUM_THREADS=1 $(PYTHON) docs/run_pages.py

lint: $(READY) ## ruff (rules and format) and mypy (types)
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

# Tools for maintainers alone, so no extra of the package.
release: $(READY) ## build the distributions, check them, try them in an empty environment
	@$(PYTHON) -c "import build, twine" 2>/dev/null || $(PYTHON) -m pip install -q build==1.3.0 twine==6.2.0
	@$(PYTHON) .ci/release.py

lowest: $(READY) ## the tests with the lowest versions that pyproject.toml admits
	@$(PYTHON) -m uv --version >/dev/null 2>&1 || $(PYTHON) -m pip install -q uv
	@PYTHON=$(PYTHON) bash .ci/lowest

clean: ## remove caches and build folders (not .venv, not what was measured)
	@rm -rf build dist mutants *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . -path ./$(VENV) -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) \
		-exec rm -rf {} +

own-python:
	@$(call check_python,$(PYTHON),PYTHON)

# The stamp is written last, so an installation that was interrupted is done again.
$(VENV)/.installed: pyproject.toml pocket/pyproject.toml notebooks/pyproject.toml constraints.txt
	@if ! $(VENV)/bin/python -m pip --version >/dev/null 2>&1; then \
		$(call check_python,$(BASE_PYTHON),BASE_PYTHON); \
		echo "== making $(VENV) with $$($(BASE_PYTHON) -V)"; \
		$(BASE_PYTHON) -m venv $(VENV); \
	fi
	@$(call check_python,$(VENV)/bin/python,PYTHON)
	@echo "== installing into $(VENV): the first time this takes some minutes (torch is large)"
	@$(VENV)/bin/python -m pip install -q -c constraints.txt -e '.[test]' -e pocket -e notebooks
	@touch $@
