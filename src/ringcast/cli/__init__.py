"""The `ringcast` command: one file per subcommand, loaded only when it is called."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; interrupted while it is imported, with one sentence too."""
    try:
        from ringcast.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("ringcast: interrupted\n")
        sys.exit(130)
    run(arguments)
