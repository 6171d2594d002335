"""The methods whose cost is compared, all from the backbone of one run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import MEAN
from snapcli.data import Dataset
from snapcli.emit.ends import answer_end, distance_end, energy_end, entropy_end, temperature_end
from snapcli.errors import SnapError, UsageError
from snapcli.graph.body import Body, pooled_sums
from snapcli.graph.chunks import in_chunks
from snapcli.graph.distance import quantize_mahalanobis
from snapcli.graph.ensemble import copies
from snapcli.graph.graph import Graph
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


def contenders(run: Run, monitor: Monitor, dataset: Dataset) -> Iterator[Contender]:
    """The backbone alone comes first, the run's own monitor last."""
    body = monitor.body
    graph = _network(body)
    logits = graph.tensors[body.logits_tensor]

    def network(changed: Graph, end: Any) -> Callable[[Counter], Price]:
        return lambda counter: counter.of_network(changed, end)

    def made(name: str, computes: str, make: Callable[[], Callable[[Counter], Price]]) -> Contender:
        try:
            return Contender(name, computes, make())
        except SnapError as error:
            return Contender(name, computes, None, error.message)

    seen = _Seen(body, graph, dataset)
    yield Contender(BACKBONE, "the class", network(graph, answer_end(logits)))
    yield Contender("base", "softmax, entropy", network(graph, entropy_end({"logits": logits})))
    yield Contender(
        "temperature",
        "1 - max p of the scaled softmax",
        network(graph, temperature_end(logits, monitor.decision.temperature)),
    )
    yield Contender("energy", "free energy of the logits", network(graph, energy_end(logits)))
    yield made(
        "mahalanobis",
        "distance to the nearest class at the last tap, one covariance",
        lambda: network(*seen.distance()),
    )
    for name, computes, kernel in (
        ("react", "features clipped, last layer again, free energy", seen.clip),
        ("ash", "features pruned (ASH-B), last layer again, free energy", seen.ash),
    ):
        yield made(name, computes, lambda kernel=kernel: network(*_shaped(body, graph, kernel())))
    mean = "mean of 3 softmaxes, entropy"
    for name, build in (("early-exit", early_exit.build), ("qute", qute.build)):
        found = partial(_variant, run, dataset, build)
        yield made(name, mean, lambda found=found: network(*_ensemble(found())))
    three = copies(graph, body.logits_tensor, MEMBERS)
    yield Contender("deep-ensemble", f"{MEMBERS} networks, {mean}", network(*_ensemble(three)))
    yield Contender(MONITOR, "heads, score, map", lambda counter: counter.of_monitor(monitor))


def _network(body: Body) -> Graph:
    """What the run deploys without heads: its logits, and what else the model itself gives."""
    others = {name: name for name in body.results[1:]}
    return simplify(replace(body.graph, outputs={"logits": body.logits_tensor, **others}))


def _shaped(body: Body, graph: Graph, kernel: fx.ClipS8 | fx.AshS8) -> tuple[Graph, Any]:
    changed = with_shaped(graph, body.logits_tensor, kernel)
    return changed, energy_end(changed.tensors[changed.outputs["logits"]])


def _ensemble(graph: Graph) -> tuple[Graph, Any]:
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

    def distance(self) -> tuple[Graph, Any]:
        name = self.body.taps[-1].after
        tensor = self.graph.tensors[name]
        values, classes = self._values(name)
        real = pooled_sums(tensor, values, MEAN) * (tensor.scale / tensor.positions)
        head = quantize_mahalanobis(fit_mahalanobis(real, classes), tensor)
        graph = replace(self.graph, outputs={**self.graph.outputs, "tapped": name})
        return graph, distance_end(self.graph.tensors[self.body.logits_tensor], tensor, head)

    def clip(self) -> fx.ClipS8:
        (name,) = last_layer(self.graph, self.body.logits_tensor).sources
        limit = np.percentile(self._values(name)[0], _PERCENTILE)
        return fx.ClipS8(self.graph.tensors[name].size_bytes, round(float(limit)))

    def ash(self) -> fx.AshS8:
        (name,) = last_layer(self.graph, self.body.logits_tensor).sources
        tensor = self.graph.tensors[name]
        kept = max(1, round(tensor.size_bytes * (1 - _PERCENTILE / 100)))
        return fx.AshS8(tensor.size_bytes, kept, tensor.zero_point)
