"""How well a score tells events on a stream (paper, appendix E). An alarm is score >= threshold."""

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.metrics.bootstrap import Interval, interval
from snapcli.metrics.events import Event
from snapcli.metrics.ranking import Ranked
from snapcli.metrics.ties import ROUNDING, Weights, grouped

FEWEST_EVENTS = 10
"""With fewer, the delay has no interval."""


def event_weights(events: tuple[Event, ...], frames: int) -> Array:
    """[frames], sum 1: every event weighs the same, and so does all that is outside of events."""
    weights = np.ones(frames)
    background = np.ones(frames, bool)
    for event in events:
        weights[event.onset : event.offset] = 1 / (event.offset - event.onset)
        background[event.onset : event.offset] = False
    weights[background] = 1 / max(int(background.sum()), 1)
    return weights / weights.sum()


def frame_auprc(active: Bools, score: NDArray[np.number], weights: Weights) -> Array:
    """[B]: average precision of finding frames in an event. With weights [B, n] times
    `event_weights` long events count no more than short ones."""
    return Ranked(active, score).average_precision(weights)


def threshold_by_f1(score: NDArray[np.number], active: Bools) -> float:
    """The score with the best F1, the lowest of equals; infinite if no frame is active."""
    if not active.any():
        return float("inf")
    groups = grouped(score)
    refused = np.append(0, groups.ends[:-1] + 1)
    missed = np.append(0, np.cumsum(active[groups.order])[groups.ends[:-1]])
    hits, alarms = active.sum() - missed, len(score) - refused
    # From whole numbers: equals are equal.
    best = int(np.argmax(2 * hits / (active.sum() + alarms)))
    return float(score[groups.order[groups.ends[best]]])


def threshold_by_recall(score: NDArray[np.number], active: Bools, recall: float = 0.9) -> float:
    """The largest that finds so many of the active frames; infinite if no frame is active."""
    if not active.any():
        return float("inf")
    needed = max(int(np.ceil(recall * active.sum() - ROUNDING)), 1)
    return float(np.sort(score[active])[-needed])


def delays(events: tuple[Event, ...], alarm: Bools) -> Array:
    """[events]: frames from the onset to the first alarm within the event, nan if there is none."""
    alarms = [np.flatnonzero(alarm[event.onset : event.offset])[:1] for event in events]
    return np.array([first[0] if len(first) else np.nan for first in alarms], np.float64)


def miss_rate(delays: Array) -> float:
    """Share of events without an alarm; nan without events."""
    return float(np.isnan(delays).mean()) if len(delays) else float("nan")


def delay_interval(delays: Array, replicates: int, seed: int) -> Interval:
    """Median over detected events, in frames; events are resampled, the missed ones too."""
    if len(delays) < FEWEST_EVENTS:
        return Interval(_median(delays), float("nan"), float("nan"))
    drawn = np.random.default_rng(seed).integers(0, len(delays), (replicates, len(delays)))
    return interval(_median(delays), np.array([_median(row) for row in delays[drawn]]))


def false_positive_rate(score: NDArray[np.number], clean: Bools, threshold: float) -> float:
    """Share of the clean frames with an alarm; nan without clean frames."""
    return float(np.mean(score[clean] >= threshold)) if clean.any() else float("nan")


def _median(delays: Array) -> float:
    detected = delays[~np.isnan(delays)]
    return float(np.median(detected)) if len(detected) else float("nan")
