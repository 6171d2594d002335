"""What the logits say: temperature, error logit, energy and the paper's doubt m."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

Array = NDArray[np.float64]


def fit_temperature(logits: Array, labels: NDArray[np.int64]) -> float:
    """The T in [0.05, 20] that minimises the NLL of softmax(logits / T).

    Targets are smoothed as Platt does, by one imagined error among n + 2 samples: without it a
    dev set without errors would ask for T = 0.
    """
    smoothing = 1.0 / (len(labels) + 2)
    classes = logits.shape[1]
    targets = np.full(logits.shape, smoothing / (classes - 1))
    targets[np.arange(len(labels)), labels] = 1.0 - smoothing

    def nll(log_temperature: float) -> float:
        scaled = log_softmax(logits / np.exp(log_temperature), axis=-1)
        return -float(np.mean(np.sum(targets * scaled, axis=-1)))

    bounds = (np.log(0.05), np.log(20.0))
    return float(np.exp(minimize_scalar(nll, bounds=bounds, method="bounded").x))


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
