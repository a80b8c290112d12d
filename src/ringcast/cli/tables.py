"""`ringcast tables`: what the tables of `ringcast check --tables` hold, column by column."""

from __future__ import annotations

import click

from ringcast.cli.output import emit_json, json_option

_EPILOG = """\b
Examples:
  ringcast tables
  ringcast check recordings/ --tables tables/
"""


@click.command(epilog=_EPILOG)
@json_option
def command(as_json: bool) -> int:
    """Describe the tables that `ringcast check --tables` writes."""
    from ringcast.pipeline import describe_tables

    told = describe_tables()
    if as_json:
        emit_json(told)
        return 0
    for name, table in told["tables"].items():
        click.echo(f"{name}: {table['a_row']}")
        for column, about in table["columns"].items():
            click.echo(f"  {column:<15} {about['type']:<13} {about['about']}")
    return 0
