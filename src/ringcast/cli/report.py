"""`ringcast report`: one self-contained page about a run."""

from __future__ import annotations

from pathlib import Path

import click

from ringcast.cli.output import emit_json, json_option, say_progress
from ringcast.trace import read_run

_EPILOG = """\b
Examples:
  ringcast report recordings/ -o report.html
  ringcast report recordings/ -o report.html --master spark://host:7077
The exit code is that of the verdict: 0 held, 1 violated, 2 unjudged or could not run.
"""


@click.command(epilog=_EPILOG)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file to write.")
@click.option("--master", metavar="M", help="The Spark master (or sc:// address); default: this machine.")
@click.option("--title", default="A ringcast run", show_default=True, help="What the page is called.")
@click.option("--require", multiple=True, metavar="G8,G9", help="These must be judged too, or the run is unjudged.")
@json_option
def command(
    traces: tuple[Path, ...], output: Path, master: str | None, title: str, require: tuple[str, ...], as_json: bool
) -> int:
    """Judge and measure the recordings in or below each TRACE directory and write a page about them."""
    from ringcast.pipeline import write_report

    judgement = write_report(read_run(traces), output, title, say_progress, master, require)
    if as_json:
        emit_json({**judgement.to_json(), "path": str(output)})
    else:
        click.echo(f"{judgement.verdict}: {output}")
    return judgement.exit_code
