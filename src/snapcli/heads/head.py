"""A fitted head: what it predicts of the pooled activation after a block from the one before.

Worked example, one channel before and after, already standardized, Gaussian:
before = 0.5, projector = 1, mean weight = 2 -> mean = 1.0; xi = 0 -> sigma^2 = ln 2;
after = 1.5 -> e = 0.25 / ln 2 = 0.36.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.heads.gaussian import Gaussian
from snapcli.heads.huber import Huber
from snapcli.heads.lowrank import LowRank
from snapcli.heads.mixture import Mixture
from snapcli.heads.prediction import Array, Likelihood, Prediction, variance
from snapcli.heads.student_t import StudentT

Classes = NDArray[np.integer] | None
LIKELIHOODS: dict[str, Any] = {c.kind: c for c in (Gaussian, StudentT, Huber, LowRank, Mixture)}


@dataclass(frozen=True, eq=False)
class Head:
    """C channels before, d after, rank r, K components (1 but for a mixture).

    before_mean, before_deviation: [C]; after_mean, after_deviation: [d]; projector: [r, C];
    mean_weights, xi_weights: [K d, r]; mean_bias, xi_bias: [K d]. class_mean: [classes, d], added
    to the mean of the predicted class; no rows if the mean does not depend on it.
    """

    before: str
    after: str
    before_mean: Array
    before_deviation: Array
    after_mean: Array
    after_deviation: Array
    projector: Array
    mean_weights: Array
    mean_bias: Array
    xi_weights: Array
    xi_bias: Array
    class_mean: Array
    likelihood: Likelihood

    def latent(self, before: Array) -> Array:
        """[n, C] pooled activations -> [n, r]."""
        return (before - self.before_mean) / self.before_deviation @ self.projector.T

    def xi(self, before: Array) -> Array:
        """[n, C] -> [n, K d], the raw scale output."""
        return self.latent(before) @ self.xi_weights.T + self.xi_bias

    def predict(self, before: Array, after: Array, predicted: Classes = None) -> Prediction:
        """before [n, C], after [n, d], predicted [n]: classes, for a mean that depends on them."""
        mean = self.latent(before) @ self.mean_weights.T + self.mean_bias
        actual = (after - self.after_mean) / self.after_deviation
        if len(self.class_mean):
            actual = actual - self.class_mean[predicted]
        sigma2 = variance(self.xi(before))
        if self.likelihood.components > 1:
            shape = (len(actual), self.likelihood.components, -1)
            mean, sigma2, actual = mean.reshape(shape), sigma2.reshape(shape), actual[:, None]
        return Prediction(actual - mean, sigma2, self.latent(before))

    def surprisal(self, before: Array, after: Array, predicted: Classes = None) -> Array:
        """e [n] >= 0: how unlikely the activation after the block is."""
        return self.likelihood.energy(self.predict(before, after, predicted))


def tapped_blocks(heads: list[Head]) -> list[str]:
    """The blocks on both sides of every tap."""
    return [name for head in heads for name in (head.before, head.after)]


def surprisals(heads: list[Head], found: dict[str, np.ndarray]) -> Array:
    """[n, taps] of pooled activations {block: [n, channels]} and "logits"."""
    predicted = found["logits"].argmax(axis=-1)
    return np.stack(
        [h.surprisal(found[h.before], found[h.after], predicted) for h in heads], axis=-1
    )


def save_heads(heads: list[Head], path: Path) -> None:
    """<i>.<field>; of the likelihood its kind, and <i>.likelihood.<field>."""
    arrays: dict[str, NDArray[Any]] = {}
    for i, head in enumerate(heads):
        for field in fields(head):
            value = getattr(head, field.name)
            name = f"{i}.{field.name}"
            if field.name == "likelihood":
                arrays[name] = np.asarray(value.kind)
                arrays |= {
                    f"{name}.{f.name}": np.asarray(getattr(value, f.name)) for f in fields(value)
                }
            else:
                arrays[name] = np.asarray(value)
    np.savez(path, **arrays)  # type: ignore[arg-type]


def load_heads(path: Path) -> list[Head]:
    names = [field.name for field in fields(Head) if field.name != "likelihood"]
    with np.load(path) as saved:
        count = sum(name.endswith(".before") for name in saved.files)
        return [
            Head(
                **{name: _plain(saved[f"{i}.{name}"]) for name in names},
                likelihood=_load_likelihood(saved, f"{i}.likelihood"),
            )
            for i in range(count)
        ]


def _load_likelihood(saved: Any, name: str) -> Likelihood:
    kind = LIKELIHOODS[str(saved[name])]
    likelihood: Likelihood = kind(
        **{f.name: _plain(saved[f"{name}.{f.name}"]) for f in fields(kind)}
    )
    return likelihood


def _plain(array: NDArray[Any]) -> Any:
    return array if array.ndim else array.item()
