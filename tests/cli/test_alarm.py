"""snap alarm on the command line: its JSON, and two lines for what is wrong."""

import json
from pathlib import Path

import pytest

from snapcli.runs import Run
from snapcli.stages import alarm as stage
from tests.conftest import snap
from tests.unit.stages.alarm_run import alarm_run

pytestmark = pytest.mark.slow

ASK = ("--detector", "cusum", "--false-alarms", "1 per 500 frames", "--baseline", "64")
USAGE, ARTIFACT, CHECK = 2, 4, 7


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(stage, "instructions_or_none", lambda *_: None)
    return alarm_run(tmp_path / "runs", monkeypatch)


def test_json_is_the_report(run: Run) -> None:
    outcome = snap("alarm", "--run", str(run.root), *ASK, "--json")
    assert outcome.code == 0, outcome.err

    def never(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(outcome.out, parse_constant=never)["detector"] == "cusum"
    assert (run.root / "alarm" / "report.json").is_file()


def test_the_table_is_for_people(run: Run) -> None:
    outcome = snap("alarm", "--run", str(run.root), *ASK, "--rate", "4Hz")
    assert outcome.code == 0, outcome.err
    assert "one in 500 frames (2.1 minutes)" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "code", "text", "hint"),
    [
        (("--rate", "4"), USAGE, "alarm.rate is '4'", "4Hz"),
        (("--rate", "nanHz"), USAGE, "alarm.rate", "4Hz"),
        (("--false-alarms", "1 per day"), USAGE, "nobody knows how many frames", "--rate 4Hz"),
        (("--false-alarms", "never"), USAGE, "'never'", "1 per 10000 frames"),
        (("--false-alarms", "1 per 5 frames"), USAGE, "one per 5 frames", "20"),
        (("--on", "V"), USAGE, "alarm.on is 'V'", "abstain"),
        (("--detector", "adwin"), USAGE, "'adwin'", "betting"),
        (("--detector", "none"), USAGE, "none is for recipes", "name one"),
        (("--baseline", "65536"), USAGE, "alarm.baseline is 65536", "65535"),
        (("--clean-stream", "none.jsonl"), USAGE, "no file none.jsonl", "--record"),
        (("--clean-stream", "junk.jsonl"), ARTIFACT, "junk.jsonl cannot be read", "--record"),
        (("--clean-stream", "few.jsonl"), USAGE, "2 frames, too few", "200"),
    ],
)
def test_nonsense_is_two_lines(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    text: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = '{"uncertainty_q16": 1, "foreign_q16": 1, "score_q16": 1, "abstain": false}\n'
    (tmp_path / "few.jsonl").write_text(2 * frame)
    (tmp_path / "junk.jsonl").write_text(200 * frame + "NaN\n")
    before = sorted(run.root.rglob("*"))
    outcome = snap("alarm", "--run", str(run.root), *arguments)
    assert outcome.code == code
    message, said = outcome.error()
    assert text in message
    assert hint in said
    assert outcome.out == ""
    assert [p for p in sorted(run.root.rglob("*")) if ".locks" not in p.parts] == [
        p for p in before if ".locks" not in p.parts
    ]


def test_a_run_without_kept_scores_says_who_makes_them(run: Run) -> None:
    (run.root / "attach" / "scores.npz").unlink()
    outcome = snap("alarm", "--run", str(run.root), *ASK)
    assert outcome.code == ARTIFACT
    assert outcome.error()[1]
