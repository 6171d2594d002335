"""What ablations ask of a judge: one figure, its gain, and maps that do not blend."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from snapcli.config import CalibrateOptions
from snapcli.data.evaluation import Key
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.evidence import Evidence
from snapcli.judging.judge import Judge, gain
from snapcli.methods.logits import MaxProbability
from snapcli.methods.method import LOGITS, SURPRISAL, Batch
from snapcli.methods.snap import Snap, Unblended

GATED = CalibrateOptions(map="gated")
KEYS = [Key(s, c, k) for s in ("dev", "test") for c, k in (("clean", 0), ("blur", 3), ("fog", 3))]


def batch(rng: np.random.Generator, shift: float) -> Batch:
    """Errors, doubt and surprise grow with the shift."""
    y = rng.integers(0, 4, 80)
    logits = rng.normal(0.0, 1.0 + shift, (80, 4))
    logits[np.arange(80), y] += 2.0
    surprisal = rng.gamma(2.0, 0.5 + shift, (80, 2))
    return Batch({LOGITS: logits, SURPRISAL: surprisal}, y)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    rng = np.random.default_rng(3)
    conditions = {key: batch(rng, 0.0 if key.condition == "clean" else 1.0) for key in KEYS}
    rows = {key: np.arange(80) for key in KEYS}
    return Evidence(conditions[KEYS[0]], conditions, rows, (), ())


def test_the_pooled_figure_alone_is_one_of_all(evidence: Evidence) -> None:
    judge, fitted = Judge(evidence, 40), CrossFitted(MaxProbability(), evidence)
    alone = judge.pooled_auroc(fitted)
    figures, samples = judge.figures(fitted, "single-pass", None)
    assert figures.errors is not None
    assert alone.interval == figures.errors.pooled.auroc
    halves = []
    for name in ("blur", "fog"):
        tests = [
            evidence.conditions[Key("test", "clean")],
            evidence.conditions[Key("test", name, 3)],
        ]
        wrong = np.concatenate([b.logits.argmax(axis=-1) != b.y for b in tests])
        score = np.concatenate([fitted.whole.score(b) for b in tests])
        halves.append(roc_auc_score(wrong, score))
    assert alone.point == pytest.approx(np.mean(halves))
    other = judge.pooled_auroc(CrossFitted(Snap("s", GATED), evidence))
    more = gain(other, alone)
    assert more.value == pytest.approx(other.point - alone.point)
    assert more.low <= more.value <= more.high
    again = judge.figures(CrossFitted(Snap("s", GATED), evidence), "", samples)[0]
    assert again.gains["errors.pooled.auroc"] == more
    less = gain(other, alone, sign=-1.0)
    assert (less.value, less.low) == pytest.approx((-more.value, -more.high))


@pytest.mark.parametrize("kind", ["logistic", "gated", "gated-taps", "isotonic"])
def test_an_unblended_map_does_not_hear_the_softmax(evidence: Evidence, kind: str) -> None:
    both, alone = (
        CrossFitted(m("u", CalibrateOptions(map=kind)), evidence).whole for m in (Snap, Unblended)
    )
    some = evidence.conditions[Key("test", "fog", 3)]
    surer = Batch({**some.outputs, LOGITS: 3.0 * some.logits}, some.y)
    np.testing.assert_array_equal(alone.score(some), alone.score(surer))
    assert not np.array_equal(both.score(some), both.score(surer))
    assert np.ptp(alone.score(some)) > 0
