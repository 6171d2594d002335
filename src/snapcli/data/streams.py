"""Long streams of frames that begin clean and get worse (paper, appendix D).

ID 2000, then for each severity 1000 corrupted frames whose type changes every 200, with bursts of
100 foreign frames in between: 7,400 frames. A stream is a plan; its frames are made a segment at a
time when they are asked for. A corruption that has one severity shows that one, and says no number.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.data.dataset import SEVERITIES, Dataset, Inputs, Raw
from snapcli.data.files.features import cached
from snapcli.errors import ConfigError

CLEAN_FRAMES, CORRUPTED_FRAMES, FOREIGN_FRAMES, CYCLE = 2000, 1000, 100, 200
CLEAN_RUN_FRAMES = 5000
FOREIGN = -1  # the label of a frame that has no right answer
_SPLITS = ("dev", "test")
# Of the streams that bench plays and monitor shows.
STREAM_SEED = 0


@dataclass(frozen=True)
class Segment:
    """kind is clean, corrupted or foreign; condition the corruption type or the OOD set; severity
    that of the frames, 0 where there is no scale; rows the examples of the split (or of the OOD
    set); first: the number of its first frame."""

    kind: str
    condition: str
    severity: int
    rows: NDArray[np.intp]
    first: int

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Frames:
    """x [n, h, w, c]; y [n] class indices, FOREIGN for foreign frames."""

    segment: Segment
    x: Inputs
    y: NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    dataset: Dataset
    split: str
    seed: int
    segments: tuple[Segment, ...]

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

    def frames(self, start: int = 0) -> Iterator[Frames]:
        """One segment after the other; only the one that is worked on is in memory. Those that end
        before frame `start` are left out."""
        for segment in self.segments:
            if segment.first + len(segment) <= start:
                continue
            yield Frames(segment, self.inputs(segment), self.labels(segment))

    def inputs(self, segment: Segment) -> Inputs:
        """[frames of the segment, h, w, c]."""
        data = self.dataset
        if data.identity is None:
            return data.front_end(self._raw(segment))
        place = f"{self.split}/{self.seed}/{segment.first}+{len(segment)}"
        identity = {"of": data.identity, "stream": place}
        return cached(identity, lambda: data.front_end(self._raw(segment)))

    def _raw(self, segment: Segment) -> Raw:
        data = self.dataset
        if segment.kind == "foreign":
            return np.asarray(data.ood[segment.condition][segment.rows])
        if segment.kind == "clean":
            return data.split(self.split).x[segment.rows]
        return data.shifted(
            self.split, segment.rows, segment.condition, segment.severity, self.seed
        )

    def labels(self, segment: Segment) -> NDArray[np.int64]:
        """[frames of the segment]; FOREIGN where there is no right answer."""
        if segment.kind == "foreign":
            return np.full(len(segment), FOREIGN, np.int64)
        return self.dataset.split(self.split).y[segment.rows]


class _Deck:
    """Deals rows in random order, all of them before any comes again; none comes twice in one
    deal unless there are too few."""

    def __init__(self, rows: NDArray[np.intp], rng: np.random.Generator) -> None:
        self._rows, self._rng = rows, rng
        self._left = rng.permutation(rows)

    def deal(self, count: int) -> NDArray[np.intp]:
        dealt = [self._left[:0]]
        while count:
            if not len(self._left):
                fresh = self._rng.permutation(self._rows)
                again = np.isin(fresh, np.concatenate(dealt))
                self._left = np.concatenate([fresh[~again], fresh[again]])
            dealt.append(self._left[:count])
            self._left = self._left[len(dealt[-1]) :]
            count -= len(dealt[-1])
        return np.concatenate(dealt)


def build_stream(dataset: Dataset, split: str, seed: int) -> Stream:
    """Of dev or test examples, and of that half of the foreign ones that belongs to the split.

    Where there are fewer examples than frames they return, under another type or severity.
    """
    if not dataset.corruptions:
        raise ConfigError(
            f"{dataset.name} has no corruptions that a stream could show",
            "Attach with --augment-dev.",
        )
    rng = np.random.default_rng([seed, _SPLITS.index(split)])
    deck = _Deck(np.arange(len(dataset.split(split))), rng)
    types = [str(name) for name in rng.permutation(list(dataset.corruptions))]
    foreign = {name: _Deck(foreign_rows(dataset, name, split), rng) for name in dataset.ood}
    plan = [("clean", "clean", 0, deck.deal(CLEAN_FRAMES))]
    cycle = 0
    for step in SEVERITIES:
        for _ in range(CORRUPTED_FRAMES // CYCLE):
            name = types[cycle % len(types)]
            severity = min(dataset.severities(split, name), key=lambda s: abs(s - step))
            plan.append(("corrupted", name, severity, deck.deal(CYCLE)))
            cycle += 1
        if step < SEVERITIES[-1] and foreign:
            name = list(foreign)[(step - 1) % len(foreign)]
            plan.append(("foreign", name, 0, foreign[name].deal(FOREIGN_FRAMES)))
    return _laid_out(dataset, split, seed, plan)


def build_clean_run(dataset: Dataset, split: str, seed: int) -> Stream:
    """A stream of clean frames alone, from which the band of normal accuracy is taken."""
    rng = np.random.default_rng([seed, _SPLITS.index(split), 1])
    deck = _Deck(np.arange(len(dataset.split(split))), rng)
    return _laid_out(dataset, split, seed, [("clean", "clean", 0, deck.deal(CLEAN_RUN_FRAMES))])


def foreign_rows(dataset: Dataset, name: str, split: str) -> NDArray[np.intp]:
    """The part of an OOD set that dev or test streams may show."""
    if name in dataset.ood_splits:
        return np.flatnonzero(dataset.ood_splits[name] == split)
    order = np.random.default_rng(0).permutation(len(dataset.ood[name]))
    half = np.sort(order[_SPLITS.index(split) :: 2])
    if not len(half):
        raise ConfigError(f"the foreign set {name} has too few examples", "Give at least two.")
    return half


def _laid_out(
    dataset: Dataset, split: str, seed: int, plan: list[tuple[str, str, int, NDArray[np.intp]]]
) -> Stream:
    segments, first = [], 0
    for kind, condition, severity, rows in plan:
        segments.append(Segment(kind, condition, severity, rows, first))
        first += len(rows)
    return Stream(dataset, split, seed, tuple(segments))
