"""Step functions: isotonic over a blend of S and m, and percentile over S alone."""

from dataclasses import dataclass

import numpy as np

from snapcli.array import Array, Bools
from snapcli.score.maps.features import Features

MAX_BREAKPOINTS = 32
_ISOTONIC_CLAMP = 1e-4
# Where a percentile steps: finest near 1, where thresholds lie.
PERCENTILES = (
    *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875),
    *(0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985),
    *(0.99, 0.9925, 0.995, 0.9975, 0.999, 0.9995, 1.0),
)
# The device's step of S.
_STEP = 2.0**-16


@dataclass(frozen=True)
class StaircaseMap:
    """U = values[number of breakpoints <= psi], psi = gamma S + (1 - gamma) m."""

    kind: str
    gamma: float
    breakpoints: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        psi = self.gamma * features.score + (1 - self.gamma) * features.doubt
        return np.asarray(self.values)[np.searchsorted(self.breakpoints, psi, side="right")]

    def rank(self, features: Features) -> Array:
        """U itself: what lies on one step is one to this map."""
        return self(features)


def fit_isotonic(features: Features, wrong: Bools) -> StaircaseMap:
    """The paper's isotonic regression; gamma is the one with the best AUROC on dev."""

    def psi(gamma: float) -> Array:
        return gamma * features.score + (1 - gamma) * features.doubt

    # S spans orders of magnitude, m lies in [0, 1]: useful blends sit at small gamma.
    grid = [k / 65536 for k in (0, 8, 32, 128, 512, 2048, 8192, 32768, 65536)]
    gamma = max(grid, key=lambda g: _auroc(wrong, psi(g)))
    steps = _steps(psi(gamma), wrong)
    return StaircaseMap(
        "isotonic", gamma, tuple(b for b, _ in steps[1:]), tuple(v for _, v in steps)
    )


def fit_percentile(features: Features, clean: Bools) -> StaircaseMap:
    """U = the share of clean data with a smaller S, down to the next of PERCENTILES.

    It needs no labels, and is not a probability of error.
    """
    ordered = np.sort(features.score[clean])
    # At least a share p is smaller than S just above the ceil(p n)-th of them.
    last = np.ceil(np.asarray(PERCENTILES) * len(ordered) - 1e-9).astype(int) - 1
    # Of percentiles that few data cannot tell apart, the highest counts.
    highest = dict(zip((ordered[last] + _STEP).tolist(), PERCENTILES, strict=True))
    return StaircaseMap("percentile", 1.0, tuple(highest), (0.0, *highest.values()))


def _auroc(wrong: Bools, score: Array) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(wrong, score)) if 0 < wrong.sum() < len(wrong) else 0.5


def _steps(psi: Array, wrong: Bools) -> list[tuple[float, float]]:
    """Pool-adjacent-violators as (left edge, error rate) steps, at most MAX_BREAKPOINTS + 1.

    Too many steps are thinned by joining the neighbours whose rates differ least, each joint
    step getting its weighted mean, so the result stays monotone.
    """
    from sklearn.isotonic import IsotonicRegression

    order = np.argsort(psi, kind="stable")
    psi, wrong = psi[order], wrong[order]
    fitted = IsotonicRegression().fit(psi, wrong.astype(float)).predict(psi)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(fitted) > 0) + 1])
    sizes = np.diff(np.append(edges, len(psi))).astype(float)
    steps = [[float(psi[e]), float(fitted[e]), float(n)] for e, n in zip(edges, sizes, strict=True)]
    while len(steps) > MAX_BREAKPOINTS + 1:
        k = min(range(len(steps) - 1), key=lambda i: steps[i + 1][1] - steps[i][1])
        (left, a, n), (_, b, m) = steps[k], steps.pop(k + 1)
        steps[k] = [left, (a * n + b * m) / (n + m), n + m]
    clamp = (_ISOTONIC_CLAMP, 1 - _ISOTONIC_CLAMP)
    return [(left, float(np.clip(value, *clamp))) for left, value, _ in steps]
