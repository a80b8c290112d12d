"""`ringcast report`: one self-contained page about a run."""

from __future__ import annotations

from pathlib import Path

import click

from ringcast.cli.check import rules_request
from ringcast.cli.output import emit_json, json_option, say_progress

_EPILOG = """\b
Examples:
  ringcast report recordings/ -o report.html
  ringcast report recordings/ -o report.html --master spark://host:7077
The exit code is that of the verdict: 0 held, 1 violated, 2 unjudged or could not run.
"""


@click.command(epilog=_EPILOG)
@click.argument("uris", metavar="URI...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file to write.")
@click.option("--master", metavar="M", help="The Spark master (or sc:// address); default: this machine.")
@click.option("--conf", multiple=True, metavar="K=V", help="A setting of the Spark session.")
@click.option(
    "--judge",
    type=click.Choice(["auto", "spark", "local"]),
    default="auto",
    show_default=True,
    help="Who judges and measures; auto: this process if the recordings are small and here, else Spark.",
)
@click.option("--title", default="A ringcast run", show_default=True, help="What the page is called.")
@click.option("--require", multiple=True, metavar="G8,G9", help="These must be judged too, or the run is unjudged.")
@json_option
def command(
    uris: tuple[str, ...],
    output: Path,
    master: str | None,
    conf: tuple[str, ...],
    judge: str,
    title: str,
    require: tuple[str, ...],
    as_json: bool,
) -> int:
    """Judge and measure the recordings of one run in or below each URI and write a page about them."""
    from ringcast.pipeline import write_report

    asked = rules_request(uris, require, master, conf, judge)
    judgement = write_report(asked, output, title, say_progress)
    if as_json:
        emit_json({**judgement.to_json(), "path": str(output)})
    else:
        click.echo(f"{judgement.verdict}: {output}")
    return judgement.exit_code
