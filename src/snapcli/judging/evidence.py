"""All that methods are fitted to and judged on: the outputs of one network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.config import CalibrateOptions
from snapcli.data.dataset import Dataset, Inputs, Split
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.streams import FOREIGN, Segment, Stream, build_clean_run, build_stream
from snapcli.judging.conditions import seen as seen_of
from snapcli.judging.observe import Outputs
from snapcli.methods.method import Batch, Dev
from snapcli.progress import OnProgress

# Apart from those of the test streams: no noise that a threshold was set by comes again.
DEV_SEED = 1000
# Training examples that class means come from: at least so many in all, and of each class.
_TRAIN_EXAMPLES, _PER_CLASS = 5000, 20
Observe = Callable[[Inputs], Outputs]


@dataclass(frozen=True, eq=False)
class StreamEvidence:
    """A stream as a network saw it: a batch for each segment. normal: the separate run of clean
    examples that the band of normal accuracy comes from."""

    segments: tuple[Segment, ...]
    parts: tuple[Batch, ...]
    normal: Batch

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)


@dataclass(frozen=True, eq=False)
class Evidence:
    """train: clean training examples. conditions: every dev, test and OOD condition. rows: which
    examples of its split or OOD set a condition holds; examples with the same number share what
    they were made of."""

    train: Batch
    conditions: dict[Key, Batch]
    rows: dict[Key, NDArray[np.intp]]
    dev_streams: tuple[StreamEvidence, ...]
    test_streams: tuple[StreamEvidence, ...]

    @property
    def dev(self) -> Dev:
        return dev_of(self.conditions)

    @property
    def clean(self) -> Batch:
        return self.conditions[Key("test", "clean")]

    @property
    def cells(self) -> list[Key]:
        """The corrupted test conditions."""
        return [k for k in self.conditions if k.split == "test" and k.condition != "clean"]

    @property
    def foreign(self) -> list[Key]:
        return [k for k in self.conditions if k.split == "ood"]


def collect(
    observe: Observe,
    evaluation: Evaluation,
    options: CalibrateOptions,
    streams: int,
    on_progress: OnProgress,
) -> Evidence:
    """options: as the run was calibrated; what that held out for a promise, no method may see.
    streams: test streams with seeds 0, 1, ...; dev has one. on_progress counts examples."""
    dataset = evaluation.dataset
    plans = planned(dataset, streams)
    corrupted = sum(len(s) for plan in plans for s in plan.segments if s.kind != "clean")
    train = class_examples(dataset)
    done, total = 0, len(train) + evaluation.examples + corrupted

    def seen(x: Inputs, y: NDArray[np.int64], what: str) -> Batch:
        nonlocal done
        batch = Batch(observe(x), y)
        done += len(x)
        on_progress(done, total, what)
        return batch

    of_train = seen(dataset.front_end(train.x), train.y, "training examples")
    conditions = {}
    for key, x in evaluation.each():
        labels = evaluation.labels(key)
        y = np.full(len(x), FOREIGN) if labels is None else labels
        conditions[key] = seen(x, y, f"examples, {key.condition}")

    def played(plan: Stream) -> StreamEvidence:
        clean = conditions[Key(plan.split, "clean")]
        parts = [
            taken(clean, segment.rows)
            if segment.kind == "clean"
            else seen(plan.inputs(segment), plan.labels(segment), "frames of streams")
            for segment in plan.segments
        ]
        return StreamEvidence(plan.segments, tuple(parts), normal_run(plan, clean))

    streams_of: dict[str, list[StreamEvidence]] = {"dev": [], "test": []}
    for plan in plans:
        streams_of[plan.split].append(played(plan))
    rows = {key: evaluation.rows(key) for key in conditions}
    for key in [key for key in conditions if key.split == "dev"]:
        kept = np.flatnonzero(seen_of(evaluation, options, key))
        conditions[key], rows[key] = taken(conditions[key], kept), rows[key][kept]
    return Evidence(of_train, conditions, rows, tuple(streams_of["dev"]), tuple(streams_of["test"]))


def collect_dev(
    observe: Observe, evaluation: Evaluation, options: CalibrateOptions, on_progress: OnProgress
) -> tuple[Batch, Dev]:
    """What methods are fitted to alone: training and dev data as collect() has them."""
    dataset = evaluation.dataset
    train = class_examples(dataset)
    keys = [key for key in evaluation.keys if key.split == "dev"]
    of_train = Batch(observe(dataset.front_end(train.x)), train.y)
    batches: dict[Key, Batch] = {}
    for i, key in enumerate(keys):
        on_progress(i, len(keys), f"dev data, {key.condition}")
        labels = evaluation.labels(key)
        assert labels is not None
        kept = np.flatnonzero(seen_of(evaluation, options, key))
        batches[key] = taken(Batch(observe(evaluation.inputs(key)), labels), kept)
    return of_train, dev_of(batches)


def class_examples(dataset: Dataset) -> Split:
    """The training examples that class means come from: enough of each class."""
    return dataset.train.spread(max(_TRAIN_EXAMPLES, _PER_CLASS * len(dataset.class_names)))


def dev_of(conditions: Mapping[Key, Batch]) -> Dev:
    """The dev conditions among them."""
    corrupted = {
        (key.condition, key.severity): batch
        for key, batch in conditions.items()
        if key.split == "dev" and key.condition != "clean"
    }
    return Dev(conditions[Key("dev", "clean")], corrupted)


def planned(dataset: Dataset, streams: int) -> list[Stream]:
    """One of dev, then those of test; none where nothing is corrupted or nobody knows what is
    right."""
    if not dataset.corruptions or not streams:
        return []
    tests = [build_stream(dataset, "test", seed) for seed in range(streams)]
    return [build_stream(dataset, "dev", DEV_SEED), *tests]


def normal_run(plan: Stream, clean: Batch) -> Batch:
    """clean: all clean examples of the stream's split."""
    (run,) = build_clean_run(plan.dataset, plan.split, plan.seed).segments
    return taken(clean, run.rows)


def taken(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    return Batch({name: values[rows] for name, values in batch.outputs.items()}, batch.y[rows])


def joined(batches: list[Batch]) -> Batch:
    names = batches[0].outputs
    return Batch(
        {name: np.concatenate([b.outputs[name] for b in batches]) for name in names},
        np.concatenate([b.y for b in batches]),
    )
