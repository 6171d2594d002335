"""New heads for the finished backbone of a run: of any kind, at any of its blocks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import MEAN, MEAN_DEVIATION, TrainOptions
from snapcli.data import Dataset
from snapcli.data.dataset import Inputs
from snapcli.graph.graph import Graph
from snapcli.graph.reader import read_tflite
from snapcli.heads.fit import fit_head
from snapcli.heads.head import Head
from snapcli.heads.quantize import quantize_head
from snapcli.judging.networks import with_head
from snapcli.models.backbone import Tap
from snapcli.models.convert import convert_int8
from snapcli.models.posthoc import EXAMPLES, Activations, heads_to, looked_at
from snapcli.models.tensorflow import require_tensorflow
from snapcli.monitor.body import Body, TapTensors
from snapcli.monitor.build import RANGE_EXAMPLES
from snapcli.monitor.pooled import Pooled, of_statistics, pooled_in_chunks
from snapcli.origin.network import trained
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.runs import Run

_LOGITS = "logits"


@dataclass(frozen=True)
class HeadSpec:
    """taps: at blocks of the backbone; of an attached run, at tensors."""

    taps: tuple[Tap, ...]
    head: str
    class_mean: bool = False
    statistics: str = MEAN

    @property
    def blocks(self) -> list[str]:
        return [name for tap in self.taps for name in (tap.before, tap.after)]


class Refit(ABC):
    """graph: the int8 network; heads are named by its tensors. statistics: the widest that heads
    are asked for."""

    def __init__(
        self, graph: Graph, tensors: Sequence[str], train: Inputs, statistics: str
    ) -> None:
        self.graph = graph
        self._tensors, self._train = list(dict.fromkeys(tensors)), train
        self._statistics = statistics

    @abstractmethod
    def heads(self, spec: HeadSpec) -> list[Head]:
        """New ones."""

    @abstractmethod
    def own(self, spec: HeadSpec) -> list[Head]:
        """The run's, in float; spec: the run's."""

    def integer(self, heads: list[Head], statistics: str) -> Body:
        """Ranges are set by clean training examples."""
        tensors = self.graph.tensors
        integer = tuple(
            quantize_head(
                head, tensors[head.before], tensors[head.after], self.sums(head.before, statistics)
            )
            for head in heads
        )
        taps = tuple(TapTensors(head.before, head.after) for head in heads)
        return Body(self.graph, taps, integer, statistics)

    def sums(self, tensor: str, statistics: str) -> NDArray[np.int32]:
        """What heads are shown of the training examples."""
        return of_statistics(self.graph.tensors[tensor], self._pooled.sums[tensor], statistics)

    @cached_property
    def _pooled(self) -> Pooled:
        q = self.graph.quantize(self._train)
        return pooled_in_chunks(self.graph, self._tensors, self._statistics, q)


def refit(run: Run, dataset: Dataset, specs: Sequence[HeadSpec]) -> Refit:
    """specs: all that heads will be asked for."""
    wide = any(spec.statistics == MEAN_DEVIATION for spec in specs)
    blocks = list(dict.fromkeys(name for spec in specs for name in spec.blocks))
    make = _trained if origin_of(run).has_float else _attached
    return make(run, dataset, blocks, MEAN_DEVIATION if wide else MEAN)


class TrainedRefit(Refit):
    """Fits to the float model, as post hoc training does."""

    def __init__(
        self,
        graph: Graph,
        dataset: Dataset,
        statistics: str,
        options: TrainOptions,
        model: Any,
        own: list[Head],
    ) -> None:
        self._blocks = [name for name in graph.outputs if name != _LOGITS]
        train = dataset.front_end(dataset.train.x[:RANGE_EXAMPLES])
        super().__init__(graph, [graph.outputs[b] for b in self._blocks], train, statistics)
        self._dataset, self._options = dataset, options
        self._model, self._own = model, own
        self._seen = cache(self._look)

    def _look(self, statistics: str) -> Activations:
        rng = np.random.default_rng(self._options.seed)
        return looked_at(self._model, self._blocks, statistics, self._dataset, rng)

    def heads(self, spec: HeadSpec) -> list[Head]:
        options = replace(
            with_head(self._options, spec.head),
            class_mean=spec.class_mean,
            statistics=spec.statistics,
        )
        seen, classes = self._seen(spec.statistics), len(self._dataset.class_names)
        rng = np.random.default_rng(options.seed)
        return self._named(heads_to(seen, self._model, spec.taps, classes, options, rng))

    def own(self, spec: HeadSpec) -> list[Head]:
        return self._named(self._own)

    def _named(self, heads: list[Head]) -> list[Head]:
        names = self.graph.outputs
        return [replace(h, before=names[h.before], after=names[h.after]) for h in heads]


def _trained(run: Run, dataset: Dataset, blocks: list[str], statistics: str) -> Refit:
    require_tensorflow()
    recipe, parts = run_recipe(run), trained(run, dataset)
    model, own = parts.model, parts.heads
    graph = origin_of(run).deployed().monitor.body.graph
    if not set(blocks) <= set(graph.outputs):
        # The deployed network does not show these; its ranges come from the same examples.
        samples = dataset.front_end(dataset.train.x[: recipe.quantize.samples])
        shown = [*blocks, *(name for name in graph.outputs if name != _LOGITS)]
        graph = read_tflite(convert_int8(model, shown, samples))
    return TrainedRefit(graph, dataset, statistics, recipe.train, model, own)


class AttachedRefit(Refit):
    """Fits Gaussian heads to what the int8 model shows, as attach does."""

    def __init__(
        self, graph: Graph, tensors: Sequence[str], train: Inputs, statistics: str, seed: int
    ) -> None:
        super().__init__(graph, tensors, train, statistics)
        self._seed = seed
        self._fitted = cache(self._fit)

    def heads(self, spec: HeadSpec) -> list[Head]:
        return [self._fitted(tap) for tap in spec.taps]

    def own(self, spec: HeadSpec) -> list[Head]:
        """The same data and seed give the heads that attach had."""
        return self.heads(spec)

    def _fit(self, tap: Tap) -> Head:
        x, y = (self._real(name) for name in (tap.before, tap.after))
        return fit_head(tap.before, tap.after, x, y, tap.rank, self._seed)

    def _real(self, name: str) -> Array:
        return self.graph.tensors[name].channel_means(self.sums(name, MEAN))


def _attached(run: Run, dataset: Dataset, tensors: list[str], statistics: str) -> Refit:
    train = dataset.front_end(dataset.train.spread(EXAMPLES).x)
    graph = origin_of(run).deployed().monitor.body.graph
    return AttachedRefit(graph, tensors, train, statistics, run_recipe(run).attach.seed)
