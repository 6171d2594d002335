"""A classifier that also judges its features after they were shaped: ReAct, ASH."""

from dataclasses import replace

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.graph.operators import ASH, CLIP
from snapcli.graph.passes import simplify

_SHAPED, _BOTH, _LOGITS = "shaped_features", "both_features", "both_logits"


def last_layer(graph: Graph, logits: str) -> Layer:
    """The FULLY_CONNECTED that writes the logits; its source are the features."""
    written = graph.stored(logits)
    for layer in graph.layers:
        if layer.target == written and isinstance(layer.kernel, fx.FullyConnectedS8):
            return layer
    raise ArtifactError(
        "the logits of this model come from no FULLY_CONNECTED",
        "Shaping features needs one as the last layer.",
    )


def with_shaped(graph: Graph, logits: str, kernel: fx.ClipS8 | fx.AshS8) -> Graph:
    """The graph whose last layer takes the features and their shaped copy as two rows, so that
    its weights are there once; the output "logits" is [2, classes]."""
    last = last_layer(graph, logits)
    dense = last.kernel
    assert isinstance(dense, fx.FullyConnectedS8)
    (features,) = last.sources
    given, answer = graph.tensors[features], graph.tensors[logits]
    pair = fx.concatenation_of([(dense.inputs,), (dense.inputs,)], 0)
    operator = CLIP if isinstance(kernel, fx.ClipS8) else ASH
    added: tuple[Layer, ...] = (
        Layer("shaped", operator, kernel, (features,), _SHAPED),
        Layer("both", "CONCATENATION", pair, (features, _SHAPED), _BOTH),
        replace(last, kernel=replace(dense, rows=2), sources=(_BOTH,), target=_LOGITS),
    )
    tensors = {
        _SHAPED: _resized(given, _SHAPED, (dense.inputs,)),
        _BOTH: _resized(given, _BOTH, (2, dense.inputs)),
        _LOGITS: _resized(answer, _LOGITS, (2, dense.outputs)),
    }
    at = graph.layers.index(last)
    before, behind = graph.layers[:at], graph.layers[at + 1 :]
    if any(graph.stored(source) == last.target for layer in behind for source in layer.sources):
        first = fx.slice_copy((2, dense.outputs), (0, 0), (1, dense.outputs), (1, 1))
        added += (Layer("plain", "STRIDED_SLICE", first, (_LOGITS,), last.target),)
    outputs = {name: tensor for name, tensor in graph.outputs.items() if tensor != logits}
    changed = replace(
        graph,
        tensors={**graph.tensors, **tensors},
        layers=(*before, *added, *behind),
        outputs={"logits": _LOGITS, **outputs},
    )
    return simplify(changed)


def _resized(tensor: Tensor, name: str, shape: tuple[int, ...]) -> Tensor:
    return replace(tensor, name=name, shape=shape, index=None)
