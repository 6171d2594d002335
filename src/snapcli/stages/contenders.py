"""The methods whose cost is compared, all from the backbone of one run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import MEAN
from snapcli.data import Dataset
from snapcli.emit.ends import (
    End,
    answer_end,
    distance_end,
    energy_end,
    entropy_end,
    temperature_end,
)
from snapcli.errors import SnapError, UsageError
from snapcli.graph.body import Body, pooled_sums
from snapcli.graph.chunks import in_chunks
from snapcli.graph.distance import quantize_mahalanobis
from snapcli.graph.ensemble import copies
from snapcli.graph.graph import Graph, Tensor
from snapcli.graph.monitor import Monitor
from snapcli.graph.passes import simplify
from snapcli.graph.reader import read_tflite
from snapcli.graph.shaping import last_layer, with_shaped
from snapcli.models import load_backbone
from snapcli.models.activations import load_model
from snapcli.models.convert import convert_int8
from snapcli.models.tensorflow import require_tensorflow
from snapcli.models.variants import early_exit, qute
from snapcli.models.variants.replay import MEMBERS
from snapcli.runs import Run
from snapcli.score.mahalanobis import fit_mahalanobis
from snapcli.stages.pricing import Counter, Price
from snapcli.stages.recipe import run_recipe

BACKBONE, MONITOR = "backbone", "snap"
# Training examples: those that constants are fitted to, those that set int8 ranges.
_FITTED, _SAMPLES = 1000, 200
# The share of the features that ReAct leaves as they are, and that ASH prunes.
_PERCENTILE = 90.0


@dataclass(frozen=True)
class Contender:
    """computes: what is done behind the network. price: None where it cannot be built, and why."""

    name: str
    computes: str
    price: Callable[[Counter], Price] | None
    why: str = ""


Network = tuple[Graph, End]


def contenders(run: Run, monitor: Monitor, dataset: Dataset) -> Iterator[Contender]:
    """The backbone alone comes first, the run's own monitor last."""
    body = monitor.body
    graph = _network(body)
    logits = graph.tensors[body.logits_tensor]
    seen = _Seen(body, graph, dataset)
    mean = f"mean of {MEMBERS} softmaxes, entropy"
    ways: tuple[tuple[str, str, Callable[[], Network]], ...] = (
        (BACKBONE, "the class", lambda: (graph, answer_end(logits))),
        ("base", "softmax, entropy", lambda: (graph, entropy_end({"logits": logits}))),
        (
            "temperature",
            "1 - max p of the scaled softmax",
            lambda: (graph, temperature_end(logits, monitor.decision.temperature)),
        ),
        ("energy", "free energy of the logits", lambda: (graph, energy_end(logits))),
        (
            "mahalanobis",
            "whitened distance to the nearest class, last tap",
            seen.distance,
        ),
        ("react", "features clipped, last layer again, energy", seen.clipped),
        ("ash", "features pruned (ASH-B), last layer again, energy", seen.pruned),
        ("early-exit", mean, lambda: _ensemble(_variant(run, dataset, early_exit.build))),
        (
            "deep-ensemble",
            f"{MEMBERS} networks, {mean}",
            lambda: _ensemble(copies(graph, body.logits_tensor, MEMBERS)),
        ),
        ("qute", mean, lambda: _ensemble(_variant(run, dataset, qute.build))),
    )
    for name, computes, make in ways:
        try:
            yield Contender(name, computes, _price(make()))
        except SnapError as error:
            yield Contender(name, computes, None, error.message)
    yield Contender(MONITOR, "heads, score, map", lambda counter: counter.of_monitor(monitor))


def _price(network: Network) -> Callable[[Counter], Price]:
    return lambda counter: counter.of_network(*network)


def _network(body: Body) -> Graph:
    """What the run deploys without heads: its logits, and what else the model itself gives."""
    others = {name: name for name in body.results[1:]}
    return simplify(replace(body.graph, outputs={"logits": body.logits_tensor, **others}))


def _ensemble(graph: Graph) -> Network:
    members = {name: graph.tensors[graph.outputs[name]] for name in sorted(graph.outputs)}
    return graph, entropy_end(members)


def _variant(run: Run, dataset: Dataset, build: Callable[..., Any]) -> Graph:
    """The network of a method, with the run's weights where it has the run's layers: scales decide
    which kernel a layer gets, so that they should be those of a trained one."""
    if run.is_attached:
        raise UsageError("needs a backbone that snap can build", "Train one: snap train")
    require_tensorflow()
    trained = load_model(run.inputs("train") / "model.keras")
    x = dataset.front_end(dataset.train.x[:_SAMPLES])
    classes = trained.output["logits"].shape[-1]
    model = build(load_backbone(run_recipe(run).train.backbone), x.shape[1:], classes)
    known = {layer.name: layer for layer in trained.layers}
    for layer in model.layers:
        if layer.name in known:
            layer.set_weights(known[layer.name].get_weights())
    return read_tflite(convert_int8(model, sorted(model.output), x))


class _Seen:
    """What the network shows of training examples, and the constants that follow from it."""

    def __init__(self, body: Body, graph: Graph, dataset: Dataset) -> None:
        self.body, self.graph, self.dataset = body, graph, dataset

    def _values(self, name: str) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Of one tensor, and the classes, which are the answers where there are no labels."""
        rows = np.linspace(0, len(self.dataset.train) - 1, _FITTED).astype(int)
        examples = self.dataset.train.take(np.unique(rows))
        x = self.graph.tensors[self.graph.input].quantize(self.dataset.front_end(examples.x))
        logits = self.body.logits_tensor
        parts = [p for _, p in in_chunks(lambda c: self.graph.run(c, {name, logits}), x)]
        values = np.concatenate([part[name] for part in parts])
        answers = np.concatenate([part[logits].reshape(len(part[logits]), -1) for part in parts])
        return values, examples.y if self.dataset.labelled else answers.argmax(axis=-1)

    def distance(self) -> Network:
        name = self.body.taps[-1].after
        tensor = self.graph.tensors[name]
        values, classes = self._values(name)
        sums = pooled_sums(tensor, values, MEAN).astype(np.float64)
        fitted = fit_mahalanobis(sums * (tensor.scale / tensor.positions), classes)
        graph = replace(self.graph, outputs={**self.graph.outputs, "tapped": name})
        head = quantize_mahalanobis(fitted, tensor)
        return graph, distance_end(self.graph.tensors[self.body.logits_tensor], tensor, head)

    def clipped(self) -> Network:
        limit = np.percentile(self._values(self._features.name)[0], _PERCENTILE)
        return self._shaped(fx.ClipS8(self._features.size_bytes, round(float(limit))))

    def pruned(self) -> Network:
        length = self._features.size_bytes
        kept = max(1, round(length * (1 - _PERCENTILE / 100)))
        return self._shaped(fx.AshS8(length, kept, self._features.zero_point))

    @property
    def _features(self) -> Tensor:
        (name,) = last_layer(self.graph, self.body.logits_tensor).sources
        return self.graph.tensors[name]

    def _shaped(self, kernel: fx.ClipS8 | fx.AshS8) -> Network:
        graph = with_shaped(self.graph, self.body.logits_tensor, kernel)
        return graph, energy_end(graph.tensors[graph.outputs["logits"]])
