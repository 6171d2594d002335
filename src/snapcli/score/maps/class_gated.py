"""As the gated maps, but told which class was answered: class-gated; and how near: evidence."""

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.config import EVIDENCE, FitOptions
from snapcli.score.maps.features import Features
from snapcli.score.maps.gated import USUAL
from snapcli.score.maps.hidden import HiddenUnit, added, fit_hidden
from snapcli.score.maps.regression import intercept, sigmoid

# The least excess at which an input counts as wholly strange: data that are hardly corrupted must
# not make a switch of it.
_LEAST_CAP = 0.3
# What the losses weigh against the ridge.
_LOSS_WEIGHT = 0.1
# What an offset counts for its share of the ridge, and the errors of an answer at which it counts
# for half of that: an answer with few errors has next to no offset, however often it was right.
_REACH, _FEW_ERRORS = 0.5, 5.0


@dataclass(frozen=True)
class TapGate:
    """Of one tap: g = max(0, ln e - theta) is its excess; at g = cap an input is wholly strange."""

    slope: float
    theta: float
    cap: float


@dataclass(frozen=True)
class ClassGatedMap:
    """U = sigmoid(b0 + b2 l + familiar min(0, l) (1 - o) + sum over taps of slope g
    + own ln d_own + ratio ln(d_own / d_next) + offset[answer] + strange_offset[answer] o)

    l: the error logit; o = min(1, max over taps of g / cap): how strange the input is, in [0, 1];
    0 without taps. familiar: what confidence counts more on inputs that are not strange. own,
    ratio: of the distances to the answered and to the nearest other class, 0 unless the map is
    called evidence. offset, strange_offset [classes]. No slope is negative and no strange_offset
    below -min(slope cap), so at a fixed answer U never falls with the surprise of a tap, the error
    logit or the way from the answered class, nor as another class comes nearer; unless there is a
    hidden layer, which promises nothing.

    Worked example, for two inputs with p = 0.9 and an excess of 1, which is wholly strange. The
    answer 1 is wrong more often there:

    >>> u = ClassGatedMap("class-gated", b0=0.0, b2=1.0, familiar=0.5,
    ...     taps=(TapGate(slope=2.0, theta=0.5, cap=1.0),),
    ...     offset=(0.0, 0.0), strange_offset=(0.0, 1.0))
    >>> surprisal, l = np.exp([1.5, 1.5]), np.full(2, np.log(0.1 / 0.9))
    >>> u(Features(surprisal, l, l, surprisal[:, None], np.array([0, 1]), classes=2)).round(2)
    array([0.45, 0.69])
    """

    kind: str
    b0: float
    b2: float
    familiar: float
    taps: tuple[TapGate, ...]
    offset: tuple[float, ...]
    strange_offset: tuple[float, ...]
    own: float = 0.0
    ratio: float = 0.0
    hidden: tuple[HiddenUnit, ...] = ()

    def __call__(self, features: Features) -> Array:
        return sigmoid(self.rank(features))

    def rank(self, features: Features) -> Array:
        """The logit of U, which still tells inputs apart where U has rounded to 1."""
        slope, theta, cap = np.array([astuple(tap) for tap in self.taps]).reshape(-1, 3).T
        excess = np.maximum(0.0, features.log_surprisal() - theta)
        strange = _strange(excess, cap)
        near = [self.own, self.ratio] if self.reads_distance else []
        slopes = np.array([self.b2, self.familiar, *slope, *near])
        tables = np.array(self.offset), np.array(self.strange_offset)
        columns = _columns(features, excess, strange, self.reads_distance)
        linear = _linear(columns, strange, slopes, *tables, features.answer)
        return self.b0 + linear + added(self.hidden, features)

    @property
    def reads_distance(self) -> bool:
        return self.kind == EVIDENCE


def fit_class_gated(
    kind: str, features: Features, wrong: Bools, clean: Bools, how: FitOptions
) -> ClassGatedMap:
    """theta is the usual range on clean data, cap the median excess on corrupted. One ridge holds
    all slopes and offsets near 0; clean data weigh at most as much as corrupted. Without
    class_offsets both tables are 0."""
    x = features.log_surprisal()
    taps = x.shape[1]
    theta = np.quantile(x[clean], USUAL, axis=0)
    excess = np.maximum(0.0, x - theta)
    cap = np.full(taps, _LEAST_CAP)
    if not clean.all():
        cap = np.maximum(cap, np.median(excess[~clean], axis=0))
    strange = _strange(excess, cap)
    columns = _columns(features, excess, strange, kind == EVIDENCE)
    errors = np.bincount(features.answer[wrong], minlength=features.classes)
    reach = (_REACH if how.class_offsets else 0.0) * errors / (errors + _FEW_ERRORS)
    slopes, offset, strange_offset = _regress(
        columns, strange, features, wrong, _weights(wrong, clean, how.balanced), reach
    )
    # More surprise makes an input stranger, too: what this takes off an answer must not exceed
    # what the slopes add.
    slope = slopes[2 : 2 + taps]
    strange_offset = np.maximum(strange_offset, -np.min(slope * cap, initial=np.inf))
    linear = _linear(columns, strange, slopes, offset, strange_offset, features.answer)
    hidden: tuple[HiddenUnit, ...] = ()
    if how.hidden and kind == EVIDENCE:
        start = linear + intercept(linear, wrong)
        weight = _weights(wrong, clean, how.balanced)
        hidden = fit_hidden(features, start, wrong, weight, how.hidden, how.class_offsets)
        linear = linear + added(hidden, features)
    parts = zip(slope.tolist(), theta.tolist(), cap.tolist(), strict=True)
    own, ratio = slopes[2 + taps :] if kind == EVIDENCE else (0.0, 0.0)
    return ClassGatedMap(
        kind,
        intercept(linear, wrong),
        float(slopes[0]),
        float(slopes[1]),
        tuple(TapGate(*part) for part in parts),
        tuple(offset.tolist()),
        tuple(strange_offset.tolist()),
        float(own),
        float(ratio),
        hidden,
    )


def _strange(excess: Array, cap: Array) -> Array:
    return np.minimum(1.0, np.max(excess / cap, axis=-1, initial=0.0))


def _columns(features: Features, excess: Array, strange: Array, distances: bool) -> Array:
    """What has a slope that is not negative, [n, 2 + taps], with distances [n, 4 + taps]."""
    familiar = np.minimum(0.0, features.error_logit) * (1.0 - strange)
    columns = [features.error_logit, familiar, excess]
    if distances:
        own = features.log_own()
        columns += [own, own - features.log_next()]
    return np.column_stack(columns)


def _linear(
    columns: Array,
    strange: Array,
    slopes: Array,
    offset: Array,
    strange_offset: Array,
    answer: NDArray[np.int64],
) -> Array:
    return np.asarray(columns @ slopes + offset[answer] + strange_offset[answer] * strange)


def _weights(wrong: Bools, clean: Bools, balanced: bool) -> Array:
    weight = np.ones(len(wrong))
    if not clean.all():
        weight[clean] = min(1.0, (~clean).sum() / clean.sum())
    if balanced and 0 < wrong.sum() < len(wrong):
        half = weight.sum() / 2
        for part in (wrong, ~wrong):
            weight[part] *= half / weight[part].sum()
    return weight


def _regress(
    columns: Array,
    strange: Array,
    features: Features,
    wrong: Bools,
    weight: Array,
    reach: Array,
) -> tuple[Array, Array, Array]:
    """Slopes [columns] and the two tables [classes], by L-BFGS with slopes of at least 0. reach
    [classes]: what an offset counts for its share of the ridge."""
    from scipy.optimize import minimize

    answer, classes, k = features.answer, features.classes, columns.shape[1]
    if not 0 < wrong.sum() < len(wrong):
        return np.zeros(k), np.zeros(classes), np.zeros(classes)
    # A constant column says nothing, and dividing by its deviation would drown the others.
    scale = np.where(np.ptp(columns, axis=0) > 0, columns.std(axis=0), np.inf)
    x = (columns - columns.mean(axis=0)) / scale
    ends = np.cumsum([1, k, classes])

    def sums(values: Array) -> Array:
        return np.bincount(answer, values, classes).astype(np.float64)

    def loss(parameters: Array) -> tuple[float, Array]:
        b0, slopes, offset, strange_offset = np.split(parameters, ends)
        t = b0 + _linear(x, strange, slopes, reach * offset, reach * strange_offset, answer)
        held = np.concatenate([[0.0], parameters[1:]])
        losses = weight @ (np.logaddexp(0.0, t) - wrong * t)
        residual = _LOSS_WEIGHT * weight * (sigmoid(t) - wrong)
        tables = reach * sums(residual), reach * sums(residual * strange)
        pull = [[residual.sum()], residual @ x, *tables]
        return _LOSS_WEIGHT * losses + held @ held / 2, np.concatenate(pull) + held

    free = (None, None)
    bounds = [free, *[(0.0, None)] * k, *[free] * (2 * classes)]
    start = np.zeros(len(bounds))
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    _, slopes, offset, strange_offset = np.split(fitted.x, ends)
    return slopes / scale, reach * offset, reach * strange_offset
