"""The step is chosen without errors or shifts; the score looks at it alone."""

import numpy as np
from scipy.special import softmax

from snapcli.methods.method import Batch, Dev
from snapcli.methods.trained.g_odin import MAGNITUDES, GOdin


def batch(seed: int, best: int) -> Batch:
    """Of random answers; the mean of the largest h is largest after step number `best`."""
    rng = np.random.default_rng(seed)
    perturbed = rng.uniform(-0.1, 0.1, (50, len(MAGNITUDES)))
    perturbed[:, best] += 0.5
    outputs = {"h": rng.uniform(-1, 1, (50, 3)), "g": rng.uniform(0.1, 1, 50)}
    return Batch({**outputs, "perturbed": perturbed}, rng.integers(0, 3, 50))


def test_the_step_is_that_of_clean_dev_data() -> None:
    method, clean = GOdin(), batch(0, best=3)
    method.fit(clean, Dev(clean, {("noise", 1): batch(1, best=5)}))
    assert method.tuning_ is not None
    assert method.tuning_.chosen == {"magnitude": MAGNITUDES[3]}
    assert method.tuning_.score == clean.outputs["perturbed"][:, 3].mean()
    np.testing.assert_array_equal(method.score(clean), -clean.outputs["perturbed"][:, 3])


def test_the_posterior_is_that_of_the_quotient() -> None:
    some = batch(2, best=0)
    expected = [softmax(h / g) for h, g in zip(some.outputs["h"], some.outputs["g"], strict=True)]
    np.testing.assert_allclose(GOdin().probabilities(some), expected)
