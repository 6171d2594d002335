"""What heads look at: a block's channels, pooled over height and width."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.config import MEAN, MEAN_DEVIATION
from snapcli.errors import ArtifactError, ConfigError, UsageError
from snapcli.models.own import LOGITS
from snapcli.models.saved_file import load_ours
from snapcli.progress import OnProgress, silent

_BATCH = 512
# Keeps the root's gradient finite where a channel is the same everywhere.
_VARIANCE_LEAST = 1e-8


def pooled(activation: Any, statistics: str = MEAN) -> Any:
    """[n, h, w, c] -> [n, c] means over height and width, or [n, 2c]: means, then standard
    deviations over the positions (TensorFlow)."""
    import tensorflow as tf

    mean = _mean(activation)
    if statistics != MEAN_DEVIATION:
        return mean
    variance = tf.math.reduce_variance(activation, axis=(1, 2))
    return tf.concat([mean, tf.sqrt(variance + _VARIANCE_LEAST)], axis=-1)


def _mean(activation: Any) -> Any:
    """Over height and width. TensorFlow's gradient of a mean divides the whole map once more."""
    import tensorflow as tf

    @tf.custom_gradient
    def mean(a: Any) -> tuple[Any, Any]:
        shape = tf.shape(a)
        positions = tf.cast(shape[1] * shape[2], a.dtype)
        return tf.reduce_mean(a, axis=(1, 2)), lambda g: tf.broadcast_to(
            (g / positions)[:, None, None, :], shape
        )

    return mean(activation)


def pooled_activations(
    model: Any,
    x: np.ndarray,
    blocks: Iterable[str],
    statistics: str = MEAN,
    on_progress: OnProgress = silent,
    flat: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """{block: [n, channels]} of these blocks, and "logits": [n, classes]; x [n, h, w, c].

    With statistics mean-deviation a block has twice as many columns, see pooled(). flat: outputs
    [n, ...] that are taken as they are.
    """
    import tensorflow as tf

    names = list(dict.fromkeys(blocks))
    parts = []
    for start in range(0, len(x), _BATCH):
        outputs = model(tf.constant(x[start : start + _BATCH]), training=False)
        by_block = {name: pooled(outputs[name], statistics).numpy() for name in names}
        parts.append({**by_block, **{name: outputs[name].numpy() for name in ("logits", *flat)}})
        on_progress(min(start + _BATCH, len(x)), len(x), "images scored")
    return {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}


def load_model(path: Path) -> Any:
    """A backbone that train saved: image -> {block: map, "logits"}."""
    try:
        model = load_ours(path)
    except UsageError as error:
        # A run may come from somebody else.
        raise ArtifactError(error.message, error.hint) from None
    except ConfigError as error:
        raise ArtifactError(error.message, "Run: snap train") from None
    if not isinstance(model.output, dict) or LOGITS not in model.output:
        raise ArtifactError(f"{path} is not a model that snap trained", "Run: snap train")
    if not all(np.isfinite(values).all() for values in model.get_weights()):
        raise ArtifactError(f"{path} has weights that are not numbers", "Run: snap train")
    return model
