"""The table of eval, in words and numbers."""

import re
from dataclasses import replace

import pytest

from snapcli.cli.eval import show
from snapcli.cli.render import signed
from snapcli.metrics.bootstrap import Interval
from tests.unit.results.test_eval import made_report


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    report = made_report()
    int8 = report.sources["int8"]
    accuracy = {"clean": 0.9, "4": 0.4}
    examples = {"clean": 3, "corrupted": 6, "letters": 8, "photos": 8}
    sources = {
        name: replace(int8, source=name, accuracy=accuracy, examples=examples)
        for name in ("float", "int8")
    }
    show(replace(report, sources=sources))
    return capsys.readouterr().out


def test_every_source_has_a_table_and_all_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    assert "digits-001, float: accuracy 90.0 %, 1 event in a stream" in text
    assert "digits-001, int8: accuracy 90.0 %" in text
    assert "beside each other" in text
    # max-probability: in two tables and beside itself.
    assert len(re.findall(r"^\S? ?max-probability", text, re.MULTILINE)) == 3


def test_what_was_not_run_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    for line in text.splitlines():
        if re.search(r"\bqute\b", line):
            assert "not run" in line
            assert not re.search(r"\d", line)


def test_a_reason_that_is_not_plain_stands_below_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = made_report()
    int8 = report.sources["int8"]
    methods = tuple(replace(m, why="no int8 form") if m.errors is None else m for m in int8.methods)
    source = replace(int8, accuracy={"clean": 0.9}, methods=methods)
    show(replace(report, sources={"int8": source}))
    assert "not run, no int8 form: qute" in capsys.readouterr().out


@pytest.mark.parametrize("value", [0.0004, -0.0004, -0.0])
def test_a_gain_that_rounds_to_nothing_has_no_sign(value: float) -> None:
    assert signed(Interval(value, -0.25, 0.25)) == "0.000 [-0.250, +0.250]"
