"""What the logits say: temperature, error logit, energy and the paper's doubt m."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from snapcli.array import Array

# Of ln T: far below what the device's tables resolve.
_LOG_TOLERANCE = 1e-6


def fit_temperature(logits: Array, labels: NDArray[np.int64]) -> float:
    """The T in [0.05, 20] that makes labels [n] likely under softmax(logits [n, classes] / T).

    It minimises the NLL of targets smoothed as Platt does, by one imagined error among n + 2
    samples: without it a dev set without errors would ask for T = 0. Only those T are looked at
    by which the NLL of the labels themselves does not rise above that of T = 1: imagined errors
    make no softmax softer than the data do.
    """
    rows = np.arange(len(labels))
    smoothing = 1.0 / (len(labels) + 2)
    smoothed = np.full(logits.shape, smoothing / (logits.shape[1] - 1))
    smoothed[rows, labels] = 1.0 - smoothing

    def log_p(log_temperature: float) -> Array:
        return np.asarray(log_softmax(logits / np.exp(log_temperature), axis=-1))

    def smoothed_nll(log_temperature: float) -> float:
        return -float(np.mean(np.sum(smoothed * log_p(log_temperature), axis=-1)))

    def nll(log_temperature: float) -> float:
        return -float(np.mean(log_p(log_temperature)[rows, labels]))

    bounds = (np.log(0.05), np.log(20.0))
    best = float(minimize_scalar(smoothed_nll, bounds=bounds, method="bounded").x)
    unfitted = nll(0.0)
    if nll(best) <= unfitted:
        return float(np.exp(best))
    # Both losses are convex in 1 / T: the T allowed are an interval around 1, and its end
    # towards the best is the best within.
    allowed, refused = 0.0, best
    while abs(refused - allowed) > _LOG_TOLERANCE:
        middle = (allowed + refused) / 2
        if nll(middle) <= unfitted:
            allowed = middle
        else:
            refused = middle
    return float(np.exp(allowed))


def error_logit(logits: Array, temperature: float) -> Array:
    """ln((1 - max p) / max p) [n], stable where max p rounds to 1; grows with uncertainty."""
    ordered = np.sort(logits, axis=-1) / temperature
    return logsumexp(ordered[:, :-1] - ordered[:, -1:], axis=-1)


def energy(logits: Array, temperature: float) -> Array:
    """-ln(sum of exp(logit / T)) [n]; grows as inputs become foreign."""
    return -np.asarray(logsumexp(logits / temperature, axis=-1))


def doubt(logits: Array, temperature: float, alpha: float) -> Array:
    """m = alpha (1 - max p) + (1 - alpha) (1 - margin), [n] in [0, 1]."""
    p = np.sort(np.exp(log_softmax(logits / temperature, axis=-1)), axis=-1)
    first, second = p[:, -1], p[:, -2]
    return alpha * (1 - first) + (1 - alpha) * (1 - first + second)
