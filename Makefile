# The house's commands. `make` alone lists them; each does its own set-up first.

PYTHON_IN_VENV := .venv/bin/python
CHECKED := src tests tools setup.py $(wildcard benchmarks examples)

.DEFAULT_GOAL := help
.PHONY: help setup demo test long rotations seeds order-seeds state-seeds world-seeds many-members planted reading-seeds block-seeds bus-kills bus-records bus-model tsan agreement planted-histories planted-violations judged-by-spark cluster bench-pipeline bench-recorder page-cost fuzz fuzz-guided attacks merge-costs pause-runs link-runs lint format native lock clean
.PHONY: core wheels dist-check pythons docs docs-links broken-snippets

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Create or refresh .venv from the locks, with the native parts if there is a compiler
	@python=$$(tools/find_python) && "$$python" tools/set_up.py

demo: setup ## Show what ringcast does, in words
	@.venv/bin/ringcast demo

# Tests with real processes mostly wait, one after the other. Beside them, at a lower priority, the pure tiers compute on
# all cores, also the pipeline's that need no Spark; so does, in one process, what holds a Spark session, of which a third
# is waiting for Spark's driver (docs/decisions/0190). All run even if one fails; the last lines speak for all.
PURE := tests/unit tests/property tests/architecture tests/scenario tests/simulation tests/pipeline
REAL := tests/conformance tests/integration $(wildcard tests/browser)

test: lint ## Lint, then every tier of tests; ends with what did not run and why
	@$(PYTHON_IN_VENV) tools/debian.py ip=iproute2 nft=nftables $(if $(wildcard tests/browser/test_*.py),chromium=chromium)
	@rm -f build/not-run && mkdir -p build && export RINGCAST_NOT_RUN=$(CURDIR)/build/not-run && failed=0; \
	$(PYTHON_IN_VENV) -m pytest $(REAL) > build/real-tests.log 2>&1 & real=$$!; \
	nice -n 10 $(PYTHON_IN_VENV) -m pytest -m spark tests/pipeline > build/spark-tests.log 2>&1 & spark=$$!; \
	trap 'kill $$real $$spark 2> /dev/null' EXIT INT TERM; \
	nice -n 10 $(PYTHON_IN_VENV) -m pytest -n auto --dist worksteal -m "not spark" $(PURE) || failed=1; \
	wait $$spark || failed=1; cat build/spark-tests.log; \
	wait $$real || failed=1; trap - EXIT INT TERM; cat build/real-tests.log; \
	PYTHONPATH=tests $(PYTHON_IN_VENV) -m needs.plugin build/not-run; \
	exit $$failed

long: setup ## The stories with real processes at full length: more cuts, a state of 1 GB
	@RINGCAST_LONG=1 $(PYTHON_IN_VENV) -m pytest -s tests/integration/membership tests/integration/merge tests/integration/test_demo.py tests/integration/test_contract.py

rotations: setup ## Five real processes under load, their key changed ten times, over UDP and TCP, judged
	@RINGCAST_ROTATIONS=10 $(PYTHON_IN_VENV) -m pytest -q -s tests/integration/test_key_rotation.py

bus-kills: setup ## 1,000 runs that kill a random process of a bus at a random moment (about 4 minutes)
	@$(PYTHON_IN_VENV) tests/integration/bus/kill_runs.py --runs 1000

bus-records: setup ## Millions of recorded bus messages, one peer killed, judged by the checkers of order
	@$(PYTHON_IN_VENV) tests/integration/bus/recorded_load.py --messages 5000000

bus-model: setup ## The steps of the bus in every interleaving, one message or party more than in `make test`
	@RINGCAST_LONG=1 $(PYTHON_IN_VENV) -m pytest tests/property/test_bus_model.py tests/property/test_bus_model_bell.py \
		tests/property/test_bus_model_reuse.py

tsan: setup ## The C functions of the bus under ThreadSanitizer, five seeds of a minute each
	@RINGCAST_LONG=1 $(PYTHON_IN_VENV) -m pytest tests/integration/bus/test_thread_sanitizer.py

planted: setup ## Plant each known mistake into simulated runs, and see after how many seeds it is caught
	@PYTHONPATH=tests $(PYTHON_IN_VENV) -m simulation.planted_elsewhere
	@.venv/bin/ringcast simulate --planted-bugs --table docs/design/planted-bugs.md

reading-seeds: setup ## Random readers and senders over real groups, 2,000 seeds: nothing lost, every answer true (G15)
	@RINGCAST_SEEDS=$(or $(SEEDS),2000) $(PYTHON_IN_VENV) -m pytest -q -n 2 tests/property/test_reading_and_sending.py

block-seeds: setup ## 1,000 seeds of trouble for each building block: channels, calls, dictionary, set and counter, locks, tags and leader (SEEDS=n from FIRST=n on, BLOCK=test_dict.py for one)
	@RINGCAST_FIRST_SEED=$(or $(FIRST),0) RINGCAST_SEEDS=$(or $(SEEDS),1000) $(PYTHON_IN_VENV) -m pytest -q -n 2 --timeout 3600 -k "whatever or primary_side" tests/simulation/blocks/$(BLOCK)

fuzz: setup ## 10 million changed inputs to the decoders, 1 million frames to nodes, 100,000 messages of blocks, 100,000 bus files, 2,000 forged recordings (DECODERS=, NODES=, BLOCKS=, BUS=, FORGED=, SEED=)
	@$(PYTHON_IN_VENV) tests/simulation/fuzzing/run.py --decoders $(or $(DECODERS),10000000) --nodes $(or $(NODES),1000000) --blocks $(or $(BLOCKS),100000) --seed $(or $(SEED),0)
	@PYTHONPATH=tests $(PYTHON_IN_VENV) -m pipeline.forged --runs $(or $(FORGED),2000) --seed $(or $(SEED),0)
	@$(PYTHON_IN_VENV) -X faulthandler tests/simulation/fuzzing/bus_file.py --rounds $(or $(BUS),100000) --seed $(or $(SEED),0)

fuzz-guided: setup ## Fuzzing led by coverage: RUNS inputs to each decoder (a million), the corpus kept if KEEP=1 (installs atheris)
	@.venv/bin/uv pip install --quiet --python $(PYTHON_IN_VENV) --require-hashes -r locks/fuzz.txt
	@for target in frame control tcp block segment discovery http keyring mark tls; do $(PYTHON_IN_VENV) tests/simulation/fuzzing/guided.py $$target \
		--runs $(or $(RUNS),1000000) --seed $(or $(SEED),1) $(if $(KEEP),--keep) || exit 1; done

attacks: setup ## What strangers and lying members can do to a real group: a table of attacks and what came of each
	@$(PYTHON_IN_VENV) tests/integration/attacks.py

merge-costs: setup ## What merging costs in simulation, and the policies over many seeds: figures of docs/design/merge.md
	@RINGCAST_LONG=1 $(PYTHON_IN_VENV) -m pytest -q -s tests/simulation/test_merge_costs.py
	@RINGCAST_LONG=1 $(PYTHON_IN_VENV) -m pytest -q tests/simulation/test_reunion.py tests/simulation/test_primary_partition.py \
		tests/simulation/test_coordinator_death.py tests/simulation/test_merge_leader_death.py

seeds: setup ## 10,000 simulated runs, judged; stopped at any time, the same command goes on (out/seeds.jsonl)
	@.venv/bin/ringcast simulate --first-seed 1 --seeds $(or $(SEEDS),10000) --resume out/seeds.jsonl

same-protocol: setup ## Compare every event and frame of 80 seeds with those of another commit, and try each planted bug (BASE=REF, SEEDS=n)
	@$(PYTHON_IN_VENV) tools/same_protocol.py $(or $(BASE),$(error Say with what to compare: make same-protocol BASE=main~1)) --seeds $(or $(SEEDS),80)

trace-hashes-record: setup ## Record the hashes that `make test` compares; when that is right: CONTRIBUTING.md
	@$(PYTHON_IN_VENV) tools/trace_hashes.py --seeds 80 --out tests/simulation/testdata/trace_hashes.json

many-members: setup ## 150 simulated runs of 10 to 15 members, of any workload (out/many-members.jsonl; SEEDS=n)
	@.venv/bin/ringcast simulate --first-seed 1 --seeds $(or $(SEEDS),150) --members 10..15 --resume out/many-members.jsonl

order-seeds: setup ## 2,000 simulated runs with sends in one order to random subsets (out/order-seeds.jsonl)
	@.venv/bin/ringcast simulate --first-seed 1 --seeds $(or $(SEEDS),2000) --workload total --resume out/order-seeds.jsonl

state-seeds: setup ## 500 simulated runs in which every process joins with the others' state (out/state-seeds.jsonl)
	@.venv/bin/ringcast simulate --first-seed 1 --seeds $(or $(SEEDS),500) --workload state --resume out/state-seeds.jsonl

world-seeds: setup ## 1,000 seeds of each workload (SEEDS=n for others), in out/<workload>.jsonl; goes on where it was
	@for workload in mixed total state rejoin sealed; do .venv/bin/ringcast simulate --first-seed 1 --seeds $(or $(SEEDS),1000) \
		--workload $$workload --resume out/$$workload.jsonl || exit 1; done

pause-runs: setup ## 500 random runs of a crash plus a pause in the simulated world of the test kit (SEEDS=n for others)
	@RINGCAST_SEEDS=$(or $(SEEDS),500) $(PYTHON_IN_VENV) -m pytest -q tests/simulation/test_bad_links_random.py -k pause

link-runs: setup ## 500 random runs of one bad link or direction for a minute (SEEDS=n for others)
	@RINGCAST_SEEDS=$(or $(SEEDS),500) $(PYTHON_IN_VENV) -m pytest -q tests/simulation/test_bad_links_random.py -k one_bad_link

link-classes: setup ## All 218 classes of one-way links among four members, in three labellings, and 500 random sets among five to eight, five minutes each; stopped at any time, the same command goes on (out/link-classes.jsonl; ONLY=class/7 for some)
	@PYTHONPATH=tests $(PYTHON_IN_VENV) -m simulation.link_classes --only "$(ONLY)"

.PHONY: link-classes
primary-runs: setup ## 500 random runs of the primary policy with pauses, cuts and restarts (mark file)
	@RINGCAST_SEEDS=$(or $(SEEDS),500) $(PYTHON_IN_VENV) -m pytest -q -n 2 --timeout 3600 tests/simulation/test_primary_random.py

observer-runs: setup ## 500 random runs of groups with observers, with pauses, cuts and restarts
	@RINGCAST_SEEDS=$(or $(SEEDS),500) $(PYTHON_IN_VENV) -m pytest -q -n 2 --timeout 3600 tests/simulation/test_observers_random.py

agreement: setup ## Checkers and rules on 320 simulated runs, good and bad: do they say the same?
	@for first in 0 64 128 192 256; do RINGCAST_AGREEMENT_RUNS=64 RINGCAST_AGREEMENT_FIRST_SEED=$$first \
		$(PYTHON_IN_VENV) -m pytest -q -s --timeout 1800 tests/pipeline/test_agreement.py tests/pipeline/test_rules.py || exit 1; done

planted-histories: setup ## Every kind of violation in histories of a million deliveries, found by the rules on Spark
	@RINGCAST_PLANTED_DELIVERIES=1000000 $(PYTHON_IN_VENV) -m pytest -q -s --timeout 1800 tests/pipeline/test_planted_histories.py

planted-violations: setup ## Write what the rules say of each falsified recording into docs/design/planted-violations.md
	@PYTHONPATH=tests $(PYTHON_IN_VENV) -m pipeline.planted_page
	@PYTHONPATH=tests $(PYTHON_IN_VENV) -m pipeline.old_failures

judged-by-spark: setup ## The stories with real processes and all falsified recordings, judged by the rules on Spark too
	@RINGCAST_JUDGE=spark $(PYTHON_IN_VENV) -m pytest -q -s tests/pipeline/test_rules.py tests/integration/membership \
		tests/integration/merge tests/integration/order

cluster: setup ## The pipeline on a real Spark cluster: another host, viewfs, Connect, a worker killed (needs root)
	@RINGCAST_CLUSTER=1 $(PYTHON_IN_VENV) -m pytest -q -s --timeout 1800 tests/pipeline/test_cluster.py tests/pipeline/test_session.py

.PHONY: many-runs same-protocol trace-hashes-record
many-runs: setup ## 10,000 small runs (500 seeds, each under twenty run ids) judged by Spark in one application (SEEDS=n)
	@RINGCAST_MANY_RUNS=$(or $(SEEDS),500) $(PYTHON_IN_VENV) -m pytest -q -s -n 0 --timeout 7200 tests/pipeline/test_many_runs.py

bench-pipeline: setup ## Deliveries judged per second at 1, 10 and 100 million and in one view of 20 million, reading included
	@.venv/bin/ringcast bench pipeline --deliveries 1000000
	@.venv/bin/ringcast bench pipeline --deliveries 10000000
	@.venv/bin/ringcast bench pipeline --deliveries 100000000 --together
	@.venv/bin/ringcast bench pipeline --deliveries 20000000 --single-view --together

bench-recorder: setup ## What recording costs at full multicast speed
	@.venv/bin/ringcast bench recorder --turns 5

page-cost: setup ## What watching a group of 16 at full load costs: CPU of the page and of the members
	@$(PYTHON_IN_VENV) benchmarks/page_cost.py

lint: setup ## ruff (rules and format), mypy --strict, and what nothing uses
	@$(PYTHON_IN_VENV) -m ruff check --quiet $(CHECKED)
	@$(PYTHON_IN_VENV) -m ruff format --check --quiet $(CHECKED)
	@$(PYTHON_IN_VENV) -m mypy --no-error-summary
	@$(PYTHON_IN_VENV) -m mypy --no-error-summary tools
	@$(PYTHON_IN_VENV) tools/dead_code.py

format: setup ## Rewrite the sources the way `make lint` wants them
	@$(PYTHON_IN_VENV) -m ruff check --fix --quiet $(CHECKED)
	@$(PYTHON_IN_VENV) -m ruff format --quiet $(CHECKED)

native: ## Compile the C parts again after a change
	@python=$$(tools/find_python) && "$$python" tools/set_up.py native

COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-emit-index-url --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

core: ## Create .venv with what the core and its commands need, nothing else: seconds, no Spark
	@python=$$(tools/find_python) && "$$python" tools/set_up.py core

wheels: setup ## dist/: a manylinux wheel for each CPython here, a pure wheel and the source archive
	@$(PYTHON_IN_VENV) tools/wheels.py

dist-check: wheels ## Install each wheel and the source archive into an empty environment: demo, a group of three, the bus where native
	@$(PYTHON_IN_VENV) tools/dist_check.py

pythons: setup ## Unit, scenario and integration tiers on each CPython here (TIERS="tests/unit" for others)
	@$(PYTHON_IN_VENV) tools/pythons.py $(TIERS)

docs: setup ## The documentation site, into build/docs; a warning or a link into nothing is a failure
	@.venv/bin/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

broken-snippets: setup ## Break each statement of the programs in blocks, cookbook, guide, operations and ordering, one at a time: is it caught?
	@RINGCAST_LONG=1 $(PYTHON_IN_VENV) -m pytest -q --timeout 1200 tests/integration/test_pages.py -k broken

docs-links: setup ## Ask every address outside that the documentation links to (needs a network)
	@.venv/bin/sphinx-build -q -b linkcheck docs build/docs-links

lock: setup ## Write locks/ again from pyproject.toml (UPGRADE=1: with the newest versions)
	@$(COMPILE) locks/build.in -o locks/build.txt
	@$(COMPILE) pyproject.toml -o locks/core.txt
	@$(COMPILE) --all-extras pyproject.toml -o locks/all.txt
	@$(COMPILE) pyproject.toml --extra metrics --extra dns -c locks/all.txt -o locks/image.txt
	@$(COMPILE) locks/fuzz.in -o locks/fuzz.txt

clean: ## Remove what builds and tests left behind; .venv stays
	@rm -rf build dist out .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info src/ringcast/native/*.so
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
