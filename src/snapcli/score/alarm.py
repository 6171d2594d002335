"""An alarm for accuracy that drops: evidence by bins of a score, and a detector that adds it up.

A frame's evidence is ln(share of its bin in harmful dev data / in clean dev data), a log of how
much more often it is seen when accuracy has dropped. Less its offset, ln of what it earns on
average on clean frames, exp(evidence) is a fair bet against "all is well" (its mean is at most 1),
which is what Ville's inequality needs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from snapcli import fixedpoint as fx
from snapcli.array import Array
from snapcli.config import DETECTORS
from snapcli.score import run_length

BETTING, CUSUM, EWMA, WINDOW = DETECTORS
_ON_DEVICE = {
    BETTING: fx.ALARM_SUM,
    CUSUM: fx.ALARM_SUM,
    EWMA: fx.ALARM_MEAN,
    WINDOW: fx.ALARM_WINDOW,
}
ONE_Q16 = 65536
_MEMORY = 1 << fx.ALARM_MEAN_BITS
# Bound and baseline of a bet are right with this confidence.
SURE = 0.95
_LN_DOUBT = -math.log(1 - SURE)
# Shares of the likelihood ratio: harmless shifts in what is normal, normal frames in what is
# harmful. The first keeps an alarm from shifts that cost nothing, the second from being certain.
_HARMLESS, _NORMAL = 0.5, 0.1
_PRIOR = 0.5  # examples in each bin beside those that were seen
_LARGEST = 7.0  # nats
_BASELINES, _QUANTILES = 500, 7
# A baseline may leave so little evidence that a harmful shift takes this many frames.
_PATIENCE = 200
# The statistic of a mean or a window falls half the way to its usual place before an alarm ends.
_HALF = 0.5


@dataclass(frozen=True, eq=False)
class ShiftScores:
    """A score of dev data, uint32 each: clean examples, and shifts sorted by what they cost."""

    clean: NDArray[np.uint32]
    harmful: Sequence[NDArray[np.uint32]]
    harmless: Sequence[NDArray[np.uint32]]


@dataclass(frozen=True, eq=False)
class Gains:
    """edges uint32, ascending, at most 15; nats [edges + 1], not descending. clean: how many
    examples of each bin; harmful [edges + 1]: shares, mean over shifts."""

    edges: NDArray[np.uint32]
    nats: Array
    clean: NDArray[np.int64]
    harmful: Array

    @property
    def shares(self) -> Array:
        """Of clean frames, smoothed."""
        return _smoothed(self.clean)

    def offset(self, shares: Array, examples: int, sure: float) -> float:
        """ln of the most that a clean frame earns on average; sure: of the Chernoff bound, 0 for
        the mean itself. As the device does with a baseline of so many frames."""
        top = float(self.nats[-1])
        earned = examples * float(shares @ np.exp(self.nats - top))
        most = earned + sure + math.sqrt(sure * sure + 2 * earned * sure)
        return top + math.log(most / examples)

    def offsets(self, shares: Array, baseline: int, sure: float) -> Array:
        """Those that baselines of so many frames come to, at quantiles of their distribution:
        what one baseline happens to hold makes its alarm keener or duller for good."""
        drawn = np.random.default_rng(0).multinomial(baseline, shares, _BASELINES) / baseline
        found = [self.offset(row, baseline, sure) for row in drawn]
        return np.quantile(found, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)


@dataclass(frozen=True, eq=False)
class FittedAlarm:
    """expected: frames until a false alarm, on average, if clean frames are like clean dev data;
    at_least: the same as sure as SURE, from the number of examples alone (betting: from the
    offset, which is that sure). All in frames that are drawn independently."""

    detector: str
    device: fx.Alarm
    gains: Gains
    expected: float
    at_least: float
    growth: float


def fit_gains(scores: ShiftScores, block: int, sure: float, baseline: int) -> Gains:
    """block: frames that tell as much as one, because they follow each other. The largest gain is
    the one with most evidence in harmful data after the offset: rare bins earn much, and cost much
    when few examples say how rare they are."""
    edges = _edges(scores)
    clean = np.bincount(_bins(edges, scores.clean), minlength=len(edges) + 1)
    harmful = _mean_shares(edges, scores.harmful)
    usual = _smoothed(clean)
    if scores.harmless:
        usual = (1 - _HARMLESS) * usual + _HARMLESS * _mean_shares(edges, scores.harmless)
    ratio = _NORMAL + (1 - _NORMAL) * harmful / usual
    nats = np.log(np.maximum.accumulate(ratio))
    examples = baseline or int(clean.sum())

    def capped(cap: float) -> Gains:
        return Gains(edges, np.minimum(nats, cap) / block, clean, harmful)

    def growth(gains: Gains) -> float:
        offset = gains.offset(gains.shares, examples, sure)
        return float(harmful @ gains.nats) - offset

    most = min(float(nats[-1]), _LARGEST)
    return max((capped(most * k / 12) for k in range(2, 13)), key=growth)


def fit_alarm(
    detector: str, scores: ShiftScores, frames: float, block: int, baseline: int
) -> FittedAlarm:
    """frames: between false alarms, on average, of a stream without a shift."""
    sure = _LN_DOUBT if detector == BETTING else 0.0
    gains = fit_gains(scores, block, sure, baseline)
    shares, examples = gains.shares, int(gains.clean.sum())
    offset = gains.offset(shares, examples, sure)
    usual = _MEMORY * (float(shares @ gains.nats) - offset)
    silent = _silence(detector, gains, shares, offset, baseline)
    if detector == BETTING:
        threshold = math.log(frames)
    elif detector == CUSUM:
        threshold = run_length.threshold_for(silent, frames, 0.01, 2 * math.log(frames))
    else:
        top = _MEMORY * (float(gains.nats.max()) - offset)
        threshold = run_length.threshold_for(silent, frames, usual, top)
    summed = detector in (BETTING, CUSUM)
    pace = threshold / (_PATIENCE * block if summed else _MEMORY)
    growth = float(gains.harmful @ gains.nats)
    device = fx.Alarm(
        detector=_ON_DEVICE[detector],
        edge_q16=_padded(gains.edges, fx.ALARM_BINS - 1),
        gain_q16=_gains_q16(gains.nats),
        threshold_q16=_q16(threshold),
        clear_q16=0 if summed else _q16(threshold + _HALF * (usual - threshold)),
        start_q16=_q16(usual) if detector == EWMA else 0,
        offset_q16=_q16(offset),
        limit_q16=_q16(max(growth - pace, offset)),
        baseline=baseline,
        confidence_q16=_q16(sure),
    )
    worst = _silence(detector, gains, _worst_shares(gains.clean), offset, 0)
    return FittedAlarm(
        detector=detector,
        device=device,
        gains=gains,
        expected=silent(threshold),
        at_least=frames if detector == BETTING else worst(threshold),
        growth=growth - offset,
    )


def expected_frames(fitted: FittedAlarm, values: NDArray[np.uint32]) -> float:
    """Until a false alarm, on average, of frames drawn from these, without a baseline."""
    gains, device = fitted.gains, fitted.device
    shares = np.bincount(_bins(gains.edges, values), minlength=len(gains.nats)) / len(values)
    silent = _silence(fitted.detector, gains, shares, device.offset_q16 / ONE_Q16, 0)
    return silent(device.threshold_q16 / ONE_Q16)


def _silence(
    detector: str, gains: Gains, shares: Array, offset: float, baseline: int
) -> run_length.RunLength:
    """Frames until a false alarm where clean frames have these shares; with a baseline, which
    sets the offset, over many devices: the inverse of their mean rate."""
    sure = _LN_DOUBT if detector == BETTING else 0.0
    offsets = gains.offsets(shares, baseline, sure) if baseline else np.array([offset])
    lengths = [_run_length(detector, shares, gains.nats - each) for each in offsets]

    def frames(threshold: float) -> float:
        return 1 / float(np.mean([1 / max(length(threshold), 1.0) for length in lengths]))

    return frames


def block_of(stream: NDArray[np.uint32], usual: NDArray[np.uint32]) -> int:
    """How many frames of a stream tell as much about its mean as one that is drawn independently:
    1 + 2 sum of autocorrelations, up to the first that is not positive. Of ranks among the usual
    values, because few large values would hide how the others follow each other."""
    ranks = np.searchsorted(np.sort(usual), stream).astype(np.float64)
    centred = ranks - ranks.mean()
    power = np.abs(np.fft.rfft(centred, 2 * len(ranks))) ** 2
    correlation = np.fft.irfft(power)[: len(ranks)]
    if correlation[0] <= 0:
        return 1
    correlation /= correlation[0]
    ends = np.flatnonzero(correlation <= 0)
    last = int(ends[0]) if len(ends) else len(correlation)
    return max(1, round(1 + 2 * float(correlation[1:last].sum())))


def _run_length(detector: str, shares: Array, evidence: Array) -> run_length.RunLength:
    if detector == EWMA:
        return run_length.of_mean(shares, evidence, _MEMORY)
    if detector == WINDOW:
        return run_length.of_window(shares, evidence, fx.ALARM_WINDOW_FRAMES)
    return run_length.of_sum(shares, evidence)


def _edges(scores: ShiftScores) -> NDArray[np.uint32]:
    """At quantiles of clean and harmful data together, half of each."""
    levels = np.arange(1, 1001) / 1001
    harmful = [np.quantile(v, levels, method="inverted_cdf") for v in scores.harmful]
    clean = np.quantile(scores.clean, levels, method="inverted_cdf")
    together = np.concatenate([*harmful, *[clean] * len(harmful)])
    cuts = np.arange(1, fx.ALARM_BINS) / fx.ALARM_BINS
    return np.unique(np.quantile(together, cuts, method="higher")).astype(np.uint32)


def _bins(edges: NDArray[np.uint32], values: NDArray[np.uint32]) -> NDArray[np.intp]:
    return np.searchsorted(edges, values, side="right")


def _smoothed(counts: NDArray[np.int64]) -> Array:
    return (counts + _PRIOR) / (counts.sum() + _PRIOR * len(counts))


def _mean_shares(edges: NDArray[np.uint32], shifts: Sequence[NDArray[np.uint32]]) -> Array:
    counts = [np.bincount(_bins(edges, v), minlength=len(edges) + 1) for v in shifts]
    return np.mean([_smoothed(c) for c in counts], axis=0)


def _worst_shares(counts: NDArray[np.int64]) -> Array:
    """With every tail as heavy as so many examples allow (Clopper and Pearson), all of them
    together as sure as SURE."""
    n, edges = int(counts.sum()), len(counts) - 1
    above = np.cumsum(counts[::-1])[::-1][1:]
    doubt = (1 - SURE) / max(edges, 1)
    tails = np.where(above < n, beta.ppf(1 - doubt, above + 1, np.maximum(n - above, 1)), 1.0)
    tails = np.concatenate([[1.0], np.minimum.accumulate(tails), [0.0]])
    return -np.diff(tails)


def _padded(edges: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    return np.concatenate([edges, np.full(size - len(edges), fx.NO_EDGE, np.uint32)])


def _gains_q16(nats: Array) -> NDArray[np.int32]:
    """Bins that no score reaches repeat the last."""
    every = np.concatenate([nats, np.full(fx.ALARM_BINS - len(nats), nats[-1])])
    return np.rint(every * ONE_Q16).astype(np.int32)


def _q16(value: float) -> int:
    return round(value * ONE_Q16)
