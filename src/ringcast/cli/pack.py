"""`ringcast pack`: this package as a zip for `spark-submit --py-files`."""

from __future__ import annotations

from pathlib import Path

import click

from ringcast.cli.output import emit_json, json_option

_EPILOG = """\b
Examples:
  ringcast pack -o ringcast.zip
  spark-submit --py-files ringcast.zip job.py
"""


@click.command(epilog=_EPILOG)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The zip to write.")
@json_option
def command(output: Path, as_json: bool) -> int:
    """Write this package as a zip that the workers of a Spark cluster can import."""
    from ringcast.pipeline import pack

    pack(output)
    emit_json({"path": str(output)}) if as_json else click.echo(str(output))
    return 0
