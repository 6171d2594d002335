"""Accuracy-drop events on a labelled copy of a stream (paper, appendix D).

An event is active while the accuracy over the last 100 frames is more than three deviations below
its mean on clean data. Events closer than a window are one, shorter ones are none.
"""

from dataclasses import dataclass

import numpy as np

from snapcli.array import Array, Bools

WINDOW = 100
_DEVIATIONS = 3.0


@dataclass(frozen=True)
class Event:
    """Frames onset to offset - 1; offset is the first frame after recovery."""

    onset: int
    offset: int


@dataclass(frozen=True)
class Band:
    """Mean and deviation of the windowed accuracy on clean data."""

    mean: float
    deviation: float

    @property
    def lower(self) -> float:
        return self.mean - _DEVIATIONS * self.deviation


def windowed_accuracy(correct: Bools, window: int = WINDOW) -> Array:
    """[n]: over the last `window` frames; NaN where there are not so many yet."""
    total = np.concatenate([[0], np.cumsum(correct)])
    accuracy = np.full(len(correct), np.nan)
    accuracy[window - 1 :] = (total[window:] - total[:-window]) / window
    return accuracy


def normal_band(correct: Bools, window: int = WINDOW) -> Band:
    """Of a clean run that is at least one window long."""
    accuracy = windowed_accuracy(correct, window)[window - 1 :]
    return Band(float(accuracy.mean()), float(accuracy.std()))


def find_events(correct: Bools, band: Band, window: int = WINDOW) -> tuple[Event, ...]:
    """In order; correct [n] is False for every foreign frame."""
    with np.errstate(invalid="ignore"):
        low = windowed_accuracy(correct, window) < band.lower
    edges = np.diff(np.concatenate([[0], low.astype(np.int8), [0]]))
    events: list[Event] = []
    for onset, offset in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        if events and onset - events[-1].offset < window:
            events[-1] = Event(events[-1].onset, int(offset))
        else:
            events.append(Event(int(onset), int(offset)))
    return tuple(event for event in events if event.offset - event.onset >= window)


def event_frames(events: tuple[Event, ...], frames: int) -> Bools:
    """[frames]: whether an event is active."""
    active = np.zeros(frames, bool)
    for event in events:
        active[event.onset : event.offset] = True
    return active
