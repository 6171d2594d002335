"""F: how foreign an input is, as a rank among clean data. No labels, and no foreign data."""

from collections.abc import Sequence

import numpy as np

from snapcli.array import Array
from snapcli.metrics.detection import ood_detection
from snapcli.score.maps import OWN, SCORE, Features, Gate, GatedMap, log_of

FOREIGN, LOGIT = "foreign", "error logit"
# Where each input stands at 0 and at 1, as shares of clean data.
_USUAL, _RARE = 0.5, 0.95
# AUROC that counts: within this much of the best, the set of inputs that comes first is taken.
_MARGIN = 0.005
# A gate that is always open: no logarithm on the device is below this.
_BELOW_ALL = float(np.floor(log_of(np.zeros(1))[0]))


def fit_foreign(clean: Features, shifted: Sequence[Features]) -> tuple[GatedMap, tuple[str, ...]]:
    """F and what it reads: of the sets of inputs that there are, the one that tells shifted dev
    data best from clean; the first, if nothing is shifted.

    F = sigmoid of a sum of inputs, each of which counts by how far its rare values lie from its
    usual ones on clean data. Its scale is such that half of clean data have F < 0.5 and 95 % have
    F < 0.95; beyond that it goes on as a logistic tail does.
    """
    fits = {inputs: _fitted(clean, inputs) for inputs in _choices(clean)}

    def found(inputs: tuple[str, ...]) -> float:
        measure = fits[inputs].rank
        usual = measure(clean)
        return float(np.mean([ood_detection(usual, measure(s)).auroc for s in shifted]))

    taken = next(iter(fits))
    if shifted:
        figures = {inputs: found(inputs) for inputs in fits}
        best = max(figures.values())
        taken = next(inputs for inputs, auroc in figures.items() if auroc >= best - _MARGIN)
    return fits[taken], taken


def _choices(clean: Features) -> list[tuple[str, ...]]:
    """The simplest first."""
    has_taps, has_distances = clean.surprisal.shape[1] > 0, clean.distances is not None
    choices: list[tuple[str, ...]] = [(SCORE, LOGIT) if has_taps else (LOGIT,)]
    choices += [(LOGIT, OWN)] if has_distances else []
    return choices + ([(SCORE, LOGIT, OWN)] if has_distances and has_taps else [])


def _fitted(clean: Features, inputs: tuple[str, ...]) -> GatedMap:
    columns = {name: _column(clean, name) for name in inputs}
    usual = {name: float(np.quantile(x, _USUAL)) for name, x in columns.items()}
    reach = {name: float(np.quantile(x, _RARE)) - usual[name] for name, x in columns.items()}
    slopes = {name: 1.0 / reach[name] if reach[name] > 0 else 0.0 for name in inputs}
    total = np.sum([slopes[name] * columns[name] for name in inputs], axis=0)
    middle, rare = np.quantile(total, [_USUAL, _RARE])
    unit = float(np.log(_RARE / (1 - _RARE)) / (rare - middle)) if rare > middle else 0.0
    gates = tuple(Gate(name, unit * slopes[name], _BELOW_ALL) for name in inputs if name != LOGIT)
    below = sum(gate.slope * gate.theta for gate in gates)
    return GatedMap(FOREIGN, below - unit * float(middle), unit * slopes[LOGIT], gates)


def _column(features: Features, name: str) -> Array:
    if name == LOGIT:
        return features.error_logit
    return features.log_own() if name == OWN else features.log_score()
