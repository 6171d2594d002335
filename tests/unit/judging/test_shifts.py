"""Conditions of a run sorted by what they cost, and what an alarm would be given of each."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import SIGNALS
from snapcli.data.evaluation import Evaluation
from snapcli.errors import ArtifactError
from snapcli.judging.raw_scores import SCORES_FILE, load_scores, save_scores
from snapcli.judging.shifts import PLAIN, Shift, split_frames, taken
from tests.unit.judging.made_frames import made_frames, made_split
from tests.unit.stages.alarm_run import alarm_run, raw_scores
from tests.unit.stages.tiny_run import tiny_dataset
from tests.unit.tiny_monitor import tiny_monitor


def test_shifts_are_sorted_by_cost() -> None:
    split = made_split(drops=(0.02, 0.05, 0.2, 0.5))
    assert [s.drop for s in split.harmful] == [0.2, 0.5] * 3
    assert [s.drop for s in split.harmless] == [0.02] * 3
    assert {s.name for s in split.of_types({"fog"}).shifts} == {"fog"}
    assert split.of_types({"fog"}).foreign == split.foreign


def test_where_nothing_costs_ten_points_a_few_stand_in() -> None:
    split = made_split(drops=(0.0, 0.01, 0.02, 0.04))
    assert [s.drop for s in split.harmful] == [0.04] * 3
    one = replace(split, shifts=(Shift("fog", 1, made_frames(0.97), 0.0, False),))
    assert one.harmful == one.shifts
    # What stands in for harm is not harmless as well.
    scores = one.scores("U")
    assert (len(scores.harmful), len(scores.harmless)) == (1, 0)


def test_every_signal_is_what_the_kernel_is_given() -> None:
    frames = made_frames(0.8)
    given = [frames.values(signal) for signal in (*SIGNALS, PLAIN)]
    s = frames.scores
    for got, expected in zip(
        given,
        (s.uncertainty_q16, s.foreign_q16, s.score_q16, s.abstain * 65536, frames.plain_q16),
        strict=True,
    ):
        assert np.array_equal(got, expected)
        assert got.dtype == np.uint32


def test_taken_rows_keep_together() -> None:
    frames = made_frames(0.8)
    some = taken(frames, np.array([5, 5, 2]))
    assert some.right.tolist() == frames.right[[5, 5, 2]].tolist()
    assert some.values("U").tolist() == frames.values("U")[[5, 5, 2]].tolist()


def test_a_run_gives_dev_and_test_of_disjoint_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = alarm_run(tmp_path / "runs", monkeypatch)
    splits = split_frames(run)
    data = tiny_dataset(True)
    for name, split in splits.items():
        assert len(split.clean) == len(data.split(name))
        # Every twelfth label is wrong.
        assert split.clean.accuracy == pytest.approx(11 / 12, abs=0.02)
        assert len(split.shifts) == 2 * 5
        for shift in split.shifts:
            assert shift.drop == pytest.approx(split.clean.accuracy - shift.frames.accuracy)
        (strange,) = split.foreign
        assert strange.is_foreign
        assert not strange.frames.right.any()
    rows = sum(len(splits[name].foreign[0].frames) for name in splits)
    assert rows == len(data.ood["strange"])
    monitor = tiny_monitor("gated")
    x = monitor.body.graph.quantize(data.dev.x)
    answered = monitor.run(x).uncertainty_q16
    assert np.array_equal(splits["dev"].clean.values("U"), answered)


def test_scores_come_back_as_they_were_saved(tmp_path: Path) -> None:
    evaluation, body = Evaluation(tiny_dataset(True), 100), tiny_monitor("gated").body
    saved = raw_scores(evaluation)
    save_scores(tmp_path / SCORES_FILE, saved)
    loaded = load_scores(tmp_path / SCORES_FILE, body, evaluation, "again")
    assert loaded.keys() == saved.keys()
    for key, scores in saved.items():
        for name, values in vars(scores).items():
            assert np.array_equal(getattr(loaded[key], name), values)


def test_scores_of_other_data_are_refused(tmp_path: Path) -> None:
    evaluation, body = Evaluation(tiny_dataset(True), 100), tiny_monitor("gated").body
    saved = raw_scores(evaluation)
    short = {key: replace(scores, logits=scores.logits[:-1]) for key, scores in saved.items()}
    fewer = dict(list(saved.items())[1:])
    for wrong in (short, fewer):
        save_scores(tmp_path / SCORES_FILE, wrong)
        with pytest.raises(ArtifactError):
            load_scores(tmp_path / SCORES_FILE, body, evaluation, "again")
