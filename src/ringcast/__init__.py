"""ringcast: group communication for Python. This is the public face: re-exports only."""

from ringcast._version import __version__

__all__ = ["__version__"]
