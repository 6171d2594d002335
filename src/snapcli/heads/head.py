"""A fitted head: what it predicts of the pooled activation after a block from the one before.

Worked example, one channel before and after, already standardized, Gaussian:
before = 0.5, projector = 1, mean weight = 2 -> mean = 1.0; xi = 0 -> sigma^2 = ln 2;
after = 1.5 -> e = 0.25 / ln 2 = 0.36.
"""

from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import MAX_TAPS
from snapcli.heads.likelihood import Likelihood, Prediction, variance
from snapcli.heads.likelihoods import LIKELIHOODS
from snapcli.stored import Arrays, check_values, stored_arrays

Classes = NDArray[np.integer] | None
# What a trained head stays far within, and integers can hold.
_SIZE_MOST, _RATIO_MOST, _DEVIATION_LEAST = 1e6, 2.0**14, 1e-6


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


def surprisals(heads: list[Head], activations: dict[str, np.ndarray]) -> Array:
    """[n, taps] of pooled activations {block: [n, channels]} and "logits"."""
    predicted = activations["logits"].argmax(axis=-1)
    return np.stack(
        [h.surprisal(activations[h.before], activations[h.after], predicted) for h in heads],
        axis=-1,
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
    """What save_heads left; raises ArtifactError for what does not fit together."""
    with stored_arrays(path, "Run: snap train") as saved:
        taps = next(i for i in count() if f"{i}.before" not in saved)
        if not 1 <= taps <= MAX_TAPS:
            raise ValueError(f"it holds {taps} heads")
        return [_load_head(saved, str(i)) for i in range(taps)]


def _load_head(saved: Arrays, name: str) -> Head:
    def real(part: str, *shape: int | None, low: float = -_SIZE_MOST) -> Array:
        return saved.array(f"{name}.{part}", np.float64, shape, low, _SIZE_MOST)

    projector, after_mean = real("projector", None, None), real("after_mean", None)
    (rank, before), after = projector.shape, len(after_mean)
    if not (rank and before and after):
        raise ValueError(f"head {name} has no size")
    kind = LIKELIHOODS[saved.word(f"{name}.likelihood", *LIKELIHOODS)]
    likelihood = kind.load(saved, f"{name}.likelihood", after, rank)
    rows = likelihood.components * after
    head = Head(
        before=saved.word(f"{name}.before"),
        after=saved.word(f"{name}.after"),
        before_mean=real("before_mean", before),
        before_deviation=real("before_deviation", before, low=_DEVIATION_LEAST),
        after_mean=after_mean,
        after_deviation=real("after_deviation", after, low=_DEVIATION_LEAST),
        projector=projector,
        mean_weights=real("mean_weights", rows, rank),
        mean_bias=real("mean_bias", rows),
        xi_weights=real("xi_weights", rows, rank),
        xi_bias=real("xi_bias", rows),
        class_mean=real("class_mean", None, after),
        likelihood=likelihood,
    )
    for mean, deviation in (
        (head.before_mean, head.before_deviation),
        (after_mean, head.after_deviation),
    ):
        check_values(f"head {name}: mean / deviation", mean / deviation, -_RATIO_MOST, _RATIO_MOST)
    return head
