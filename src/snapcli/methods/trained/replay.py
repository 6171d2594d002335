"""A part of a functional model once more: on other tensors, with other layers."""

from collections.abc import Callable, Mapping
from typing import Any

from snapcli.errors import UsageError
from snapcli.models.backbone import Backbone

LOGITS = "logits"
# Where networks with several exits leave early; with the last one there are three.
EARLY = ("E", "M")
MEMBERS = len(EARLY) + 1


def plain(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """The backbone itself; only of ours it is known where its parts begin and end."""
    if not backbone.blocks:
        raise UsageError(
            f"{backbone.name} is not one of our backbones",
            "Methods that train a network of their own need one: snap models",
        )
    return backbone.build(input_shape, classes)


def classifier(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """image -> {"logits": [classes]}: the backbone without a view of its blocks."""
    from tf_keras import Model

    model = plain(backbone, input_shape, classes)
    return Model(model.input, {LOGITS: model.output[LOGITS]}, name=model.name)


def replayed(
    model: Any,
    known: Mapping[str, Any],
    made: Callable[[Any], Callable[[Any], Any]],
) -> dict[str, Any]:
    """{layer: output} of every layer that can be computed from the known outputs {layer: tensor}.

    made(layer) is what stands in for a layer of the model: itself, a copy or any function of
    what the layer takes. Every layer of the model is used once and has one output.
    """
    tensors = dict(known)
    for layer in model.layers:
        if layer.name in tensors or not layer.inbound_nodes[0].parent_nodes:
            continue
        taken = layer.input if isinstance(layer.input, list) else [layer.input]
        names = [tensor.node.layer.name for tensor in taken]
        if all(name in tensors for name in names):
            inputs = [tensors[name] for name in names]
            tensors[layer.name] = made(layer)(inputs if len(inputs) > 1 else inputs[0])
    return tensors


def renamed(layer: Any, name: str) -> Any:
    """A layer of the same kind, with weights of its own."""
    return type(layer).from_config({**layer.get_config(), "name": name})


def copied(suffix: str) -> Callable[[Any], Callable[[Any], Any]]:
    """For replayed: a copy of every layer, with this suffix to its name."""
    return lambda layer: renamed(layer, f"{layer.name}{suffix}")
