"""Long streams for judging alarms: devices that see clean frames, episodes of every corruption,
and clean frames again.

Their frames are the scored examples of the conditions, drawn again and again: there are not as many
examples as frames. Dev and test streams share no example. In scenes an example stays for a random
number of frames, as in front of a camera that nothing moves: a stand-in for frames that depend on
each other, since the examples do not say what would follow them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.data import streams as paper
from snapcli.data.dataset import SEVERITIES
from snapcli.judging.shifts import Frames, Shift, SplitFrames, taken

CLEAN_FRAMES, EPISODE_FRAMES, FEWEST_EPISODES, DEVICES = 50_000, 400, 40, 20
_PAPER_DEVICES = 10
CLEAN, SUDDEN, GRADUAL = "clean", "sudden", "gradual"
Episode = tuple[str, tuple[Shift, ...]]


@dataclass(frozen=True, eq=False)
class Part:
    """kind: clean, sudden or gradual; which examples of these frames."""

    kind: str
    rows: NDArray[np.intp]
    frames: Frames


@dataclass(frozen=True, eq=False)
class FieldStreams:
    """Of so many devices, all of one length. The first `before` frames of each are clean, for its
    baseline; nothing is judged by them, and no array here but `values` has them."""

    before: int
    devices: tuple[tuple[Part, ...], ...]

    def values(self, signal: str) -> NDArray[np.uint32]:
        """[devices, before + frames]"""
        return self._columns(lambda frames: frames.values(signal))

    @property
    def uncertainty_q16(self) -> NDArray[np.uint32]:
        return self._columns(lambda frames: frames.scores.uncertainty_q16)[:, self.before :]

    @property
    def right(self) -> Bools:
        return self._columns(lambda frames: frames.right)[:, self.before :]

    @property
    def clean(self) -> Bools:
        rows = [[np.full(len(p.rows), p.kind == CLEAN) for p in parts] for parts in self.devices]
        return np.stack([np.concatenate(row) for row in rows])[:, self.before :]

    @property
    def episode_ends(self) -> list[tuple[int, int]]:
        """(device, frame): where clean frames come back."""
        back = self.clean[:, 1:] & ~self.clean[:, :-1]
        return [(int(d), int(t) + 1) for d, t in np.argwhere(back)]

    def _columns(self, column: Callable[[Frames], NDArray]) -> NDArray:
        rows = [[column(taken(p.frames, p.rows)) for p in parts] for parts in self.devices]
        return np.stack([np.concatenate(row) for row in rows])


def field_streams(frames: SplitFrames, before: int, seed: int, scene: int = 1) -> FieldStreams:
    """Every type comes suddenly, at a severity drawn by lot, and where it has several of them also
    gradually, up and down again; again in other severities until there are enough episodes. Every
    foreign set comes suddenly. scene: frames that an example stays, on average."""
    rng = np.random.default_rng([seed, 22])
    episodes = _episodes(frames, rng)
    shares = [episodes[i::DEVICES] for i in range(DEVICES)]
    clean = CLEAN_FRAMES // DEVICES
    length = before + clean + EPISODE_FRAMES * max(map(len, shares))

    def device(share: list[Episode]) -> tuple[Part, ...]:
        shown = _Shown(rng, scene)
        gap = clean // (len(share) + 1)
        shown.add(CLEAN, before + gap, frames.clean)
        for kind, shifts in share:
            for shift in shifts:
                shown.add(kind, EPISODE_FRAMES // len(shifts), shift.frames)
            shown.add(CLEAN, gap, frames.clean)
        shown.add(CLEAN, length - shown.frames, frames.clean)
        return tuple(shown.parts)

    return FieldStreams(before, tuple(device(share) for share in shares))


def clean_scenes(frames: SplitFrames, count: int, scene: int, seed: int) -> Frames:
    """So many clean frames of one device, in scenes."""
    shown = _Shown(np.random.default_rng([seed, 24]), scene)
    shown.add(CLEAN, count, frames.clean)
    return taken(frames.clean, shown.parts[0].rows)


def paper_streams(frames: SplitFrames, before: int, seed: int) -> FieldStreams:
    """As the paper has them (data/streams.py), one for each device, behind its baseline."""
    return FieldStreams(
        before,
        tuple(_paper_stream(frames, before, seed, device) for device in range(_PAPER_DEVICES)),
    )


def _paper_stream(frames: SplitFrames, before: int, seed: int, device: int) -> tuple[Part, ...]:
    rng = np.random.default_rng([seed, 23, device])
    by_name = _by_name(frames)
    types = [str(name) for name in rng.permutation(list(by_name))]
    shown = _Shown(rng)
    shown.add(CLEAN, before + paper.CLEAN_FRAMES, frames.clean)
    cycle = 0
    for step in SEVERITIES:
        for _ in range(paper.CORRUPTED_FRAMES // paper.CYCLE):
            shifts = by_name[types[cycle % len(types)]]
            shift = min(shifts, key=lambda s: abs(s.severity - step))
            shown.add(SUDDEN, paper.CYCLE, shift.frames)
            cycle += 1
        if step < SEVERITIES[-1] and frames.foreign:
            foreign = frames.foreign[(step - 1) % len(frames.foreign)]
            shown.add(SUDDEN, paper.FOREIGN_FRAMES, foreign.frames)
    return tuple(shown.parts)


class _Shown:
    """What a device is shown, part after part; scene: frames that an example stays, on average."""

    def __init__(self, rng: np.random.Generator, scene: int = 1) -> None:
        self._rng, self._scene = rng, scene
        self.parts: list[Part] = []

    @property
    def frames(self) -> int:
        return sum(len(part.rows) for part in self.parts)

    def add(self, kind: str, count: int, frames: Frames) -> None:
        rows = self._rng.integers(0, len(frames), count)
        if self._scene > 1:
            stays = self._rng.geometric(1 / self._scene, count)
            rows = np.repeat(rows, stays)[:count]
        self.parts.append(Part(kind, rows, frames))


def _episodes(frames: SplitFrames, rng: np.random.Generator) -> list[Episode]:
    by_name = _by_name(frames)
    episodes: list[Episode] = [(SUDDEN, (shift,)) for shift in frames.foreign]
    while len(episodes) < FEWEST_EPISODES:
        for shifts in by_name.values():
            episodes.append((SUDDEN, (shifts[rng.integers(len(shifts))],)))
            if len(shifts) > 1:
                episodes.append((GRADUAL, (*shifts, *reversed(shifts))))
    return [episodes[i] for i in rng.permutation(len(episodes))]


def _by_name(frames: SplitFrames) -> dict[str, list[Shift]]:
    """By type, the mildest first."""
    by_name: dict[str, list[Shift]] = {}
    for shift in sorted(frames.shifts, key=lambda s: s.severity):
        by_name.setdefault(shift.name, []).append(shift)
    return by_name
