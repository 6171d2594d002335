"""A terminal of 80 columns loses nothing; the widest tables get by with 60."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from snapcli import console
from snapcli.cli import measured
from tests.conftest import snap
from tests.unit.emit.test_program import separable_tflite
from tests.unit.stages.board_report import report

WIDTH = 80


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(console, "_FILE_WIDTH", WIDTH)
    path = tmp_path / "chain.tflite"
    path.write_bytes(separable_tflite(4))
    return str(path)


def test_inspect_keeps_every_number(model: str) -> None:
    out = snap("inspect", model).out
    # Work, constants, output and life, to the last digit.
    whole = re.compile(r"[\d,]+ MAC +\d+ B +-> [\d,]+ B +alive \d+-\d+$")
    assert sum(whole.search(line) is not None for line in out.splitlines()) == 8


def test_explain_fits_the_whole_arena(model: str, tmp_path: Path) -> None:
    out = snap("export-c", "--model", model, "--out", str(tmp_path / "out"), "--explain").out
    table = [line for line in out.splitlines() if line.startswith("│") and "CONV_2D" in line]
    assert len(table) == 8
    assert all(len(line) <= WIDTH and line.endswith("│") for line in table)
    assert all("…" not in line for line in table)
    # Some step reaches the first column of the picture, some the last.
    pictures = [line.split("│")[4] for line in table]
    assert any(picture[1] == "#" for picture in pictures)
    assert any(picture[-2] in "#-" for picture in pictures)


@pytest.mark.parametrize(("width", "lines"), [(160, 1), (100, 2), (60, 3)])
def test_a_profile_folds_its_columns(
    width: int,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(console, "_FILE_WIDTH", width)
    emulated = replace(report(counter="instructions"), timing_us=None)
    name = "block1_spatial DEPTHWISE_CONV_2D"
    first = replace(emulated.steps[0], name=name, kernel="snapnn_depthwise3x3_s8")
    measured.bench(replace(emulated, steps=(first, *emulated.steps[1:])), profile=True)
    table = capsys.readouterr().out.partition("order of work\n")[2].partition("kernels\n")[0]
    assert all(len(line) <= width for line in table.splitlines())
    assert "…" not in table
    words = set(table.split())
    figures = ("200", "600", "60.0", "3.00", "0.80", "3.75")
    assert {*name.split(), first.kernel, "backbone", *figures} <= words
    assert table.partition("├")[0].count("│\n") == lines  # the names of the columns
