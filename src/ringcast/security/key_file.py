"""The file of a keyring: read by its owner only, replaced as a whole.

A file that others can read or change is refused: its keys are no secret. Not a store of many groups: one file is one
keyring, and members of several groups have several files.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from ringcast.errors import ConfigError
from ringcast.security.keyring import FIRST_LINE, SECRET_BYTES, Key, Keyring, is_like_a_key

KEY_FILE_VARIABLE = "RINGCAST_KEY_FILE"
MOST_BYTES = 64 * 1024
LEAST_DIFFERENT = 12  # different bytes among those of a key; of 32 random ones about 30 are

KeySource = str | Path | bytes | Keyring
"""A keyring's file; or its text, or one key of 32 bytes, as bytes; or a Keyring."""


def read_keyring(source: KeySource) -> Keyring:
    """ConfigError, in a sentence without anything secret, if it cannot be used."""
    if isinstance(source, Keyring):
        return source
    if isinstance(source, bytes):
        return _from_bytes(source)
    if isinstance(source, str) and ("\n" in source or source.startswith(FIRST_LINE)):
        raise ConfigError("the text of a keyring is given to key= as bytes; a str is the path of its file")
    if isinstance(source, str | Path):
        like_a_key = "that key= names (it looks like a key itself: give it as bytes)"
        return _from_file(Path(source), like_a_key if is_like_a_key(str(source)) else str(source))
    raise ConfigError(f"key must be the path of a key file, or bytes, not {type(source).__name__}")


def _from_bytes(given: bytes) -> Keyring:
    if len(given) == SECRET_BYTES:
        if len(set(given)) < LEAST_DIFFERENT or all(0x20 <= byte < 0x7F for byte in given):
            raise ConfigError("key= can be guessed (a text, or bytes that repeat): os.urandom(32), or ringcast key new")
        return Keyring((Key(given),))
    return _parse(given, "key=")


def _from_file(path: Path, shown: str) -> Keyring:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            check_owner(path, os.fstat(descriptor))
            return _parse(file.read(MOST_BYTES), str(path))
    except OSError as error:
        raise ConfigError(f"cannot read the key file {shown}: {error.strerror or error}") from None


def check_owner(path: Path, found: os.stat_result, what: str = "key file") -> None:
    """ConfigError if it is no file, or somebody else's, or others can read it."""
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"the {what} {path} is not a file")
    if found.st_uid not in (os.getuid(), 0):
        raise ConfigError(f"the {what} {path} belongs to another user")
    if found.st_mode & 0o077:
        raise ConfigError(f"others can read the {what} {path}: chmod 600 {path}, and make a new one if they might have")


def _parse(data: bytes, where: str) -> Keyring:
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        raise ConfigError(f"{where} is not a keyring; make one: ringcast key new -o FILE") from None
    return Keyring.from_text(text, where)


def write_keyring(path: Path, keyring: Keyring, *, is_new: bool = False) -> None:
    """Mode 600, whole or not at all: a member that reads it meanwhile finds the old one or the new one.

    Through a link the file that it leads to is replaced: who reads that one by its own name has the new keys too.
    """
    path = path if is_new else Path(os.path.realpath(path))
    handle, temporary = -1, ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(keyring.as_text())
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            os.link(temporary, path)  # refuses what is there already
            os.unlink(temporary)
        else:
            os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, FileExistsError):
            raise ConfigError(f"{path} exists already; a new key beside the old one: ringcast key add {path}") from None
        raise ConfigError(f"cannot write the key file {path}: {error.strerror or error}") from None
