"""What a trained network shows of inputs, under the names that methods know."""

from collections.abc import Callable
from typing import Any

import numpy as np

from snapcli.array import Array
from snapcli.data.dataset import Inputs
from snapcli.methods.trained import g_odin, mc_dropout
from snapcli.methods.trained.replay import LOGITS

Outputs = dict[str, Array]
Observe = Callable[[Inputs], Outputs]
MEMBERS_OUTPUT = "members"
_BATCH = 256


def members(model: Any) -> Observe:
    """{"members": [n, members, classes]} of "logits_0", "logits_1", ..."""
    import tensorflow as tf

    names = sorted(model.output)

    def look(x: Any) -> dict[str, Any]:
        outputs = model(x, training=False)
        return {MEMBERS_OUTPUT: tf.stack([outputs[name] for name in names], axis=1)}

    return _batched(model, look)


def logits(model: Any) -> Observe:
    """{"logits": [n, classes]}"""
    return _batched(model, lambda x: {LOGITS: model(x, training=False)[LOGITS]})


def passes(model: Any) -> Observe:
    """{"members": [n, passes, classes]}; the same for the same inputs."""
    import tensorflow as tf

    def look(x: Any) -> dict[str, Any]:
        logits = [model(x, training=False)[LOGITS] for _ in range(mc_dropout.PASSES)]
        return {MEMBERS_OUTPUT: tf.stack(logits, axis=1)}

    observe = _batched(model, look)

    def restarted(x: Inputs) -> Outputs:
        mc_dropout.restart(model)
        return observe(x)

    return restarted


def perturbed(model: Any) -> Observe:
    """See g_odin.observed."""
    return _batched(model, lambda x: g_odin.observed(model, x))


def _batched(model: Any, look: Callable[[Any], dict[str, Any]]) -> Observe:
    import tensorflow as tf

    shape = (None, *model.input.shape[1:])
    compiled = tf.function(look, input_signature=[tf.TensorSpec(shape, tf.float32)])

    def observe(x: Inputs) -> Outputs:
        starts = range(0, len(x), _BATCH)
        parts = [compiled(tf.constant(x[start : start + _BATCH])) for start in starts]
        return {
            name: np.concatenate([part[name].numpy() for part in parts]).astype(np.float64)
            for name in parts[0]
        }

    return observe
