"""Maps from (S, confidence) to U, the probability that the prediction is wrong.

Each is fitted on dev data and is called on Features. The fixed-point twins are in
fixedpoint/maps.py. scipy and scikit-learn are imported where something is fitted: who only
exports or runs a fitted map need not wait a second for them.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MAX_BREAKPOINTS = 32
_ISOTONIC_CLAMP = 1e-4


@dataclass(frozen=True)
class Features:
    """score: S; error_logit: ln((1 - max p) / max p); doubt: m. Each [n]."""

    score: Array
    error_logit: Array
    doubt: Array

    def log_score(self) -> Array:
        return np.log(np.maximum(self.score, 2.0**-16))

    @staticmethod
    def concatenate(parts: "list[Features]") -> "Features":
        return Features(
            np.concatenate([p.score for p in parts]),
            np.concatenate([p.error_logit for p in parts]),
            np.concatenate([p.doubt for p in parts]),
        )


def _regress(columns: list[Array], wrong: NDArray[np.bool_]) -> tuple[float, list[float]]:
    """Intercept and non-negative slopes of a logistic regression.

    Slopes come from the paper's class-balanced fit; the intercept is then set so that U has the
    mean of the true error rate, which makes it a probability again. U must not fall when surprise
    or doubt grows: a column that comes out negative is dropped and the rest is fitted again.
    """
    from sklearn.linear_model import LogisticRegression

    slopes = [0.0] * len(columns)
    # A constant column says nothing, and dividing by its deviation would drown the others.
    kept = [k for k, column in enumerate(columns) if np.ptp(column) > 0]
    while kept and 0 < wrong.sum() < len(wrong):
        x = np.stack([columns[k] for k in kept], axis=-1)
        scale = x.std(axis=0) + 1e-12  # so that the light ridge treats all columns alike
        model = LogisticRegression(C=1e3, max_iter=1000, class_weight="balanced")
        found = model.fit((x - x.mean(axis=0)) / scale, wrong).coef_[0]
        if np.all(found >= 0):
            for k, slope in zip(kept, found / scale, strict=True):
                slopes[k] = float(slope)
            break
        kept.remove(kept[int(np.argmin(found))])
    linear = np.sum([b * c for b, c in zip(slopes, columns, strict=True)], axis=0)
    return _intercept(linear, wrong), slopes


def _intercept(linear: Array, wrong: NDArray[np.bool_]) -> float:
    """b0 such that mean(sigmoid(b0 + linear)) is the error rate."""
    from scipy.optimize import brentq

    rate = np.clip(np.mean(wrong), 1e-4, 1 - 1e-4)
    bound = 20.0 + float(np.abs(linear).max())
    return float(brentq(lambda b0: np.mean(_sigmoid(b0 + linear)) - rate, -bound, bound))


def _sigmoid(x: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(x))


@dataclass(frozen=True)
class GatedMap:
    """U = sigmoid(b0 + b1 max(0, ln S - theta) + b2 error_logit).

    S speaks only above theta, its usual range on clean data; below it confidence alone ranks.
    """

    kind: ClassVar[str] = "gated"
    b0: float
    b1: float
    b2: float
    theta: float

    @classmethod
    def fit(cls, features: Features, wrong: NDArray[np.bool_], clean: NDArray[np.bool_]) -> Self:
        log_score = features.log_score()
        theta = float(np.quantile(log_score[clean], 0.9))
        excess = np.maximum(0.0, log_score - theta)
        b0, (b1, b2) = _regress([excess, features.error_logit], wrong)
        return cls(b0, b1, b2, theta)

    def __call__(self, features: Features) -> Array:
        excess = np.maximum(0.0, features.log_score() - self.theta)
        return _sigmoid(self.b0 + self.b1 * excess + self.b2 * features.error_logit)


@dataclass(frozen=True)
class LogisticMap:
    """The paper's U = sigmoid(b0 + b1 S + b2 m)."""

    kind: ClassVar[str] = "logistic"
    b0: float
    b1: float
    b2: float

    @classmethod
    def fit(cls, features: Features, wrong: NDArray[np.bool_], clean: NDArray[np.bool_]) -> Self:
        b0, (b1, b2) = _regress([features.score, features.doubt], wrong)
        return cls(b0, b1, b2)

    def __call__(self, features: Features) -> Array:
        return _sigmoid(self.b0 + self.b1 * features.score + self.b2 * features.doubt)


@dataclass(frozen=True)
class IsotonicMap:
    """The paper's step function over psi = gamma S + (1 - gamma) m.

    U = values[number of breakpoints <= psi]; gamma is the one with the best AUROC on dev.
    """

    kind: ClassVar[str] = "isotonic"
    gamma: float
    breakpoints: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def fit(cls, features: Features, wrong: NDArray[np.bool_], clean: NDArray[np.bool_]) -> Self:
        def psi(gamma: float) -> Array:
            return gamma * features.score + (1 - gamma) * features.doubt

        # S spans orders of magnitude, m lies in [0, 1]: useful blends sit at small gamma.
        grid = [k / 65536 for k in (0, 8, 32, 128, 512, 2048, 8192, 32768, 65536)]
        gamma = max(grid, key=lambda g: _auroc(wrong, psi(g)))
        steps = _steps(psi(gamma), wrong)
        return cls(gamma, tuple(b for b, _ in steps[1:]), tuple(v for _, v in steps))

    def __call__(self, features: Features) -> Array:
        psi = self.gamma * features.score + (1 - self.gamma) * features.doubt
        return np.asarray(self.values)[np.searchsorted(self.breakpoints, psi, side="right")]


def _auroc(wrong: NDArray[np.bool_], score: Array) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(wrong, score)) if 0 < wrong.sum() < len(wrong) else 0.5


def _steps(psi: Array, wrong: NDArray[np.bool_]) -> list[tuple[float, float]]:
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


Map = GatedMap | LogisticMap | IsotonicMap
MAPS: dict[str, type[GatedMap] | type[LogisticMap] | type[IsotonicMap]] = {
    m.kind: m for m in (GatedMap, LogisticMap, IsotonicMap)
}


def map_to_dict(fitted: Map) -> dict[str, Any]:
    return {"kind": fitted.kind, **asdict(fitted)}
