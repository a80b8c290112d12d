"""A test left out for want of something is named at the end of the run, and fails where nothing may be left out."""

from pathlib import Path

import pytest

from needs import probes
from needs.plugin import closing

NEEDY = """
    import pytest

    @pytest.mark.needs("unobtainium")
    def test_marked(): raise AssertionError("ran all the same")

    def test_asking(needs): needs("unobtainium")

    @pytest.mark.skip(reason="not today")
    def test_other(): pass

    def test_free(): pass
"""


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    probes.missing.cache_clear()
    monkeypatch.setitem(probes.PROBES, "unobtainium", lambda: "no mine nearby")
    monkeypatch.delenv("RINGCAST_REQUIRE_ALL", raising=False)
    monkeypatch.delenv("RINGCAST_NOT_RUN", raising=False)
    pytester.makepyfile(NEEDY)
    return pytester


def test_the_closing_list_gives_every_reason_and_pytests_own_line_comes_last(inner: pytest.Pytester) -> None:
    run = inner.runpytest_inprocess("-p", "needs.plugin")
    run.stdout.fnmatch_lines(
        ["*not run*", "2 not run: needs unobtainium: no mine nearby", "    test_*.py", "1 not run: not today"]
    )
    assert "1 passed, 3 skipped" in run.outlines[-1]
    assert run.ret == 0


def test_where_nothing_may_be_left_out_a_missing_need_fails(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGCAST_REQUIRE_ALL", "1")
    run = inner.runpytest_inprocess("-p", "needs.plugin")
    run.stdout.fnmatch_lines(["*needs unobtainium: no mine nearby (RINGCAST_REQUIRE_ALL is set*"])
    assert run.parseoutcomes() == {"passed": 1, "skipped": 1, "failed": 1, "errors": 1}


def test_several_runs_are_closed_together(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "not-run"
    monkeypatch.setenv("RINGCAST_NOT_RUN", str(file))
    inner.runpytest_inprocess("-p", "needs.plugin", "-k", "other")
    inner.runpytest_inprocess("-p", "needs.plugin", "-k", "marked or free")
    lines = list(closing(file))
    assert [line for line in lines if "not run:" in line] == [
        "1 not run: needs unobtainium: no mine nearby",
        "1 not run: not today",
    ]
    assert lines[-1] == "==== 2 runs together: 1 passed, 2 skipped ===="


def test_a_module_skipped_as_a_whole_is_listed(inner: pytest.Pytester) -> None:
    inner.makepyfile(test_whole="import pytest\npytest.importorskip('no_such_module')\n")
    run = inner.runpytest_inprocess("-p", "needs.plugin")
    run.stdout.fnmatch_lines(["1 not run: could not import 'no_such_module'*", "    test_whole.py"])


def test_a_need_without_a_probe_is_a_mistake_not_a_skip(inner: pytest.Pytester) -> None:
    inner.makepyfile("import pytest\n\n@pytest.mark.needs('ntf')\ndef test_typo(): pass\n")
    run = inner.runpytest_inprocess("-p", "needs.plugin")
    run.stdout.fnmatch_lines(["*LookupError: there is no probe for 'ntf'; known are *nft*"])
    assert run.parseoutcomes() == {"errors": 1}


def test_a_full_run_says_so(inner: pytest.Pytester) -> None:
    inner.makepyfile("def test_free(): pass")
    inner.runpytest_inprocess("-p", "needs.plugin").stdout.fnmatch_lines(["Nothing was left out."])
