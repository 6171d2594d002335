"""The evidential loss, against scipy's Dirichlet."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import dirichlet

from snapcli.methods.trained.evidential import evidential_loss
from snapcli.models.tensorflow import require_tensorflow

from ....conftest import need

WEIGHT = 0.3


def expected(y: int, alpha: np.ndarray) -> float:
    """E |y - p|^2 of p ~ Dir(alpha), and the divergence of Dir(alpha, 1 at y) from Dir(1)."""
    classes = len(alpha)
    wanted = np.eye(classes)[y]
    error = np.sum((wanted - dirichlet.mean(alpha)) ** 2 + dirichlet.var(alpha))
    wrong = np.where(wanted == 1, 1.0, alpha)
    # Dir(1) has the density (classes - 1)! everywhere.
    return float(error + WEIGHT * (-dirichlet.entropy(wrong) - gammaln(classes)))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_expected_error_and_the_divergence(seed: int) -> None:
    need(tensorflow=True)
    require_tensorflow()
    rng = np.random.default_rng(seed)
    logits, y = rng.normal(0, 4, (8, 5)).astype(np.float32), rng.integers(0, 5, 8)
    found = evidential_loss(np.eye(5, dtype=np.float32)[y], logits, WEIGHT).numpy()
    alphas = np.logaddexp(0, logits.astype(np.float64)) + 1
    np.testing.assert_allclose(
        found, [expected(k, alpha) for k, alpha in zip(y, alphas, strict=True)], rtol=1e-4
    )
