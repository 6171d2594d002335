"""A Gaussian head fitted to pooled activations of a finished model: numpy and scipy, no TensorFlow.

Loss and parameters are those of a trained head (layer.py). Reduced-rank regression gives a start
in closed form, L-BFGS goes on from there. Three things keep a small set from being learned by
heart: a ridge (so much stronger than the penalties in training that it stands for them, too),
a share of the examples that only says when to stop, and the variance, on which that share has
the last word.
"""

import numpy as np
from scipy.linalg import eigh, solve
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from snapcli.array import Array, Bools
from snapcli.heads.gaussian import Gaussian
from snapcli.heads.head import Head
from snapcli.heads.likelihood import VARIANCE_RANGE
from snapcli.heads.loss import Loss, Weights, energies, nll

# Keeps channels that hardly ever fire from being standardized by next to nothing: a share of the
# tensor's usual variance, for pooled activations come in any scale.
_QUIET = 1e-3
# A channel's least deviation against its mean, whose ratio the device holds as int32 in Q16.
_STILL = 1e-4
# Of the start: in examples, each of them a pull towards no weight at all.
_START_RIDGES = (5.0, 50.0, 500.0)
# Of the fit: in examples for every channel before, which is a weight more to fit.
_RIDGE = 3.0
# Held out: a fifth of the examples, of a larger set a tenth, but these at least.
_HELD_OUT = 100
# Large sets are settled by then, small ones have long turned worse.
_STEPS, _PATIENCE = 60, 20
# Nats per channel that make a step worth its time.
_GAIN = 3e-4
# Examples that a channel needs to be held out for its own word on its variance to count half.
_OWN_WORD = 100


def fit_head(before: str, after: str, x: Array, y: Array, rank: int, seed: int) -> Head:
    """x [n, C], y [n, d]: pooled activations before and after, n >= 10; rank is cut to C and to
    the channels after that change at all. With rank 0 mean and scale are the same for every x.

    The same seed gives the same head; it draws the examples that are held out.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    before_mean, before_deviation = _statistics(x)
    after_mean, after_deviation = _statistics(y)
    live = np.ptp(y, axis=0) > 0
    weights = _spread(
        (x - before_mean) / before_deviation,
        ((y - after_mean) / after_deviation)[:, live],
        live,
        min(rank, x.shape[1], int(live.sum())),
        seed,
    )
    return Head(
        before=before,
        after=after,
        before_mean=before_mean,
        before_deviation=before_deviation,
        after_mean=after_mean,
        after_deviation=after_deviation,
        projector=weights.projector,
        mean_weights=weights.mean,
        mean_bias=weights.mean_bias,
        xi_weights=weights.xi,
        xi_bias=weights.xi_bias,
        class_mean=np.zeros((0, y.shape[1])),
        likelihood=Gaussian(),
    )


def _statistics(a: Array) -> tuple[Array, Array]:
    """(mean, deviation) [channels]."""
    mean, variances = a.mean(axis=0), a.var(axis=0)
    changing = variances[np.ptp(a, axis=0) > 0]
    usual = float(np.median(changing)) if len(changing) else 1.0 / _QUIET
    return mean, np.maximum(np.sqrt(variances + _QUIET * usual), _STILL * np.abs(mean))


def _spread(x: Array, y: Array, live: Bools, rank: int, seed: int) -> Weights:
    """The weights of all channels; those that never change are predicted to stay, sigma = 1."""
    weights = _nothing(max(rank, 1), x.shape[1], len(live))
    if live.any():
        # Such small matrices are no work for two threads: they would wait for each other.
        with threadpool_limits(1, "blas"):
            projector, *rows = _fitted(x, y, rank, seed)
        weights.projector[:] = projector
        for part, own in zip(weights[1:], rows, strict=True):
            part[live] = own
    return weights


def _nothing(rank: int, channels_before: int, d: int) -> Weights:
    """Mean 0 and sigma 1, whatever the input."""
    return Weights(
        projector=np.zeros((rank, channels_before)),
        mean=np.zeros((d, rank)),
        mean_bias=np.zeros(d),
        xi=np.zeros((d, rank)),
        xi_bias=_xi(np.ones(d)),
    )


def _fitted(x: Array, y: Array, rank: int, seed: int) -> Weights:
    order = np.random.default_rng(seed).permutation(len(x))
    held, seen = np.split(order, [min(len(x) // 5, max(len(x) // 10, _HELD_OUT))])
    if not rank:
        return _calibrated(_nothing(1, x.shape[1], y.shape[1]), x[held], y[held])
    starts = [_start(x[seen], y[seen], rank, ridge) for ridge in _START_RIDGES]
    start = min(starts, key=lambda weights: nll(weights, x[held], y[held]))
    # Where there is nothing to predict, nothing is predicted.
    best = _nothing(rank, x.shape[1], y.shape[1])
    lowest, best_step, step = nll(best, x[held], y[held]), 0, -1

    def look(flat: Array) -> None:
        nonlocal best, lowest, best_step, step
        step += 1
        end = start.shaped(flat.copy())
        value = nll(end, x[held], y[held])
        if value < lowest - _GAIN:
            best, lowest, best_step = end, value, step
        elif step - best_step >= _PATIENCE:
            raise StopIteration

    # The mean is pulled to nothing, a variance to one that is the same for all examples.
    centre = start._replace(mean=np.zeros_like(start.mean))
    loss = Loss(x[seen], y[seen], _RIDGE * x.shape[1], centre)
    look(start.flat())
    options = {"maxiter": _STEPS}
    minimize(loss, start.flat(), jac=True, method="L-BFGS-B", callback=look, options=options)
    return _calibrated(best, x[held], y[held])


def _start(x: Array, y: Array, rank: int, ridge: float) -> Weights:
    """Reduced-rank ridge regression; the latent has a deviation of 1, variances are constant."""
    slopes = solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y, assume_a="pos")
    predicted = x @ slopes
    # Channels count by how well they are known, as they do in the likelihood.
    sigma = np.sqrt(_residual_variance(y - predicted))
    directions = eigh((predicted / sigma).T @ (predicted / sigma))[1][:, ::-1][:, :rank]
    projector, mean = (slopes / sigma @ directions).T, sigma[:, None] * directions
    spread = (x @ projector.T).std(axis=0)
    spread = np.maximum(spread, 1e-3 * spread.max())
    spread[spread == 0] = 1.0
    projector, mean = projector / spread[:, None], mean * spread
    d = y.shape[1]
    residual = y - x @ projector.T @ mean.T
    xi_bias = _xi(_residual_variance(residual))
    return Weights(projector, mean, np.zeros(d), np.zeros((d, rank)), xi_bias)


def _residual_variance(residual: Array) -> Array:
    """[d], as if one more example had been off by one deviation: it is never nothing."""
    return (np.sum(residual**2, axis=0) + 1) / (len(residual) + 1)


def _calibrated(weights: Weights, x: Array, y: Array) -> Weights:
    """Variances as wide as the residuals of examples that the weights were not fitted to.

    -ln p is lowest where a variance is multiplied by the mean of its squared residuals over it. Of
    few examples that is noise for one channel, which therefore leans on the median of all.
    """
    energy, _ = energies(weights, x, y)
    usual = np.median(energy.mean(axis=0))
    factor = (energy.sum(axis=0) + _OWN_WORD * usual) / (len(energy) + _OWN_WORD)
    return weights._replace(xi_bias=_xi(factor * np.logaddexp(0.0, weights.xi_bias)))


def _xi(variance: Array) -> Array:
    """The bias that gives this variance: softplus(xi) = variance."""
    return np.log(np.expm1(np.clip(variance, VARIANCE_RANGE[0], 50.0)))
