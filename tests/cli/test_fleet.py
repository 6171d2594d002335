"""snap fleet: what is printed where, and what bad input leads to."""

from pathlib import Path

import pytest

from tests.conftest import snap
from tests.unit.fleet.made_fleet import Made

ODD = Made(devices=30, days=14, shifted=(3,), day=7)
USAGE, ARTIFACT = 2, 4


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.snpt").write_bytes(ODD.records(1).tobytes() + b"rest")
    return tmp_path


def test_the_summary_fits_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = snap("fleet", "all.snpt")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert "Devices, the worst 10 of 30" in lines
    assert max(len(line) for line in lines if line[:1] in "│╭├╰") <= 80
    first = next(line for line in lines if line.startswith("│ 4 "))
    assert "since 2026-01-08" in first
    assert "1 of 30 devices drifts, the first since 2026-01-08" in outcome.out
    assert lines[-1] == "Look at fleet.html"
    assert "4 bytes in no whole record" in outcome.err
    assert (folder / "fleet.html").is_file()


def test_json_is_the_whole_of_stdout(folder: Path) -> None:
    outcome = snap("fleet", ".", "--out", "week.html", "--json")
    report = outcome.json
    assert (report["schema"], report["page"]) == (1, "week.html")
    assert report["total"]["devices"] == len(report["devices"]["rows"]) == 30
    assert report["skipped_bytes"] == 4


def test_bad_input_is_two_lines(folder: Path) -> None:
    (folder / "text.snpt").write_text("no record at all")
    (folder / "mine.html").write_text("mine")
    (folder / "none").mkdir()
    for code, arguments in (
        (ARTIFACT, ("missing.snpt",)),
        (ARTIFACT, ("text.snpt",)),
        (ARTIFACT, ("none",)),
        (ARTIFACT, ("all.snpt", "--out", "nowhere/x.html")),
        (USAGE, ("all.snpt", "--out", "mine.html")),
        (USAGE, ("all.snpt", "--out", "none")),
        (USAGE, ()),
    ):
        outcome = snap("fleet", *arguments)
        assert (outcome.code, outcome.out) == (code, ""), arguments
        assert all(outcome.error())
    assert sorted(p.name for p in folder.iterdir()) == [
        "all.snpt",
        "mine.html",
        "none",
        "text.snpt",
    ]
    assert (folder / "mine.html").read_text() == "mine"
