"""Logistic regression with slopes that are never negative.

scikit-learn and scipy are imported inside the fit: to export or run a fitted map, nobody has to
wait a second for them.
"""

import numpy as np

from snapcli.array import Array, Bools


def regress(columns: list[Array], wrong: Bools, balanced: bool) -> tuple[float, list[float]]:
    """Intercept and slopes, one per column [n].

    balanced: slopes come from the paper's class-balanced fit. The intercept is then set so that
    U has the mean of the true error rate, which makes it a probability again. U must not fall
    when surprise or doubt grows: a column that comes out negative is dropped and the rest is
    fitted again.
    """
    from sklearn.linear_model import LogisticRegression

    slopes = [0.0] * len(columns)
    # A constant column says nothing, and dividing by its deviation would drown the others.
    kept = [k for k, column in enumerate(columns) if np.ptp(column) > 0]
    while kept and 0 < wrong.sum() < len(wrong):
        x = np.stack([columns[k] for k in kept], axis=-1)
        scale = x.std(axis=0) + 1e-12  # so that the light ridge treats all columns alike
        weight = "balanced" if balanced else None
        model = LogisticRegression(C=1e3, max_iter=1000, class_weight=weight)
        fitted = model.fit((x - x.mean(axis=0)) / scale, wrong).coef_[0]
        if np.all(fitted >= 0):
            for k, slope in zip(kept, fitted / scale, strict=True):
                slopes[k] = float(slope)
            break
        kept.remove(kept[int(np.argmin(fitted))])
    linear = np.sum([b * c for b, c in zip(slopes, columns, strict=True)], axis=0)
    return intercept(linear, wrong), slopes


def intercept(linear: Array, wrong: Bools) -> float:
    """b0 such that mean(sigmoid(b0 + linear)) is the error rate."""
    from scipy.optimize import brentq

    rate = np.clip(np.mean(wrong), 1e-4, 1 - 1e-4)
    bound = 20.0 + float(np.abs(linear).max())
    return float(brentq(lambda b0: np.mean(sigmoid(b0 + linear)) - rate, -bound, bound))


def sigmoid(x: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(x))
