"""`ringcast bench pipeline`: deliveries judged per second."""

from __future__ import annotations

from pathlib import Path

import click

from ringcast.cli.check import lacks_spark
from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.errors import UsageError

_EPILOG = """\b
Examples:
  ringcast bench pipeline --deliveries 1000000
  ringcast bench pipeline --deliveries 100000000 --history /tmp/h --write-only
  ringcast bench pipeline --deliveries 100000000 --history /tmp/h --together --json
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--deliveries", default=1_000_000, show_default=True, type=click.IntRange(10_000), help="Size of the history."
)
@click.option("--together", is_flag=True, help="Only the whole, not what each step costs, and no DuckDB.")
@click.option("--single-view", is_flag=True, help="A history of one view.")
@click.option("--master", metavar="M", help="The Spark master; default: this machine.")
@click.option("--history", type=click.Path(path_type=Path), help="Keep the history there, and take it if it is there.")
@click.option("--write-only", is_flag=True, help="Only write the history; needs --history.")
@json_option
def command(
    deliveries: int,
    together: bool,
    single_view: bool,
    master: str | None,
    history: Path | None,
    write_only: bool,
    as_json: bool,
) -> int:
    """Judge recordings of a generated history, reading included, and beside it DuckDB on the same events."""
    from ringcast.bench import run_pipeline

    if write_only and history is None:
        raise UsageError("--write-only needs --history DIR, or nothing would be left of it")
    if not write_only and (lacking := lacks_spark()):
        raise UsageError(f"this is measured on Spark: {lacking}")
    result = run_pipeline(deliveries, not together, master, say_progress, history, write_only, single_view)
    figures = result.to_json()
    if write_only:
        emit_json(figures) if as_json else click.echo(f"{result.deliveries:,} deliveries in {history}")
        return 0
    if as_json:
        emit_json(figures)
    else:
        click.echo(
            f"{result.deliveries:,} deliveries in {result.events:,} events, runs of {result.mean_run:.1f} (FIFO)"
        )
        click.echo(f"from bytes to verdict {figures['deliveries_per_second']:,} deliveries/s  {result.verdict}")
        click.echo(f"{figures['cpu_seconds_per_million_events']} CPU s per million events, all processes")
        click.echo(f"largest Python task {figures['largest_python_process_megabytes']:,} MB")
        for name, seconds in figures["steps"].items():
            click.echo(f"  {name:<8} {seconds:>7.3f} CPU s per million events")
        for name, figure in figures["duckdb"].items():
            click.echo(f"DuckDB {name:<10} {figure['seconds']:.2f} s")
    return 0 if result.verdict == "held" else 1
