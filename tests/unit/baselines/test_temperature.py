"""The temperature is the one with the smallest log loss, as scikit-learn counts it."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from snapcli.baselines.max_probability import MaxProbability
from snapcli.baselines.method import LOGITS, Batch, Dev
from snapcli.baselines.temperature import Temperature
from tests.unit.made_evidence import CLASSES, made_dev, made_evidence


@pytest.mark.parametrize("sharpened", [0.4, 1.0, 2.7])
def test_it_makes_clean_dev_data_likely(sharpened: float) -> None:
    dev = made_dev()
    clean = Batch({LOGITS: dev.clean.logits * sharpened}, dev.clean.y)
    method = Temperature()
    method.fit(made_evidence().train, Dev(clean, dev.corrupted))
    assert method.tuning_ is not None
    losses = {
        t: log_loss(clean.y, softmax(clean.logits / t, axis=-1), labels=range(CLASSES))
        for t in method.tuning_.grid["temperature"]
    }
    best = min(losses, key=lambda t: losses[t])
    assert method.tuning_.chosen == {"temperature": best}
    assert method.tuning_.score == pytest.approx(-losses[best])
    p = method.probabilities(clean)
    np.testing.assert_allclose(p, softmax(clean.logits / best, axis=-1))
    np.testing.assert_allclose(method.score(clean), 1 - p.max(axis=-1), atol=1e-14)


def test_what_is_corrupted_has_no_say() -> None:
    dev, method = made_dev(), Temperature()
    method.fit(made_evidence().train, dev)
    alone = Temperature()
    alone.fit(made_evidence().train, Dev(dev.clean, {}))
    assert method.tuning_ == alone.tuning_


def test_answers_stay_those_of_the_network() -> None:
    clean, method = made_evidence().clean, Temperature()
    method.fit(made_evidence().train, made_dev())
    np.testing.assert_array_equal(method.answers(clean), MaxProbability().answers(clean))
