"""What a promise is made on has been seen by nothing that was fitted."""

from functools import cache

import numpy as np
import pytest

from snapcli.config import THRESHOLDS, CalibrateOptions, TrainOptions
from snapcli.data import load_dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.judging.conditions import dev_conditions, seen
from snapcli.score.maps import Features


@cache
def evaluation() -> Evaluation:
    return Evaluation(load_dataset(TrainOptions()), 50)


def made(score: np.ndarray) -> Features:
    return Features(score, score, score, score[:, None], np.zeros(len(score), int), 10)


@pytest.mark.parametrize("rule", THRESHOLDS)
def test_only_a_promise_holds_examples_out(rule: str) -> None:
    options = CalibrateOptions(threshold=rule)
    keys = [key for key in evaluation().keys if key.split == "dev"]
    # Every score names its example, so that it can be followed.
    features = {key: made(evaluation().rows(key).astype(float)) for key in keys}
    # All answers are class 0.
    logits = {key: np.eye(10)[np.zeros(len(evaluation().rows(key)), int)] for key in keys}
    fit, held_out = dev_conditions(features, logits, evaluation(), options)
    fitted = {float(v) for c in (fit.clean, *fit.corrupted.values()) for v in c.features.score}
    everything = set(map(float, range(len(evaluation().dataset.dev))))
    clean = np.flatnonzero(seen(evaluation(), options, Key("dev", "clean")))
    assert fit.clean.features.score.tolist() == clean.tolist()
    assert set(fit.corrupted) == {(k.condition, k.severity) for k in keys if k.severity}
    if held_out is None:
        assert not options.promises
        assert fitted == everything
    else:
        assert options.promises
        kept = set(held_out.features.score.tolist())
        assert not kept & fitted
        assert kept | fitted == everything
        labels = evaluation().dataset.dev.y[held_out.features.score.astype(int)]
        np.testing.assert_array_equal(held_out.wrong, labels != 0)
