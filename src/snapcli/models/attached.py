"""The heads of all taps while they are trained, and their loss."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from snapcli.config import MEAN_DEVIATION, TrainOptions
from snapcli.heads.gaussian import Gaussian
from snapcli.heads.head import Head
from snapcli.heads.layer import build_layer
from snapcli.heads.likelihoods import LIKELIHOODS
from snapcli.models.activations import pooled
from snapcli.models.backbone import Tap

# Paper, "SNAP-UQ-specific settings": weights of |log sigma^2| and of the heads' weights in R.
_ALPHA_VARIANCE = 1e-4
_ALPHA_WEIGHTS = 5e-4


class AttachedHeads:
    """layers: one per tap, in the taps' order."""

    def __init__(
        self, taps: tuple[Tap, ...], model: Any, classes: int, options: TrainOptions
    ) -> None:
        """model: image -> {block: map, "logits"}; only its shapes are looked at."""
        self.taps, self.statistics = taps, options.statistics
        columns = 2 if options.statistics == MEAN_DEVIATION else 1
        widths = {name: columns * out.shape[-1] for name, out in model.output.items()}
        # minimal is a Gaussian at another place.
        training = LIKELIHOODS.get(options.head, Gaussian).training(options)
        self.layers = [
            build_layer(
                widths[t.before],
                widths[t.after],
                min(t.rank, widths[t.before], widths[t.after]),
                f"head_{t.after}",
                training(widths[t.after], f"head_{t.after}"),
                classes=classes if options.class_mean else 0,
            )
            for t in taps
        ]

    @property
    def blocks(self) -> list[str]:
        """The blocks on both sides of every tap."""
        return [name for tap in self.taps for name in (tap.before, tap.after)]

    @property
    def learned(self) -> list[Any]:
        """Variables with a gradient; one that taps share comes once."""
        return _once(v for layer in self.layers for v in layer.learned)

    @property
    def variables(self) -> list[Any]:
        """All that the heads are made of, running statistics included."""
        parts = (v for h in self.layers for v in (*h.variables, *h.likelihood.variables))
        return _once(parts)

    def activations(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Maps of the tapped blocks -> what the heads take."""
        by_block = {name: pooled(outputs[name], self.statistics) for name in self.blocks}
        return {**by_block, "logits": outputs["logits"]}

    def loss(
        self,
        activations: Mapping[str, Any],
        stop: bool = False,
        training: bool = False,
        weights: Any = None,
    ) -> tuple[Any, Any]:
        """(L_ss, R) of pooled activations; stop keeps gradients out of the backbone; weights
        [taps]: of the taps in L_ss, all 1 if not given."""
        import tensorflow as tf

        loss, penalty = tf.constant(0.0), tf.constant(0.0)
        for i, (tap, head) in enumerate(zip(self.taps, self.layers, strict=True)):
            pair = (activations[tap.before], activations[tap.after])
            if stop:
                pair = (tf.stop_gradient(pair[0]), tf.stop_gradient(pair[1]))
            predicted = tf.argmax(activations["logits"], axis=-1)
            prediction = head(*pair, predicted, training=training)
            nll = head.likelihood.nll(prediction)
            loss += nll if weights is None else weights[i] * nll
            penalty += _ALPHA_VARIANCE * tf.reduce_mean(tf.abs(tf.math.log(prediction.variance)))
            for kernel in (head.mean.kernel, head.xi.kernel):
                penalty += _ALPHA_WEIGHTS * tf.reduce_sum(kernel**2)
        return loss, penalty

    def simulate(self, activations: Mapping[str, np.ndarray]) -> None:
        """From now on the heads compute with the integers' steps; activations: of clean training
        data, which set the ranges as they do at the export."""
        for tap, head in zip(self.taps, self.layers, strict=True):
            head.simulate(activations[tap.before])

    def fitted(self) -> list[Head]:
        pairs = zip(self.taps, self.layers, strict=True)
        return [head.fitted(tap.before, tap.after) for tap, head in pairs]


def _once(variables: Any) -> list[Any]:
    return list({id(v): v for v in variables}.values())
