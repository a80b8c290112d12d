from pathlib import Path

import pytest

from ringcast.bench.raw import SOURCE, RawUnavailable, compiled, run_raw

pytestmark = pytest.mark.needs("compiler")


@pytest.mark.parametrize("mode", ["udp-fanout", "tcp"])
@pytest.mark.parametrize(("members", "senders", "receivers"), [(3, 1, 2), (3, 3, 3), (2, 1, 1)])
def test_every_receiver_counts_what_came(mode: str, members: int, senders: int, receivers: int) -> None:
    rates = run_raw(mode, members=members, senders=senders, seconds=0.1)  # type: ignore[arg-type]
    assert len(rates) == receivers
    assert all(rate > 0 for rate in rates)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"mode": "pigeon"}, "--mode must be udp-fanout, udp-multicast or tcp, not pigeon"),
        ({"members": 65}, "--members must be 2 to 64, not 65"),
        ({"senders": 4}, "--senders 4 is more than --members 3"),
        ({"size": 65_508}, "--size 65508 is more than a datagram holds"),
        ({"seconds": 0}, "--seconds must be above 0"),
        ({"interface": "here"}, "--interface must be an IPv4 address, not here"),
        ({"interface": "192.0.2.1"}, "cannot bind 192.0.2.1"),
        ({"colour": "red"}, "unknown option --colour"),
    ],
)
def test_a_wrong_value_is_one_sentence(wrong: dict[str, object], complaint: str) -> None:
    right = {"mode": "udp-fanout", "members": 3, "senders": 1, "seconds": 0.1}
    with pytest.raises(RawUnavailable, match=complaint):
        run_raw(**(right | wrong))  # type: ignore[arg-type]


def test_a_source_is_compiled_once_and_again_when_it_changes(tmp_path: Path) -> None:
    source, build = tmp_path / "raw.c", tmp_path / "build"
    source.write_text("int main(void) { return 0; }")
    first = compiled(source, build)
    made = first.stat().st_mtime_ns
    assert compiled(source, build) == first and first.stat().st_mtime_ns == made
    source.write_text("int main(void) { return 1; }")
    assert compiled(source, build) != first


def test_without_a_compiler_the_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RawUnavailable, match=r"needs a C compiler \(Debian package gcc\)"):
        compiled(SOURCE, tmp_path / "build")


def test_a_source_that_does_not_compile_leaves_nothing_behind(tmp_path: Path) -> None:
    source, build = tmp_path / "raw.c", tmp_path / "build"
    source.write_text("int main(void) {")
    with pytest.raises(RawUnavailable, match=r"cannot compile raw\.c"):
        compiled(source, build)
    assert list(build.iterdir()) == []


def test_without_the_source_tree_the_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(RawUnavailable, match=r"needs raw\.c from the source tree"):
        compiled(tmp_path / "raw.c", tmp_path / "build")
