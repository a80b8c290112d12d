"""`ringcast bench pipeline`: deliveries judged per second."""

from __future__ import annotations

import click

from ringcast.cli.output import emit_json, json_option, say_progress

_EPILOG = """\b
Examples:
  ringcast bench pipeline --deliveries 1000000
  ringcast bench pipeline --deliveries 100000000 --together --json
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--deliveries", default=1_000_000, show_default=True, type=click.IntRange(10_000), help="Size of the history."
)
@click.option("--together", is_flag=True, help="Only all rules together, not each alone.")
@click.option("--master", metavar="M", help="The Spark master; default: this machine.")
@json_option
def command(deliveries: int, together: bool, master: str | None, as_json: bool) -> int:
    """Judge a generated history with every rule, and beside it DuckDB on the same files."""
    from ringcast.bench import run_pipeline

    result = run_pipeline(deliveries, not together, master, say_progress)
    figures = result.to_json()
    if as_json:
        emit_json(figures)
    else:
        click.echo(
            f"{result.deliveries:,} deliveries in {result.events:,} events, runs of {result.mean_run:.1f} (FIFO)"
        )
        click.echo(f"all rules   {figures['deliveries_per_second']:>14,} deliveries/s  {result.verdict}")
        for name, figure in {**figures["rules"], **figures["duckdb"]}.items():
            click.echo(f"{name:<11} {figure['deliveries_per_second']:>14,} deliveries/s")
    return 0 if result.verdict == "held" else 1
