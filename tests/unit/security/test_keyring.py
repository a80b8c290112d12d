"""Keyrings: text, changes, files; and nothing secret in any word that is shown."""

import base64
import os
from pathlib import Path

import pytest

from ringcast.errors import ConfigError, UsageError
from ringcast.security import Key, Keyring, new_key, read_keyring, write_keyring

OLD, NEW, THIRD = (Key(bytes([number]) * 32) for number in (1, 2, 3))


def test_a_keyring_is_its_text() -> None:
    keyring = Keyring((OLD, NEW), ("00112233",))
    assert Keyring.from_text(keyring.as_text()) == keyring


def test_names_differ_and_repeat() -> None:
    assert len({OLD.name, NEW.name, THIRD.name}) == 3 and Key(OLD.secret).name == OLD.name


def test_the_key_is_changed_in_three_steps() -> None:
    keyring = Keyring((OLD,)).with_added(NEW)
    assert keyring.primary == OLD and keyring.keys == (OLD, NEW)
    keyring = keyring.with_primary(NEW.name[:6])
    assert keyring.primary == NEW and keyring.keys == (NEW, OLD)
    keyring = keyring.with_retired(OLD.name)
    assert keyring == Keyring((NEW,), (OLD.name,)) and base64.b64encode(OLD.secret).decode() not in keyring.as_text()


def test_the_primary_key_is_not_retired() -> None:
    with pytest.raises(UsageError, match="make another primary first"):
        Keyring((OLD, NEW)).with_retired(OLD.name)


@pytest.mark.parametrize("name", ["", "zz"])
def test_a_name_that_means_no_key_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(UsageError, match=OLD.name):
        Keyring((OLD, NEW)).find(name)


def _shown(*things: object) -> str:
    return " ".join(f"{thing!r} {thing}" for thing in things)


def test_no_word_that_is_shown_holds_a_secret() -> None:
    key = new_key()
    secrets = (key.secret.hex(), base64.b64encode(key.secret).decode(), repr(key.secret))
    keyring = Keyring((key,))
    broken = keyring.as_text().replace(key.name, "00000000")
    with pytest.raises(ConfigError) as refused:
        Keyring.from_text(broken, "a.key")
    shown = _shown(key, keyring, refused.value)
    assert not any(secret in shown for secret in secrets)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "something else\n",
        "ringcast keyring 1\n",
        "ringcast keyring 1\naccepted " + Keyring((OLD,)).as_text().split(maxsplit=4)[4],
        Keyring((OLD,)).as_text() * 2,
        Keyring((OLD,)).as_text() + Keyring((OLD,)).as_text().splitlines()[1].replace("primary", "accepted"),
        "ringcast keyring 1\nprimary 00000000 !!!!\n",
        "ringcast keyring 1\nprimary 00000000 AAAA\n",
    ],
)
def test_what_is_no_keyring_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        Keyring.from_text(text)


def test_a_file_is_written_for_its_owner_alone_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "g.key"
    write_keyring(path, Keyring((OLD,)), is_new=True)
    assert path.stat().st_mode & 0o777 == 0o600 and read_keyring(path) == read_keyring(str(path)) == Keyring((OLD,))
    write_keyring(path, Keyring((NEW,)))
    assert read_keyring(path) == Keyring((NEW,)) and os.listdir(tmp_path) == ["g.key"]


def test_a_new_file_never_replaces_one(tmp_path: Path) -> None:
    path = tmp_path / "g.key"
    write_keyring(path, Keyring((OLD,)), is_new=True)
    with pytest.raises(ConfigError, match="exists already"):
        write_keyring(path, Keyring((NEW,)), is_new=True)
    assert read_keyring(path) == Keyring((OLD,)) and os.listdir(tmp_path) == ["g.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "g.key"
    write_keyring(path, Keyring((OLD,)))
    path.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_keyring(path)


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe"):
        with pytest.raises(ConfigError):
            read_keyring(path)


def test_bytes_are_one_key_or_a_keyring() -> None:
    assert read_keyring(bytes(range(32))) == Keyring((Key(bytes(range(32))),))
    assert read_keyring(Keyring((OLD, NEW)).as_text().encode()) == Keyring((OLD, NEW))
    with pytest.raises(ConfigError):
        read_keyring(b"short")


def test_a_keyring_given_as_text_is_not_repeated_in_the_error() -> None:
    text = Keyring((OLD,)).as_text()
    for given in (text, text.replace("\n", " ")):
        with pytest.raises(ConfigError) as refused:
            read_keyring(given)
        assert base64.b64encode(OLD.secret).decode() not in str(refused.value)


@pytest.mark.parametrize("written", ["base64", "urlsafe", "hex", "line"])
def test_a_key_that_is_given_where_its_file_belongs_is_not_repeated(written: str) -> None:
    key = Key(b"\xff" * 32)  # in base64 all slashes, which a path makes one of
    text = {
        "base64": base64.b64encode(key.secret).decode(),
        "urlsafe": base64.urlsafe_b64encode(key.secret).decode(),
        "hex": key.secret.hex(),
        "line": f"primary {key.name} {base64.b64encode(key.secret).decode()}",
    }[written]
    with pytest.raises(ConfigError, match="it looks like a key itself") as raised:
        read_keyring(text)
    assert not any(word in str(raised.value) for word in (*text.split(), str(Path(text))))
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("secret", [bytes(32), b"k" * 32, b"correct horse battery staple now", bytes([1, 2]) * 16])
def test_a_key_that_can_be_guessed_is_refused(secret: bytes) -> None:
    """A password of 32 letters, or zeros, were taken as a key."""
    with pytest.raises(ConfigError, match="can be guessed"):
        read_keyring(secret)
    assert read_keyring(bytes(range(32))).primary.secret == bytes(range(32))


def test_a_key_is_added_to_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    """The link was replaced: members that read the file itself kept the old keys."""
    real, link = tmp_path / "store" / "key", tmp_path / "key"
    real.parent.mkdir()
    write_keyring(real, Keyring((new_key(),)), is_new=True)
    link.symlink_to(real)
    changed = read_keyring(link).with_added(new_key())
    write_keyring(link, changed)
    assert link.is_symlink() and read_keyring(real) == read_keyring(link) == changed
