"""`ringcast simulate`: simulated groups under faults, thousands of seeds, each judged; one seed replayed and told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from ringcast.cli.output import check_writable, emit_json, json_option, say_progress
from ringcast.cli.simulate_batch import Batch, failure, on_spark, run_many, run_rest
from ringcast.errors import UsageError
from ringcast.sim import (
    ANY,
    KNOWN,
    WORKLOADS,
    Asked,
    Kept,
    Options,
    Summary,
    Task,
    hunt_all,
    known,
    plant,
    refresh,
    run_all,
    run_world,
    scenario_of,
    shrink,
    tell,
)

_EPILOG = """\b
Examples:
  ringcast simulate --seeds 200                   seeds 0 to 199, over all cores
  ringcast simulate --first-seed 1000 --seeds 50 --members 3..5 --json
  ringcast simulate --seeds 10000 --resume out/seeds.jsonl      in pieces: goes on where it was
  ringcast simulate --seeds 10000 --spark --master spark://host:7077
  ringcast simulate --seeds 2000 --workload total               always with sends in one order, to random subsets
  ringcast simulate --seeds 500 --workload state                every process joins with the others' state
  ringcast simulate --seeds 500 --workload rejoin               who was excluded comes back as a new incarnation
  ringcast simulate --seed 17                     replay one seed and tell its story
  ringcast simulate --seed 17 --record out/       keep its recordings, for `ringcast check`
  ringcast simulate --seed 17 --shrink            make a failing run small, and write it as a scenario
  ringcast simulate --planted-bugs                show that known mistakes are caught
Exit codes: 0 nothing was violated, 1 something was, 2 could not run.
"""


def _member_range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """`A..B` or one number; None: the seed says how many."""
    if value is None:
        return None
    low, _, high = value.partition("..")
    try:
        members = int(low), int(high or low)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number of members nor a range like 3..5") from None
    if not 1 <= members[0] <= members[1] <= 100:
        raise click.BadParameter(f"{value!r} must lie between 1 and 100, the smaller number first")
    return members


@click.command(name="simulate", epilog=_EPILOG)
@click.option("--seed", type=click.IntRange(min=0), help="Replay this one seed and tell its story.")
@click.option("--first-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Begin here.")
@click.option("--seeds", type=click.IntRange(min=1), help="How many seeds.  [default: 20]")
@click.option(
    "--members",
    callback=_member_range,
    metavar="A..B",
    help="Members, drawn from A..B.  [default: 2..7; in some of each twentieth seed up to 15, or 40]",
)
@click.option(
    "--record", type=click.Path(path_type=Path, file_okay=False), help="Keep recordings below this directory."
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep each outcome in this file, and run only the seeds that are not in it yet.",
)
@click.option(
    "--workload",
    type=click.Choice(WORKLOADS),
    default=ANY,
    show_default=True,
    help="What applications do: send this and that; always in one order too; join with state; rejoin if excluded; "
    "or any of these, as the seed says.",
)
@click.option("--processes", type=click.IntRange(min=1), help="How many runs at once.  [default: one per core]")
@click.option("--spark", is_flag=True, help="Run the seeds as a Spark job, in batches, instead of on the cores here.")
@click.option("--master", metavar="M", help="With --spark: the Spark master (or sc:// address); default: this machine.")
@click.option("--fixed", is_flag=True, help="Everybody in one view for ever: the multicast alone.")
@click.option(
    "--shrink", "is_shrunk", is_flag=True, help="With --seed: make a failure small and write a scenario file."
)
@click.option("--planted-bugs", is_flag=True, help="Plant each known mistake in turn, and see whether it is caught.")
@click.option("--plant", "planted", metavar="BUG", default="", help="With --seed: plant this known mistake first.")
@click.option(
    "--table",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="With --planted-bugs: refresh the table in this page.",
)
@click.option("--everything", is_flag=True, help="With --seed: tell sends, deliveries and acks too.")
@json_option
def command(
    seed: int | None,
    first_seed: int,
    seeds: int | None,
    members: tuple[int, int] | None,
    record: Path | None,
    resume: Path | None,
    workload: str,
    processes: int | None,
    spark: bool,
    master: str | None,
    fixed: bool,
    is_shrunk: bool,
    planted_bugs: bool,
    planted: str,
    table: Path | None,
    everything: bool,
    as_json: bool,
) -> int:
    """Run simulated groups under faults: loss, cuts, partitions, crashes, slow readers, wrong clocks; and judge them.

    A seed decides everything: the members, their config, what goes wrong and when. The same seed is the same run, bit
    for bit. After the faults everything heals, and within a stated bound every wait must end.
    """
    for path in filter(None, (record, resume)):
        check_writable(path)
    if planted_bugs:
        return _hunt_all(table, as_json)
    if master is not None and not spark:
        raise UsageError("--master names where Spark runs: it needs --spark")
    if seed is None and (is_shrunk or planted):
        raise UsageError("--shrink and --plant are for one run: name it with --seed")
    if fixed and workload in ("state", "rejoin"):
        raise UsageError(f"--workload {workload} is about processes that join; with --fixed nobody does: leave one out")
    asked = Asked(members, fixed, workload)
    if seed is not None:
        if seeds is not None or resume is not None:
            raise UsageError("--seed replays one seed, --seeds and --resume are for many: choose one of them")
        with plant(known(planted)) if planted else nullcontext():
            if is_shrunk:
                return _shrink(asked.options(seed), record or Path(), planted, as_json)
            return _replay(Task(seed, asked, record), everything, as_json)
    tasks = [Task(first_seed + n, asked, record) for n in range(seeds or 20)]
    runner = on_spark(master) if spark else partial(run_all, processes=processes)
    if resume is None:
        return _tell_all(run_many(tasks, Summary(), runner), as_json)
    with Kept(resume, asked) as kept:
        return _tell_all(run_rest(tasks, kept, runner), as_json)


def _replay(task: Task, everything: bool, as_json: bool) -> int:
    record = None if task.record is None else task.record / f"seed-{task.seed}"
    outcome, cluster = run_world(task.asked.options(task.seed), record)
    summary = Summary([outcome])
    if as_json:
        emit_json(summary.to_json())
    else:
        for line in tell(cluster.recordings(), everything):
            click.echo(line)
        _tell(summary)
    return int(not outcome.is_good)


def _shrink(options: Options, directory: Path, planted: str, as_json: bool) -> int:
    small = shrink(options)
    result = Summary([small.outcome]).to_json() | {"shrink_runs": small.runs}
    if small.outcome.is_good:
        say_progress(f"seed {options.seed} does not fail, so there is nothing to shrink")
    else:
        file = directory / f"seed-{options.seed}.txt"
        directory.mkdir(parents=True, exist_ok=True)
        why = f"Seed {options.seed}, made small."
        file.write_text(scenario_of(small.options, why, small.outcome.sentences, planted))
        result["scenario"] = str(file)
        say_progress(f"{failure(small.outcome)}; {len(small.options.faults)} faults left; written to {file}")
    if as_json:
        emit_json(result)
    return int(not small.outcome.is_good)


def _hunt_all(table: Path | None, as_json: bool) -> int:
    found = []
    for caught in hunt_all(KNOWN):
        found.append(caught)
        needed = f"{caught.seeds_needed} of {caught.bug.seeds} seeds" if caught.is_caught else "NOT CAUGHT"
        click.echo(f"{caught.bug.guarantee:>9}  {needed:<14} {caught.bug.name}", err=as_json)
    if table is not None:
        refresh(table, found)
    if as_json:
        emit_json({"runs": len(found), "planted_bugs": [caught.to_json() for caught in found]})
    return int(not all(caught.is_caught for caught in found))


def _tell_all(batch: Batch, as_json: bool) -> int:
    if as_json:
        emit_json(batch.summary.to_json() | {"seconds": round(batch.seconds, 3), "stopped": batch.is_stopped})
    else:
        _tell(batch.summary)
        click.echo(f"{batch.seconds:.1f} s of real time")
    return 2 if batch.is_stopped else int(bool(batch.summary.failed))


def _tell(summary: Summary) -> None:
    result = summary.to_json()
    click.echo(f"{result['runs']} runs, {result['simulated_seconds']:.0f} simulated seconds")
    for line in _drawn(result["drawn"]) if result["runs"] else ():
        click.echo(line)
    for name, counts in result["guarantees"].items():
        if counts["examined"]:
            verdict = f"VIOLATED {counts['violations']} times" if counts["violations"] else "held"
            click.echo(f"{name:>4}  {verdict}, {counts['examined']:,} examined")
    for outcome in summary.failed:
        click.echo(failure(outcome))
    if "trace_hash" in result:
        click.echo(f"trace hash {result['trace_hash']}")
    if summary.failed:
        click.echo(f"failed seeds: {result['failed_seeds']}")
    else:
        click.echo("nothing was violated" if result["runs"] else "nothing was run, so nothing is known")


def _drawn(drawn: dict[str, Any]) -> Iterator[str]:
    """The table of what the seeds drew, with the zeros."""
    for what in ("members", "workloads", "policies"):
        yield f"{what}: " + ", ".join(f"{name} {count}" for name, count in drawn[what].items())
    yield f"large runs (above 7 members, or a fault above 10 s): {drawn['large_runs']}"
    yield f"{'fault':<28} {'count':>7}  longest"
    for kind, fault in drawn["faults"].items():
        seconds = fault["longest_seconds"]
        yield f"{kind:<28} {fault['count']:>7}  " + ("-" if seconds is None else f"{seconds:.1f} s")
