"""The archive of Spark's classes: used where it is, one for each Java, and its lack is a sentence."""

from pathlib import Path

import pytest

from ringcast.errors import RingcastError
from ringcast.pipeline import classes

pytestmark = pytest.mark.needs("spark")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(classes, "DIRECTORY", tmp_path / "share")
    return tmp_path / "share"


def test_an_archive_is_used_where_there_is_one(directory: Path, tmp_path: Path) -> None:
    assert classes.flags_for(tmp_path / "java") == classes.FLAGS
    archive = classes.archive_for(tmp_path / "java")
    archive.parent.mkdir()
    archive.touch()
    assert f'"-XX:SharedArchiveFile={archive}"' in classes.flags_for(tmp_path / "java")
    assert classes.flags_for(tmp_path / "another java") == classes.FLAGS


def test_a_new_archive_takes_the_place_of_older_ones(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir()
    (directory / "spark-classes-of-an-older-java.jsa").touch()
    monkeypatch.setattr(classes, "_judge", lambda here: [(here / "archive").write_bytes(b"classes")])
    assert classes.make().read_bytes() == b"classes"
    assert len(list(directory.iterdir())) == 1


def test_a_java_that_leaves_none_is_told_in_its_own_words(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "_judge", lambda here: ["much", "no base archive"])
    with pytest.raises(RingcastError, match="Java left no archive of its classes: no base archive"):
        classes.make()
    assert list(directory.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_sentence(directory: Path) -> None:
    directory.write_text("a file")
    with pytest.raises(RingcastError, match="cannot be written"):
        classes.make()
