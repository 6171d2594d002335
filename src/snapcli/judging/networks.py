"""The networks of a run as methods see them, with heads of other kinds beside its own."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from snapcli.config import JOINT, MINIMAL, POSTHOC, WEIGHTS, TrainOptions
from snapcli.config.option import option_of
from snapcli.data import Dataset
from snapcli.heads.head import Head
from snapcli.judging.observe import FloatNetwork, IntegerNetwork
from snapcli.models import load_backbone
from snapcli.models.backbone import with_default_taps
from snapcli.models.posthoc import heads_for
from snapcli.models.tensorflow import require_tensorflow
from snapcli.monitor.body import Body
from snapcli.monitor.build import RANGE_EXAMPLES, build_body
from snapcli.origin.network import trained, trained_model
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.runs import Run

Heads = Mapping[str, list[Head]]


def further_heads(run: Run, dataset: Dataset, kinds: Sequence[str]) -> dict[str, list[Head]]:
    """Heads of these kinds at the run's taps (of minimal: at its own), fitted to the finished
    backbone; an attached run has none."""
    if not origin_of(run).has_float or not kinds:
        return {}
    require_tensorflow()
    of_run = run_recipe(run).train
    backbone = load_backbone(of_run.backbone)
    options = {kind: with_head(of_run, kind) for kind in kinds}
    taps = {kind: backbone.taps(o.taps, o.ranks) for kind, o in options.items()}
    blocks = [name for every in taps.values() for t in every for name in (t.before, t.after)]
    model = trained_model(run, dataset, blocks)
    return {kind: heads_for(model, taps[kind], dataset, options[kind]) for kind in kinds}


def with_head(trained: TrainOptions, kind: str) -> TrainOptions:
    """The options of a fit after the training. Another kind than the run's has the defaults of
    what only some heads have, and minimal its own tap."""
    options = in_mode(trained, POSTHOC)
    if kind != trained.head:
        of_heads = [f for f in fields(trained) if (option_of(f).only_with or ("",))[0] == "head"]
        plain: dict[str, Any] = {f.name: f.default for f in of_heads}
        options = replace(options, head=kind, **plain)
    if kind == MINIMAL:
        return with_default_taps(replace(options, taps=(), ranks=()))
    return options


def in_mode(trained: TrainOptions, mode: str) -> TrainOptions:
    """Without what the mode has no use for."""
    options = trained if mode == JOINT else replace(trained, adaptive=False, detach_from=0)
    weights = WEIGHTS[0] if mode == POSTHOC else options.loss_weights
    return replace(options, mode=mode, loss_weights=weights)


def float_network(run: Run, dataset: Dataset, further: Heads) -> FloatNetwork:
    require_tensorflow()
    parts = trained(run, dataset)
    return FloatNetwork(
        parts.model,
        parts.heads,
        origin_of(run).head,
        run_recipe(run).train.statistics,
        further,
    )


def integer_network(run: Run, dataset: Dataset, further: Heads) -> IntegerNetwork:
    monitor = origin_of(run).deployed().monitor
    train = dataset.front_end(dataset.train.x[:RANGE_EXAMPLES])
    graph, statistics = monitor.body.graph, monitor.body.statistics
    bodies: dict[str, Body] = {
        kind: build_body(graph, heads, train, statistics)
        for kind, heads in further.items()
        if all(name in graph.outputs for head in heads for name in (head.before, head.after))
    }
    return IntegerNetwork(monitor, origin_of(run).head, bodies)
