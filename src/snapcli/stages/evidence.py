"""All that methods are fitted to and judged on, as one network saw it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.baselines.method import Batch, Dev
from snapcli.data.dataset import Dataset, Inputs
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.streams import FOREIGN, Segment, Stream, build_clean_run, build_stream
from snapcli.progress import OnProgress
from snapcli.stages.observe import Outputs

# Apart from those of the test streams: no noise that a threshold was set by comes again.
DEV_SEED = 1000
# Training examples that class means come from, evenly spaced.
_TRAIN_EXAMPLES = 5000
Observe = Callable[[Inputs], Outputs]


@dataclass(frozen=True, eq=False)
class Played:
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
    dev_streams: tuple[Played, ...]
    test_streams: tuple[Played, ...]

    @property
    def dev(self) -> Dev:
        corrupted = {
            (key.condition, key.severity): batch
            for key, batch in self.conditions.items()
            if key.split == "dev" and key.condition != "clean"
        }
        return Dev(self.conditions[Key("dev", "clean")], corrupted)

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
    observe: Observe, evaluation: Evaluation, streams: int, on_progress: OnProgress
) -> Evidence:
    """streams: test streams with seeds 0, 1, ...; dev has one. on_progress counts examples."""
    dataset = evaluation.dataset
    plans = planned(dataset, streams)
    corrupted = sum(len(s) for plan in plans for s in plan.segments if s.kind != "clean")
    count = min(len(dataset.train), _TRAIN_EXAMPLES)
    done, total = 0, count + evaluation.examples + corrupted

    def seen(x: Inputs, y: NDArray[np.int64], what: str) -> Batch:
        nonlocal done
        batch = Batch(observe(x), y)
        done += len(x)
        on_progress(done, total, what)
        return batch

    rows = np.linspace(0, len(dataset.train) - 1, count).astype(np.intp)
    train = dataset.train.take(rows)
    of_train = seen(dataset.front_end(train.x), train.y, "training examples")
    conditions = {}
    for key, x in evaluation.each():
        labels = evaluation.labels(key)
        y = np.full(len(x), FOREIGN) if labels is None else labels
        conditions[key] = seen(x, y, f"examples, {key.condition}")

    def played(plan: Stream) -> Played:
        clean = conditions[Key(plan.split, "clean")]
        parts = [
            taken(clean, segment.rows)
            if segment.kind == "clean"
            else seen(plan.inputs(segment), plan.labels(segment), "frames of streams")
            for segment in plan.segments
        ]
        return Played(plan.segments, tuple(parts), normal_run(plan, clean))

    streams_of: dict[str, list[Played]] = {"dev": [], "test": []}
    for plan in plans:
        streams_of[plan.split].append(played(plan))
    rows_of = {key: evaluation.rows(key) for key in conditions}
    dev, test = (tuple(streams_of[split]) for split in ("dev", "test"))
    return Evidence(of_train, conditions, rows_of, dev, test)


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
