"""The `ringcast` command: one file per subcommand, loaded only when it is called."""

from ringcast.cli.app import main

__all__ = ["main"]
