"""Methods in integers: a network and what is computed after it, made from a fitted method.

What these compute is what the method's score says of the int8 network, but for rounding: what is
priced is what is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.config import MAHALANOBIS, NO_THIRD
from snapcli.emit.ends import (
    End,
    distance_end,
    energy_end,
    entropy_end,
    temperature_end,
)
from snapcli.errors import UsageError
from snapcli.graph.graph import Graph, Tensor
from snapcli.graph.passes import simplify
from snapcli.graph.shaping import last_layer, with_shaped
from snapcli.methods.logits import FreeEnergy, OdinLite, Temperature
from snapcli.methods.mahalanobis import MahalanobisFull
from snapcli.methods.shaped_features import AshB, ReAct
from snapcli.methods.snap import Snap
from snapcli.monitor.body import Body, ClassDistance
from snapcli.monitor.decision import ONE_Q16, Decision, plain_decision, quantize_map
from snapcli.monitor.distance import quantize_mahalanobis
from snapcli.monitor.monitor import Monitor, trimmed
from snapcli.score.maps import reads_distance, reads_third

Scorer = tuple[Graph, End]
Form = Callable[[Any, "FormInputs"], Scorer | Monitor]
"""(the fitted method, what it is made of) -> the network with its end, or a monitor."""


@dataclass(frozen=True, eq=False)
class FormInputs:
    """monitor: what the run deploys. bodies: the run's int8 network with heads of other kinds.
    trained: the int8 network of a method that trains one, its outputs the logits of members."""

    monitor: Monitor
    bodies: dict[str, Body]
    trained: Graph | None = None

    @cached_property
    def graph(self) -> Graph:
        """What the run deploys without heads: its logits, and what else the model itself gives."""
        body = self.monitor.body
        others = {name: name for name in body.results[1:]}
        return simplify(replace(body.graph, outputs={"logits": body.logits_tensor, **others}))

    @property
    def logits(self) -> Tensor:
        return self.graph.tensors[self.monitor.body.logits_tensor]

    @property
    def features(self) -> Tensor:
        """What the last layer takes."""
        (name,) = last_layer(self.graph, self.logits.name).sources
        return self.graph.tensors[name]

    def shaped(self, kernel: fx.ClipS8 | fx.AshS8) -> Scorer:
        graph = with_shaped(self.graph, self.logits.name, kernel)
        return graph, energy_end(graph.tensors[graph.outputs["logits"]], 1.0)


def max_probability(fitted: object, given: FormInputs) -> Scorer:
    return given.graph, temperature_end(given.logits, 1.0)


def entropy(fitted: object, given: FormInputs) -> Scorer:
    return given.graph, entropy_end({"logits": given.logits})


def scaled(fitted: Temperature | OdinLite, given: FormInputs) -> Scorer:
    return given.graph, temperature_end(given.logits, fitted.temperature_)


def energy(fitted: FreeEnergy, given: FormInputs) -> Scorer:
    return given.graph, energy_end(given.logits, fitted.temperature_)


def distance(fitted: MahalanobisFull, given: FormInputs) -> Scorer:
    name = given.monitor.body.taps[-1].after
    tapped = given.graph.tensors[name]
    graph = replace(given.graph, outputs={**given.graph.outputs, "tapped": name})
    head = quantize_mahalanobis(fitted.distance_, tapped)
    return graph, distance_end(given.logits, tapped, head)


def clipped(fitted: ReAct, given: FormInputs) -> Scorer:
    features = given.features
    limit = int(features.quantize(np.asarray(fitted.limit_, np.float32)))
    return given.shaped(fx.ClipS8(features.size_bytes, limit))


def pruned(fitted: AshB, given: FormInputs) -> Scorer:
    features = given.features
    kept = fitted.kept(features.size_bytes)
    return given.shaped(fx.AshS8(features.size_bytes, kept, features.zero_point))


def mean_entropy(fitted: object, given: FormInputs) -> Scorer:
    graph = given.trained
    assert graph is not None
    members = {name: graph.tensors[graph.outputs[name]] for name in sorted(graph.outputs)}
    return graph, entropy_end(members)


def deployed(fitted: object, given: FormInputs) -> Monitor:
    return given.monitor


def with_own_heads(fitted: Snap, given: FormInputs) -> Monitor:
    return monitor_of(fitted, given.monitor.body)


def with_heads(kind: str) -> Form:
    """Of another kind, where the run has not that kind itself; a distance is the run's."""

    def form(fitted: Snap, given: FormInputs) -> Monitor:
        own = given.monitor.body
        body = given.bodies.get(kind, own)
        by_third = fitted.options.third == MAHALANOBIS and reads_third(fitted.map_)
        listens = by_third or reads_distance(fitted.map_)
        if listens and body.taps[-1] != own.taps[-1]:
            raise UsageError(
                "the run's distance looks at another tap than these heads", "Leave --third out."
            )
        return monitor_of(fitted, replace(body, distance=own.distance))

    return form


def monitor_of(fitted: Snap, body: Body) -> Monitor:
    """These heads with the map that was fitted to them."""
    third = fitted.options.third if reads_third(fitted.map_) else NO_THIRD
    decision = _decision(fitted, third)
    if fitted.distance_ is not None:
        tensor = body.graph.tensors[body.taps[-1].after]
        measure = quantize_mahalanobis(fitted.distance_, tensor)
        body = replace(body, distance=ClassDistance(tensor.name, measure))
    return Monitor(trimmed(body, decision), decision)


def _decision(fitted: Snap, third: str) -> Decision:
    weights = fx.quantize_weights_q16(fitted.weights_)
    return replace(
        plain_decision(len(weights)),
        weight_q16=tuple(int(w) for w in weights),
        temperature=fitted.temperature_,
        alpha_q16=round(fitted.options.alpha * ONE_Q16),
        map=quantize_map(fitted.map_),
        third=third,
    )
