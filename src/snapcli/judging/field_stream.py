"""Long streams for judging alarms: devices that see clean frames, episodes of every corruption,
and clean frames again.

Their frames are the scored examples of the conditions, drawn again and again: there are not as many
examples as frames. Dev and test streams share no example.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.judging.shifts import Frames, Shift, SplitFrames, taken

CLEAN_FRAMES, EPISODE_FRAMES, FEWEST_EPISODES, DEVICES = 50_000, 400, 20, 10
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

    def _columns(self, column: Callable[[Frames], NDArray]) -> NDArray:
        rows = [[column(taken(p.frames, p.rows)) for p in parts] for parts in self.devices]
        return np.stack([np.concatenate(row) for row in rows])


def field_streams(frames: SplitFrames, before: int, seed: int) -> FieldStreams:
    """Every type comes suddenly, at a severity drawn by lot, and where it has several of them also
    gradually, up and down again; again in other severities until there are enough episodes. Every
    foreign set comes suddenly."""
    rng = np.random.default_rng([seed, 22])
    episodes = _episodes(frames, rng)
    shares = [episodes[i::DEVICES] for i in range(DEVICES)]
    clean = CLEAN_FRAMES // DEVICES
    length = before + clean + EPISODE_FRAMES * max(map(len, shares))

    def device(share: list[Episode]) -> tuple[Part, ...]:
        parts: list[Part] = []

        def show(kind: str, count: int, shown: Frames) -> None:
            parts.append(Part(kind, rng.integers(0, len(shown), count), shown))

        gap = clean // (len(share) + 1)
        show(CLEAN, before + gap, frames.clean)
        for kind, shifts in share:
            for shift in shifts:
                show(kind, EPISODE_FRAMES // len(shifts), shift.frames)
            show(CLEAN, gap, frames.clean)
        show(CLEAN, length - sum(len(part.rows) for part in parts), frames.clean)
        return tuple(parts)

    return FieldStreams(before, tuple(device(share) for share in shares))


def _episodes(frames: SplitFrames, rng: np.random.Generator) -> list[Episode]:
    by_name: dict[str, list[Shift]] = {}
    for shift in sorted(frames.shifts, key=lambda s: s.severity):
        by_name.setdefault(shift.name, []).append(shift)
    episodes: list[Episode] = [(SUDDEN, (shift,)) for shift in frames.foreign]
    while len(episodes) < FEWEST_EPISODES:
        for shifts in by_name.values():
            episodes.append((SUDDEN, (shifts[rng.integers(len(shifts))],)))
            if len(shifts) > 1:
                episodes.append((GRADUAL, (*shifts, *reversed(shifts))))
    return [episodes[i] for i in rng.permutation(len(episodes))]
