"""Files that are replaced as a whole: after a crash the old content is there or the new one, never a part.

The new content stands in a file of its own, which is synced and then renamed; the directory is synced last, because the
new name is kept there. No link is followed: what stood at the place of the new file goes first.
"""

import os
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write this content to the disk in place of what the file held; it is readable for its owner only."""
    new = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    os.replace(new, path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
