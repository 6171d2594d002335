"""A finished Keras model or SavedModel: what it takes and answers, and its way to int8."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.errors import ConfigError, UsageError, first_line
from snapcli.models.convert import converted
from snapcli.models.saved_file import read_saved
from snapcli.models.saved_folder import SAVED_MODEL, load_folder
from snapcli.models.tensorflow import quiet, require_tensorflow

_SIGNATURE = "serving_default"
_CONTROL = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase")


@dataclass(frozen=True)
class Finished:
    """input_shape: of one input, without the batch axis. call: float32 tensor [1, *input_shape]
    -> [1, classes], to be traced into a graph."""

    path: Path
    input_shape: tuple[int, ...]
    classes: int
    call: Callable[[Any], Any] = field(repr=False)

    def convert(self, samples: np.ndarray) -> bytes:
        """A .tflite for batch 1 with int8 inputs and outputs; samples float32 [n, *input_shape]
        set the activation ranges."""
        import tensorflow as tf

        try:
            with quiet():
                converter = tf.lite.TFLiteConverter.from_concrete_functions(
                    [self._frozen()], tf.Module()
                )
                return converted(converter, np.asarray(samples, np.float32))
        except ConfigError:
            raise
        except Exception as error:  # the converter's own errors have no common class
            raise ConfigError(
                f"{self.path} cannot be converted to int8: {_reason(error)}",
                "Build it from layers that TFLite computes with int8.",
            ) from None

    def answers(self, x: np.ndarray) -> np.ndarray:
        """The classes [n] of the model itself; x float32 [n, *input_shape]."""
        import tensorflow as tf

        one = tf.function(self.call, autograph=False)
        with quiet():
            classes = [np.argmax(one(tf.constant(sample[None])).numpy()) for sample in x]
        return np.array(classes, np.int64)

    def _frozen(self) -> Any:
        """One inference as a graph whose variables are constants: the variables of Keras 3 are
        not found by the converter."""
        import tensorflow as tf
        from tensorflow.python.framework.convert_to_constants import (
            convert_variables_to_constants_v2,
        )

        one = tf.TensorSpec((1, *self.input_shape), tf.float32)
        traced = tf.function(self.call, autograph=False).get_concrete_function(one)
        frozen = convert_variables_to_constants_v2(traced, lower_control_flow=False)
        nodes = frozen.graph.as_graph_def().node
        if any(node.attr["T"].type == tf.float16.as_datatype_enum for node in nodes):
            raise ConfigError(
                f"{self.path} computes with float16 (mixed precision)",
                "Build it with the policy float32, set its weights and save it again.",
            )
        # The converter dies of them, without an exception.
        if any(node.op in _CONTROL for node in nodes):
            raise ConfigError(
                f"{self.path} has a loop or a branch, as LSTM and GRU have",
                "Build it from layers that compute the same steps for every input.",
            )
        return frozen


def is_keras(path: Path) -> bool:
    return path.suffix in (".keras", ".h5", ".hdf5") or (path / SAVED_MODEL).is_file()


def load_finished(path: Path, allow_code: bool) -> Finished:
    """A .keras or .h5 file of Keras 2 or 3, or the folder of a SavedModel. Code of the model's own
    runs only with allow_code; without it a model that needs some is an error."""
    if not path.exists():
        raise UsageError(f"there is no model {path}", "Give a .keras or .h5 file or a SavedModel.")
    return _from_folder(path, allow_code) if path.is_dir() else _from_file(path, allow_code)


def _from_file(path: Path, allow_code: bool) -> Finished:
    saved = read_saved(path)
    require_tensorflow()
    model = saved.load(allow_code)
    inputs, outputs = getattr(model, "inputs", None), getattr(model, "outputs", None)
    if not inputs or not outputs:
        raise ConfigError(
            f"{path} does not say what the model takes",
            "Begin it with an Input layer, or give it as a SavedModel: model.export('folder').",
        )
    if type(model).__module__.startswith("keras."):
        _keep_names(model)

    def call(x: Any) -> Any:
        import tensorflow as tf

        # Alone, or by its name.
        (answer,) = tf.nest.flatten(model(x, training=False))
        return answer

    return _finished(path, inputs, outputs, call)


def _from_folder(path: Path, allow_code: bool) -> Finished:
    require_tensorflow()
    loaded = load_folder(path, allow_code)
    names = list(loaded.signatures)
    if not names:
        raise ConfigError(
            f"{path} has no signature, so what it computes is not known",
            "Save it with model.export('folder'), or with signatures= of tf.saved_model.save.",
        )
    name = _SIGNATURE if _SIGNATURE in names else names[0]
    inputs: dict[str, Any] = loaded.signatures[name].structured_input_signature[1]
    outputs: dict[str, Any] = loaded.signatures[name].structured_outputs

    def call(x: Any) -> Any:
        # A signature alone would not keep the variables alive.
        (answer,) = loaded.signatures[name](**{next(iter(inputs)): x}).values()
        return answer

    return _finished(path, tuple(inputs.values()), tuple(outputs.values()), call)


def _finished(
    path: Path, inputs: Sequence[Any], outputs: Sequence[Any], call: Callable[[Any], Any]
) -> Finished:
    if len(inputs) != 1:
        raise ConfigError(f"{path} has {len(inputs)} inputs", "Give a model with one.")
    if len(outputs) != 1:
        raise ConfigError(
            f"{path} has {len(outputs)} outputs", "Keep the one that answers with the classes."
        )
    sizes = _sizes(inputs[0], path, "takes")
    shape = tuple(size for size in sizes[1:] if size is not None)
    if not shape or len(shape) < len(sizes) - 1 or sizes[0] not in (None, 1):
        raise ConfigError(
            f"{path} takes {_written(sizes)}",
            "Save it for batches of any size, with every other size of its input known.",
        )
    # A name in Keras 3, an object elsewhere.
    dtype = getattr(inputs[0].dtype, "name", inputs[0].dtype)
    if dtype != "float32":
        raise ConfigError(f"{path} takes {dtype}", "Let it take float32 and cast inside of it.")
    _, *answer = _sizes(outputs[0], path, "answers")
    if len(answer) != 1 or answer[0] is None:
        raise ConfigError(
            f"{path} answers {_written(answer)}", "It must answer with one number for each class."
        )
    if answer[0] < 2:
        raise ConfigError(
            f"{path} has one output number: a regression or a binary classifier cannot be "
            "monitored",
            "Give it two classes.",
        )
    return Finished(path, shape, answer[0], call)


def _sizes(tensor: Any, path: Path, does: str) -> tuple[int | None, ...]:
    """The shape with the batch; None: of any size."""
    rank = getattr(tensor.shape, "rank", 0)
    if rank is None or not len(tensor.shape):
        raise ConfigError(f"{path} {does} tensors of unknown shape", "Save it with known sizes.")
    return tuple(tensor.shape)


def _written(shape: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def _keep_names(model: Any) -> None:
    """Every operation of the graph under the name of its layer: Keras 3 opens a layer's scope
    twice, so that TensorFlow would call a layer a_1, and a layer that is called that a_1_2."""
    for layer in getattr(model, "operations", model.layers):
        if hasattr(layer, "layers"):
            _keep_names(layer)
        else:
            layer.call = _scoped(layer.call, layer.name)


def _scoped(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    def scoped(*args: Any, **kwargs: Any) -> Any:
        import tensorflow as tf

        # With the slash the scope is entered again as it is.
        with tf.name_scope(f"{name}/"):
            return call(*args, **kwargs)

    return scoped


def _reason(error: Exception) -> str:
    """The operation that the converter stumbled over, or its first line."""
    match = re.search(r"'tf\.(\w+)' op|Op type.{0,40}: *'?(\w+)", str(error))
    if match:
        return f"TFLite has no {match[1] or match[2]}"
    return first_line(error)
