"""A backbone with int8 simulated while it is trained (tensorflow-model-optimization).

The simulation starts from the ranges that the export takes, least and most of every tensor over
clean training data. What is saved is the plain model with the rounded weights: it has no wrappers,
the export finds these ranges and these int8 weights again, and the float model differs from the
device by the rounding of activations alone.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.assets import install_command
from snapcli.errors import ConfigError, ToolchainError, first_line
from snapcli.models.tensorflow import quiet

# Training examples that set the ranges; as many as the export takes if nobody says otherwise.
SAMPLES = 500
_BATCH = 32


class SimulatedBackbone:
    """The same network, image -> {block: map, "logits"}, with variables of its own.

    Batch normalization stands still in it, as it will on the device; weights and ranges move.
    """

    def __init__(self, model: Any, samples: np.ndarray, name: str) -> None:
        """model: the plain backbone; samples [n, h, w, c]; name: for messages."""
        from tf_keras import Model, layers

        self._plain = model
        names = list(model.output)
        wrapped = _wrapped(Model(model.input, [model.output[n] for n in names]), name)
        self.model = Model(wrapped.input, dict(zip(names, wrapped.outputs, strict=True)))
        for wrapper in self.model.layers:
            inner = getattr(wrapper, "layer", None)
            if isinstance(inner, layers.BatchNormalization):
                inner.trainable = False
        own = {v.name: v for v in self.model.variables}
        try:
            self._pairs = [(v, own[v.name]) for v in model.variables]
            self._ranges = {v.name: own.get(_range_of(v.name)) for v in model.variables}
            self._set_ranges(samples, own)
        except KeyError as error:
            raise _refused(name, f"it changes {error}") from None
        self.receive()

    def twins(self, variables: list[Any]) -> list[Any]:
        """The variables here that stand for these of the plain backbone."""
        twin = {id(plain): own for plain, own in self._pairs}
        return [twin[id(v)] for v in variables]

    def receive(self) -> None:
        """Weights from the plain backbone."""
        for plain, own in self._pairs:
            own.assign(plain)

    def give(self) -> None:
        """Weights to the plain backbone, rounded as the device has them."""
        for plain, own in self._pairs:
            ends = self._ranges[plain.name]
            plain.assign(own if ends is None else _on_grid(own.numpy(), len(ends.shape) > 0))

    def _set_ranges(self, samples: np.ndarray, own: dict[str, Any]) -> None:
        ranges = dict(_ranges(self._plain, samples))
        for name, variable in own.items():
            # quant_<layer>/output_min:0, quant_<layer>/post_activation_max:0, and for the input
            # quantize_layer/quantize_layer_min:0; a kernel's range follows the kernel by itself.
            layer, _, part = name.removesuffix(":0").rpartition("/")
            end = {"min": 0, "max": 1}.get(part.rpartition("_")[2])
            if end is None or "kernel" in part:
                continue
            if layer.startswith("quantize_layer"):
                variable.assign((samples.min(), samples.max())[end])
            else:
                variable.assign(ranges[layer.removeprefix("quant_")][end])


def _range_of(name: str) -> str:
    """a/kernel:0 -> the variable with the lower end of its range."""
    layer, _, weight = name.removesuffix(":0").rpartition("/")
    return f"quant_{layer}/{weight}_min:0"


def _on_grid(kernel: NDArray[np.float32], per_channel: bool) -> NDArray[np.float32]:
    """In int8 steps, symmetric; a scale for each of the last axis, or one for all."""
    axes = tuple(range(kernel.ndim - 1)) if per_channel else None
    scale = np.maximum(np.abs(kernel).max(axis=axes, keepdims=True) / np.float32(127), 1e-12)
    return np.rint(kernel / scale) * scale


def _wrapped(model: Any, name: str) -> Any:
    try:
        with quiet():
            from tensorflow_model_optimization.quantization.keras import (
                quantize_annotate_model,
                quantize_apply,
            )

            return quantize_apply(quantize_annotate_model(model))
    except ImportError as error:
        raise ToolchainError(
            f"--qat needs tensorflow-model-optimization ({error.name or error})",
            f"Install the extra [train]: {install_command('[train]')}",
        ) from None
    # The library has no error of its own for a layer without a rule: any of these may come of one.
    except (ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError) as error:
        raise _refused(name, first_line(error)) from None


def _refused(name: str, reason: str) -> ConfigError:
    return ConfigError(
        f"int8 cannot be simulated in {name}: {reason}",
        "tensorflow-model-optimization has no rule for it. Leave --qat out.",
    )


def _ranges(model: Any, samples: np.ndarray) -> Iterator[tuple[str, tuple[float, float]]]:
    """(layer, (least, most)) of what every layer gives, over all samples."""
    import tensorflow as tf
    from tf_keras import Model

    names = [layer.name for layer in model.layers]
    every = Model(model.input, [layer.output for layer in model.layers])
    ends = np.array(
        [
            [(float(tf.reduce_min(o)), float(tf.reduce_max(o))) for o in every(batch)]
            for batch in np.array_split(samples, -(-len(samples) // _BATCH))
        ]
    )
    for name, low, high in zip(names, ends[..., 0].min(0), ends[..., 1].max(0), strict=True):
        yield name, (float(low), float(high))
