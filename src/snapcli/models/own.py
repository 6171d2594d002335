"""A backbone of the user's own: a function in a module of theirs, or a saved functional model."""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snapcli.errors import ConfigError, UsageError

LOGITS = "logits"
Build = Callable[[tuple[int, int, int], int], Any]


def names_one(name: str) -> bool:
    return ":" in name or name.endswith((".keras", ".h5"))


def builder(name: str) -> Build:
    """A function (input_shape, classes) -> tf_keras model; the module is found as Python would
    find it from the current folder."""
    if name.endswith((".keras", ".h5")):
        if not Path(name).is_file():
            raise UsageError(f"there is no model {name}", "Give the path of a .keras file.")
        return lambda input_shape, classes: _loaded(Path(name))
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        build = getattr(importlib.import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise UsageError(
            f"there is no module {module_name}", "Run snap where Python can import it."
        ) from None
    except (AttributeError, ValueError):
        raise UsageError(
            f"module {module_name} has no '{attribute}'", "Name a function: module:function"
        ) from None
    if not callable(build):
        raise UsageError(f"{name} is no function", "It must take (input_shape, classes).")
    # A model is callable as well, but it is there already.
    return build if not hasattr(build, "layers") else lambda input_shape, classes: build


def _loaded(path: Path) -> Any:
    from tf_keras.models import load_model

    try:
        return load_model(path, compile=False, safe_mode=True)
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{path} cannot be loaded: {reason}", "Give a tf_keras model.") from None


def with_taps(model: Any, tapped: list[str], name: str) -> Any:
    """The model image -> {tapped layer: map, "logits"}, whatever form it was given in."""
    from tf_keras import Model

    outputs = model.output
    if isinstance(outputs, dict) and LOGITS in outputs:
        found = {k: v for k, v in outputs.items() if k in tapped}
        outputs = outputs[LOGITS]
    else:
        found = {}
        if isinstance(outputs, dict | list | tuple):
            raise ConfigError(
                f"{name} has {len(outputs)} outputs",
                f"Give it one, the logits, or a dictionary with the key '{LOGITS}'.",
            )
        outputs = _before_softmax(model)
    layers = {layer.name: layer for layer in model.layers}
    for tap in tapped:
        if tap not in found and tap not in layers:
            raise UsageError(
                f"{name} has no layer '{tap}'",
                f"Its layers: {', '.join(n for n in layers)}.",
            )
        found.setdefault(tap, layers[tap].output if tap in layers else None)
        if len(found[tap].shape) != 4:
            raise UsageError(
                f"layer '{tap}' of {name} gives {tuple(found[tap].shape[1:])}, not a map",
                "Tap a layer with height, width and channels.",
            )
    return Model(model.input, {**found, LOGITS: outputs}, name=model.name)


def _before_softmax(model: Any) -> Any:
    """The logits of a classifier that may end in a softmax."""
    import tf_keras

    last = model.layers[-1]
    if isinstance(last, tf_keras.layers.Softmax):
        return last.input
    if getattr(last, "activation", None) is tf_keras.activations.softmax:
        if isinstance(last, tf_keras.layers.Activation):
            return last.input
        last.activation = tf_keras.activations.linear
        return last(last.input)
    return model.output


def check_built(model: Any, input_shape: tuple[int, int, int], classes: int, name: str) -> None:
    """Raises ConfigError unless the model takes these inputs and gives that many logits."""
    takes = tuple(model.input.shape[1:])
    gives = tuple(model.output[LOGITS].shape[1:])
    if takes != tuple(input_shape) or gives != (classes,):
        raise ConfigError(
            f"{name} takes {takes} and gives {gives}; the data are {tuple(input_shape)} with "
            f"{classes} classes",
            "Build it for the shape and the number of classes that it is given.",
        )
