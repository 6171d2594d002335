"""An alarm for accuracy that drops: evidence by bins of a score, and a detector that adds it up.

A frame's evidence is ln(share of its bin in harmful dev data / in clean dev data), a log of how
much more often it is seen when accuracy has dropped. Less its offset, ln of what it earns on
average on clean frames, exp(evidence) is a fair bet against "all is well": its mean is at most 1.

What a sum promises (betting): where frames are drawn independently and every bet is fair,
M = max(M, 1) * bet is an e-detector, never above the sum over all starts of what was won since,
whose mean after t frames is at most t. So the first M >= m takes m frames or more on average
(Shin, Ramdas and Rinaldo, E-detectors, 2024). Bets are fair where clean frames of the field fall
into the bins as those did that the offset was taken from, dev's or those of a device's own
baseline; what so few frames leave open is added to it, as sure as SURE.

Frames that follow each other tell less. A block is how many tell as much as one; frames are then
taken for runs of so many that are all the same. The sum of a run is a block times the evidence of
one frame, so thresholds are those of independent frames, as many fewer and a block times as high.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from snapcli import fixedpoint as fx
from snapcli.array import Array
from snapcli.config import DETECTORS, SUMS
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
_BASELINES = 500
# Of the offsets that baselines come to, the levels between which one stands for all: the few low
# ones, whose alarms are too keen, make most of the false alarms.
_LEVELS = np.array([0, 0.004, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.6, 1.0])
# A baseline may leave so little evidence that the most harmful shift takes this many frames.
_PATIENCE = 200
# The statistic of a mean or a window falls so much of the way to its usual place before an alarm
# ends, and comes so much of the way from there to where harmful data are as likely as harmless
# before one begins: where errors are rare the false alarms asked for leave a threshold that every
# harmless shift would reach.
_BACK, _TOWARDS = 0.5, 0.6
# A mean is held against the mean of a device's own frames. Of evidence that is so small, ln of the
# mean of exp, which is what a device takes from its baseline, is just that.
_FINE = 16
# Of a normal number, as sure as SURE on one side.
_DEVIATIONS = 1.645
# Blocks that are longer leave a memory of 64 frames with less than one.
BLOCK_MOST = 64


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
        return float(self._offsets(shares, examples, sure))

    def _offsets(self, shares: Array, examples: int, sure: float) -> Array:
        """shares [..., bins] -> [...]"""
        top = float(self.nats[-1])
        earned = examples * (shares @ np.exp(self.nats - top))
        most = earned + sure + np.sqrt(sure * sure + 2 * earned * sure)
        return np.asarray(top + np.log(most / examples))

    def offsets(self, shares: Array, baseline: int, block: int, sure: float) -> Array:
        """Those that many baselines of so many frames come to: what one of them happens to hold
        makes its alarm keener or duller for good."""
        runs = max(baseline // block, 1)
        drawn = np.random.default_rng(0).multinomial(runs, shares, _BASELINES) / runs
        return self._offsets(drawn, baseline, sure)


@dataclass(frozen=True, eq=False)
class FittedAlarm:
    """expected: frames until a false alarm, on average, if clean frames are like clean dev data;
    doubted: the same for other clean data that so many examples leave possible, by the threshold
    (betting: what was asked for, since its offset is as sure as SURE). growth: nats that a frame
    of a harmful shift earns; blind: share of clean baselines after which the alarm sounds at
    once."""

    detector: str
    device: fx.Alarm
    gains: Gains
    expected: float
    doubted: Sequence[run_length.RunLength]
    growth: float
    blind: float

    @cached_property
    def at_least(self) -> float:
        """Frames until a false alarm, on average, as sure as SURE."""
        threshold = self.device.threshold_q16 / ONE_Q16
        return min(self.expected, *(length(threshold) for length in self.doubted))

    @property
    def threshold(self) -> float:
        """Nats; of a mean or a window: on average over its frames, above a device's own."""
        each = self.device.threshold_q16 / ONE_Q16
        return each if self.detector in SUMS else each * _FINE / _MEMORY


def fit_gains(scores: ShiftScores, sure: float, baseline: int) -> Gains:
    """The largest gain is the one with most evidence in harmful data after the offset: rare bins
    earn much, and cost much when few examples say how rare they are."""
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
        return Gains(edges, np.minimum(nats, cap), clean, harmful)

    def growth(gains: Gains) -> float:
        offset = gains.offset(gains.shares, examples, sure)
        return float(harmful @ gains.nats) - offset

    most = min(float(nats[-1]), _LARGEST)
    return max((capped(most * k / 12) for k in range(2, 13)), key=growth)


def fit_alarm(
    detector: str, scores: ShiftScores, frames: float, block: int, baseline: int
) -> FittedAlarm:
    """frames: between false alarms, on average, of a stream without a shift; block: frames that
    tell as much as one, 1 to BLOCK_MOST; baseline: frames by which a device sets its own offset,
    0: it keeps that of dev data, whose examples are drawn independently."""
    summed = detector in SUMS
    sure = _LN_DOUBT * (block if baseline else 1) if detector == BETTING else 0.0
    gains = fit_gains(scores, sure, baseline)
    if not summed:
        gains = replace(gains, nats=gains.nats / _FINE)
    shares = gains.shares
    offset = gains.offset(shares, baseline or int(gains.clean.sum()), sure)
    usual, even = _MEMORY * (float(shares @ gains.nats) - offset), -_MEMORY * offset

    def baselines(clean: Array) -> Array:
        return gains.offsets(clean, baseline, block, sure) if baseline else np.array([offset])

    def silence(clean: Array) -> run_length.RunLength:
        return silence_of(detector, gains.nats, clean, baselines(clean), block)

    silent = silence(shares)
    if detector == BETTING:
        threshold = block * math.log(max(frames / block, 2.0))
    elif detector == CUSUM:
        most = 2 * block * math.log(frames)
        threshold = run_length.threshold_for(silent, frames, 0.01, most)
    else:
        top = _MEMORY * (float(gains.nats.max()) - offset)
        threshold = run_length.threshold_for(silent, frames, usual, top)
        threshold = max(threshold, usual + _TOWARDS * (even - usual))
    pace = threshold / (_PATIENCE * block if summed else _MEMORY)
    growth = float(gains.harmful @ gains.nats)
    strongest = max(float(_mean_shares(gains.edges, [v]) @ gains.nats) for v in scores.harmful)
    limit = max(strongest - pace, offset)
    device = fx.Alarm(
        detector=_ON_DEVICE[detector],
        edge_q16=_padded(gains.edges, fx.ALARM_BINS - 1),
        gain_q16=_gains_q16(gains.nats),
        threshold_q16=_q16(threshold),
        clear_q16=0 if summed else _q16(threshold + _BACK * (usual - threshold)),
        start_q16=_q16(usual) if detector == EWMA else 0,
        offset_q16=_q16(offset),
        limit_q16=_q16(limit),
        baseline=baseline,
        confidence_q16=_q16(sure),
    )
    doubted: list[run_length.RunLength]
    if detector == BETTING:
        doubted = [lambda _: frames]
    elif baseline:
        doubted = [silence(each) for each in _redrawn(gains.clean)]
    else:
        # Heavier tails sound more often; a baseline would see them first.
        doubted = [silence(_worst_shares(gains.clean))]
    return FittedAlarm(
        detector=detector,
        device=device,
        gains=gains,
        expected=silent(threshold),
        doubted=doubted,
        growth=growth - offset,
        blind=float(np.mean(baselines(shares) > limit)),
    )


def silence_of(
    detector: str, nats: Array, shares: Array, offsets: Array, block: int
) -> run_length.RunLength:
    """Frames until a false alarm where clean frames have these shares; of many devices, whose
    baselines came to these offsets: the inverse of their mean rate."""
    several, weights = offsets, np.ones(1)
    if len(offsets) > 1:
        several = np.quantile(offsets, (_LEVELS[1:] + _LEVELS[:-1]) / 2)
        weights = np.diff(_LEVELS)
    runs = [_run_length(detector, shares, block * (nats - each), block) for each in several]

    def frames(threshold: float) -> float:
        rates = [1 / max(length(threshold), 1.0) for length in runs]
        return block / float(weights @ np.array(rates))

    return frames


def block_of(stream: NDArray[np.uint32], usual: NDArray[np.uint32]) -> int:
    """How many frames of a stream tell as much about its mean as one that is drawn independently,
    at most, as sure as SURE: 1 + 2 sum of autocorrelations, up to the first that is not positive,
    and what so short a stream leaves open (Sokal's deviation of that sum). Of ranks among the usual
    values, because few large values would hide how the others follow each other. All of them, where
    the stream stands still."""
    ranks = np.searchsorted(np.sort(usual), stream).astype(np.float64)
    centred = ranks - ranks.mean()
    power = np.abs(np.fft.rfft(centred, 2 * len(ranks))) ** 2
    correlation = np.fft.irfft(power)[: len(ranks)]
    if correlation[0] <= 0:
        return len(stream)
    correlation /= correlation[0]
    ends = np.flatnonzero(correlation <= 0)
    last = int(ends[0]) if len(ends) else len(correlation)
    depends = 2 * float(correlation[1:last].sum())
    doubt = _DEVIATIONS * math.sqrt((4 * last - 2) / len(ranks))
    return max(1, round(1 + depends * (1 + doubt)))


def _run_length(detector: str, shares: Array, evidence: Array, block: int) -> run_length.RunLength:
    """In blocks, with the evidence of one."""
    if detector == EWMA:
        return run_length.of_mean(shares, evidence, _MEMORY / block)
    if detector == WINDOW:
        return run_length.of_window(shares, evidence, fx.ALARM_WINDOW_FRAMES // block)
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


def _redrawn(counts: NDArray[np.int64]) -> list[Array]:
    """Shares that as many examples may have shown as well; the least that any of them gives is a
    bound that is about as sure as SURE."""
    n, drawn = int(counts.sum()), round(1 / (1 - SURE)) - 1
    rng = np.random.default_rng(0)
    return [_smoothed(rng.multinomial(n, _smoothed(counts))) for _ in range(drawn)]


def _padded(edges: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    return np.concatenate([edges, np.full(size - len(edges), fx.NO_EDGE, np.uint32)])


def _gains_q16(nats: Array) -> NDArray[np.int32]:
    """Bins that no score reaches repeat the last."""
    every = np.concatenate([nats, np.full(fx.ALARM_BINS - len(nats), nats[-1])])
    return np.rint(every * ONE_Q16).astype(np.int32)


def _q16(value: float) -> int:
    return round(value * ONE_Q16)
