# Muster. `make` alone lists the targets.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 4
SEED ?= 1
# The tests start Muster hundreds of times, and most of a start would be compiling it again.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help

.PHONY: portal-check test-portal portal-screenshots help setup setup-dev setup-system demo up test test-conformance test-guides test-interactive test-shipping test-kube test-slurm kube-up kube-down test-long test-receivers test-frameworks search check bench fmt lock docs zipapp clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## make .venv with the muster command in .venv/bin, and the web portal
	@$(BIN)/python scripts/build_portal.py

setup-dev: setup $(VENV)/.ready-dev

$(VENV)/.ready: pyproject.toml scripts/make-venv.sh
	@scripts/make-venv.sh "$(PYTHON)" "$(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

setup-system: setup-dev
	@scripts/install-test-parts.sh
	@scripts/install-oidc-provider.sh
	@scripts/install-openpai-sdk.sh

demo: setup ## run the main job: 2 ps + 2 workers, followed to its end
	@$(BIN)/python scripts/demo.py

up: setup ## serve on http://127.0.0.1:7070
	@$(BIN)/muster up

test: setup-dev setup-system ## set everything up and run all tests
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not frameworks and not guides and not interactive and not shipping and not kube and not slurm and not portal and not conformance"

test-conformance: setup-dev setup-system ## run job files and clients of other systems for real
	$(PYTEST) -n $(WORKERS) --dist worksteal -m conformance tests/conformance

test-guides: setup-dev setup-system ## follow README and all guides from top to bottom, and compare what they show
	$(PYTEST) -n $(WORKERS) --dist worksteal -m guides tests/guides

test-interactive: setup-dev setup-system ## run real notebooks in a real browser (downloads JupyterLab and TensorBoard)
	scripts/install-interactive.sh
	$(PYTEST) -m interactive tests/e2e/test_notebook.py

test-shipping: setup-dev setup-system ## build the image and follow the production guide, which takes minutes
	$(PYTEST) -m shipping tests/integration/shipping

test-kube: setup-dev ## run the tests that need a real Kubernetes cluster, which they start and remove
	-@$(BIN)/python -m scripts.kube install  # outside the tests, whose time limit the first build would exceed
	$(PYTEST) -n 3 --dist loadfile -m kube tests/kube tests/contract/backends

test-slurm: setup-dev ## run the tests that need a real Slurm cluster, which they start and remove; as root
	scripts/install-slurm.sh
	$(PYTEST) -n $(WORKERS) --dist worksteal -m slurm tests/slurm tests/contract/backends

portal-check: setup-dev ## check the web portal: types, lint, format, unit tests, size of the first page
	$(BIN)/python scripts/build_portal.py --check

test-portal: portal-check setup-system ## open every page of the web portal in a real browser
	$(PYTEST) -n 2 --dist loadfile -m portal tests/portal

portal-screenshots: setup-dev ## take the pictures of the portal for README and the guides anew
	fc-list :lang=zh | grep -q . || apt-get install -y -qq fonts-wqy-microhei
	$(BIN)/python scripts/build_portal.py --dev
	$(BIN)/python -m scripts.portal_screenshots

kube-up: setup-dev ## start a real Kubernetes cluster of two nodes on this machine
	@$(BIN)/python -m scripts.kube up

kube-down: setup-dev ## remove the cluster of kube-up
	@$(BIN)/python -m scripts.kube down

test-long: setup-dev setup-system ## 500 faults on two servers of one database (SEED=1), which takes an hour
	MUSTER_FAULT_STEPS=500 MUSTER_FAULT_SEED=$(SEED) $(PYTEST) --timeout=0 -n 2 tests/integration/reliability/test_two_servers_under_faults.py

test-receivers: setup-dev setup-system ## 300 jobs for three receivers that are killed, paused and cut off (SEED=1)
	MUSTER_RECEIVER_JOBS=300 MUSTER_FAULT_SEED=$(SEED) $(PYTEST) --timeout=0 -n 2 tests/integration/reliability/test_receivers_under_faults.py \
	  tests/integration/reliability/test_separate_receivers_under_faults.py

test-frameworks: setup-dev ## train with PaddlePaddle, TensorFlow and JAX, on Kubernetes too (downloads them)
	scripts/install-frameworks.sh
	$(PYTEST) -m frameworks tests/e2e/test_frameworks.py tests/e2e/test_frameworks_pool.py tests/e2e/test_templates.py tests/kube/test_paddle_training.py

search: setup-dev ## look for new failures of the scheduler in random clusters (SEED=1)
	$(PYTEST) --timeout=0 tests/unit/scheduling/test_scheduling_machine.py --hypothesis-profile=searching --hypothesis-seed=$(SEED)

check: setup-dev ## format, lint, types, import contracts, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -n $(WORKERS) --dist worksteal -m fast

bench: setup-dev ## print the performance table against real peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m bench

fmt: setup-dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: setup-dev ## write requirements.lock anew: all dependencies of the server with hashes
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip-tools>=7.5,<8'
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --no-strip-extras --no-header --no-annotate --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock pyproject.toml

docs: setup-dev setup-system ## write docs/reference anew from the code, and the outputs in the guides from real runs
	$(PYTEST) --update-golden tests/unit tests/integration/api/test_openapi.py
	$(PYTEST) -n $(WORKERS) --dist worksteal --update-golden -m guides tests/guides

zipapp: setup ## build the client as one file that needs only Python: dist/muster.pyz
	@$(BIN)/python scripts/build_zipapp.py dist/muster.pyz

clean: ## remove what the other targets made
	rm -rf $(VENV) .venv-frameworks .venv-interactive .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
