"""The temperature never raises the log loss of dev data, as scikit-learn counts it."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from snapcli.config import CalibrateOptions
from snapcli.methods.logits import MaxProbability, Temperature
from snapcli.methods.method import LOGITS, Batch, Dev
from snapcli.methods.snap import Snap
from tests.unit.made_evidence import CLASSES, made_dev, made_evidence


@pytest.mark.parametrize("sharpened", [0.4, 1.0, 2.7])
def test_it_makes_clean_dev_data_likely(sharpened: float) -> None:
    dev = made_dev()
    clean = Batch({LOGITS: dev.clean.logits * sharpened}, dev.clean.y)
    method = Temperature()
    method.fit(made_evidence().train, Dev(clean, dev.corrupted))
    best = method.temperature_

    def loss(t: float) -> float:
        return log_loss(clean.y, softmax(clean.logits / t, axis=-1), labels=range(CLASSES))

    assert loss(best) <= loss(1.0) < loss(5.0 * best)
    p = method.probabilities(clean)
    np.testing.assert_allclose(p, softmax(clean.logits / best, axis=-1))
    np.testing.assert_allclose(method.score(clean), 1 - p.max(axis=-1), atol=1e-14)


def test_what_is_corrupted_has_no_say() -> None:
    dev, method = made_dev(), Temperature()
    method.fit(made_evidence().train, dev)
    alone = Temperature()
    alone.fit(made_evidence().train, Dev(dev.clean, {}))
    assert method.temperature_ == alone.temperature_


def test_answers_stay_those_of_the_network() -> None:
    clean, method = made_evidence().clean, Temperature()
    method.fit(made_evidence().train, made_dev())
    np.testing.assert_array_equal(method.answers(clean), MaxProbability().answers(clean))


def test_it_is_the_map_of_that_name() -> None:
    clean, method = made_evidence().clean, Temperature()
    snap = Snap("snap-temperature", CalibrateOptions(map="temperature"))
    for each in (method, snap):
        each.fit(made_evidence().train, made_dev())
    np.testing.assert_array_equal(snap.uncertainty(clean), method.uncertainty(clean))
