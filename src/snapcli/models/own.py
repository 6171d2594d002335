"""A backbone of the user's own: a function in a module of theirs, or a saved functional model."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from snapcli.errors import ConfigError, UsageError
from snapcli.models.saved_file import load_ours
from snapcli.models.tensorflow import require_tensorflow
from snapcli.usercode import called, user_function

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
        return lambda input_shape, classes: load_ours(Path(name))
    # Before the module imports it, TensorFlow is told to be quiet.
    require_tensorflow()
    build = user_function(name)
    # A model is callable as well, but it is there already.
    return build if not hasattr(build, "layers") else lambda input_shape, classes: build


def check_order(before: str, after: str, layers: Sequence[str], name: str) -> None:
    """A tap predicts the later layer from the earlier one."""
    if layers.index(before) >= layers.index(after):
        raise UsageError(
            f"in {name} '{before}' does not come before '{after}'", f"Write {after}:{before}."
        )


def built(build: Build, input_shape: tuple[int, int, int], classes: int, name: str) -> Any:
    """What the user's function makes of these; whatever goes wrong in it is theirs to fix."""
    model = called(
        build,
        name,
        input_shape,
        classes,
        hint="It must take (input_shape, classes) and return a tf_keras functional model.",
    )
    if not (hasattr(model, "layers") and hasattr(model, "output")):
        raise ConfigError(
            f"{name} returned {type(model).__name__}", "It must return a tf_keras functional model."
        )
    return model


def with_taps(model: Any, taps: Sequence[tuple[str, str]], name: str) -> Any:
    """The model image -> {tapped layer: map, "logits"}, whatever form it was given in; taps:
    (before, after) of each."""
    from tf_keras import Model

    tapped = list(dict.fromkeys(layer for pair in taps for layer in pair))
    outputs = model.output
    if isinstance(outputs, dict) and LOGITS in outputs:
        blocks = {k: v for k, v in outputs.items() if k in tapped}
        outputs = outputs[LOGITS]
    else:
        blocks = {}
        if isinstance(outputs, dict | list | tuple):
            raise ConfigError(
                f"{name} has {len(outputs)} outputs",
                f"Give it one, the logits, or a dictionary with the key '{LOGITS}'.",
            )
        outputs = _before_softmax(model)
    known = {layer.name: layer for layer in model.layers}
    for tap in tapped:
        if tap not in blocks and tap not in known:
            raise UsageError(f"{name} has no layer '{tap}'", f"Its layers: {', '.join(known)}.")
        if tap not in blocks:
            blocks[tap] = known[tap].output
        if len(blocks[tap].shape) != 4:
            raise UsageError(
                f"layer '{tap}' of {name} gives {tuple(blocks[tap].shape[1:])}, not a map",
                "Tap a layer with height, width and channels.",
            )
    depth = [layer.name for layer in model.layers]
    for before, after in taps:
        check_order(_maker(blocks[before]), _maker(blocks[after]), depth, name)

    whole = {key: named(output, key) for key, output in {**blocks, LOGITS: outputs}.items()}
    return Model(model.input, whole, name=model.name)


def named(output: Any, key: str) -> Any:
    """An output whose layer has this name: the converter names outputs after their layers."""
    from tf_keras import layers

    return output if _maker(output) == key else layers.Activation("linear", name=key)(output)


def _maker(output: Any) -> str:
    """The layer that an output comes from."""
    return str(output.node.layer.name)


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
