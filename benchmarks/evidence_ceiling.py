"""How far maps could get at all with what a monitor sees: ceilings of "by how much" in
docs/evidence.md.

    python benchmarks/evidence_ceiling.py RUN...

For each run, in the device's numbers, AUROC of errors on test data: of max-probability, of maps
that dev data fitted, judged as `snap quantize` does, and of the same maps and of boosted trees that
were told the right answers of test data: fitted on four fifths of the examples, with every
corruption, judged on the last fifth. No map that is fitted on dev can be expected above these. What
separates the two is what dev data do not show of test data.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from snapcli.array import Array
from snapcli.config import EVIDENCE, FitOptions
from snapcli.data.dataset import Dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.graph.chunks import in_chunks
from snapcli.judging.conditions import conditions
from snapcli.metrics.detection import ErrorDetection, error_detection
from snapcli.monitor.body import RawScores
from snapcli.monitor.decision import on_device
from snapcli.monitor.monitor import Monitor
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.runs import open_run
from snapcli.score.calibration import Condition, Conditions, fit_map, judge
from snapcli.score.maps import Features
from snapcli.score.turns import turns
from snapcli.stages.quantize import with_distance

FOLDS, SEED = 5, 0
MAPS = {
    "gated": ("gated", FitOptions()),
    "class-gated": ("class-gated", FitOptions()),
    EVIDENCE: (EVIDENCE, FitOptions()),
    f"{EVIDENCE}, 16 hidden": (EVIDENCE, FitOptions(hidden=16)),
}
Place = tuple[str, int]  # of a condition: type and severity
CLEAN: Place = ("clean", 0)
Scores = Mapping[Place, Array]


def main() -> None:
    if not sys.argv[1:]:
        sys.exit("usage: python benchmarks/evidence_ceiling.py RUN...")
    for name in sys.argv[1:]:
        _show(name, *_seen(Path(name)))


def _seen(path: Path) -> tuple[Conditions, Conditions, dict[Place, NDArray[np.intp]]]:
    """Dev and test data as the deployed monitor sees them, distances in any case; the test examples
    behind each condition."""
    run = open_run(path, path.parent)
    origin = origin_of(run)
    dataset: Dataset = origin.dataset()
    evaluation = Evaluation(dataset, run_recipe(run).calibrate.limit)
    monitor = origin.deployed().monitor
    body = monitor.body if monitor.body.distance else with_distance(monitor.body, dataset)
    monitor = Monitor(body, monitor.decision)
    features: dict[Key, Features] = {}
    logits: dict[Key, Array] = {}
    scale = np.float64(body.graph.tensors[body.logits_tensor].scale)
    for key, x in evaluation.each():
        if key.split == "ood":
            continue
        parts = [part for _, part in in_chunks(body.run, body.graph.quantize(x))]
        raw = RawScores.concatenate(parts)
        features[key], logits[key] = monitor.features(raw), raw.logits * scale
    dev, test = (conditions(features, logits, evaluation, split) for split in ("dev", "test"))
    rows = {_place(key): evaluation.rows(key) for key in features if key.split == "test"}
    return dev, test, rows


def _place(key: Key) -> Place:
    return CLEAN if key.condition == "clean" else (key.condition, key.severity)


def _show(
    name: str, dev: Conditions, test: Conditions, rows: Mapping[Place, NDArray[np.intp]]
) -> None:
    found: dict[str, ErrorDetection] = {
        "max-probability": _judged(dev, test, {p: c.confidence for p, c in _every(test).items()})
    }
    taps = test.clean.features.surprisal.shape[1]
    maps = {title: one for title, one in MAPS.items() if taps or one[0] != "gated"}
    for title, (kind, how) in maps.items():
        found[title] = judge(kind, dev, test, on_device, how)
    for title, (kind, how) in maps.items():
        scores = _out_of_fold(test, rows, _by_map(kind, how))
        found[f"{title}, fitted on test"] = _judged(dev, test, scores)
    trees = _out_of_fold(test, rows, _by_trees)
    found["boosted trees, fitted on test"] = _judged(dev, test, trees)
    base = found["max-probability"]
    print(f"\n{name}\n\n| | pooled | per cell | clean |\n|---|---|---|---|")
    for title, one in found.items():
        cells = (
            f"{value:.3f} ({value - reference:+.3f})"
            for value, reference in (
                (one.pooled.auroc, base.pooled.auroc),
                (one.per_cell.auroc, base.per_cell.auroc),
                (one.clean.auroc, base.clean.auroc),
            )
        )
        print(f"| {title} | {' | '.join(cells)} |")


def _every(data: Conditions) -> dict[Place, Condition]:
    return {CLEAN: data.clean, **data.corrupted}


def _judged(dev: Conditions, test: Conditions, scores: Scores) -> ErrorDetection:
    """On the pools that maps are judged on."""
    place = {id(condition): place for place, condition in _every(test).items()}
    pools = [
        test.pool(turn.judged, lambda condition: scores[place[id(condition)]])
        for turn in turns(dev.types(), test.types())
    ]
    return error_detection(pools)


Fit = Callable[[Conditions], Callable[[Features], Array]]


def _by_map(kind: str, how: FitOptions) -> Fit:
    return lambda data: on_device(fit_map(kind, data, data.types(), how))


def _by_trees(data: Conditions) -> Callable[[Features], Array]:
    every = list(_every(data).values())
    trees = HistGradientBoostingClassifier(max_depth=4, learning_rate=0.05, random_state=SEED)
    trees.fit(
        np.concatenate([_columns(c.features) for c in every]),
        np.concatenate([c.wrong for c in every]),
    )
    return lambda features: np.asarray(trees.predict_proba(_columns(features))[:, 1])


def _columns(features: Features) -> Array:
    answer = np.eye(features.classes)[features.answer]
    near = [features.log_own(), features.log_next()]
    return np.column_stack([features.error_logit, features.log_surprisal(), *near, answer])


def _out_of_fold(test: Conditions, rows: Mapping[Place, NDArray[np.intp]], fit: Fit) -> Scores:
    """Every example scored by a fit that has seen neither it nor a corrupted copy of it."""
    every = _every(test)
    fold = np.random.default_rng(SEED).integers(0, FOLDS, 1 + max(r.max() for r in rows.values()))
    scores = {place: np.zeros(len(condition.wrong)) for place, condition in every.items()}
    for k in range(FOLDS):
        kept = {place: c.where(fold[rows[place]] != k) for place, c in every.items()}
        clean = kept.pop(CLEAN)
        scorer = fit(Conditions(clean, kept))
        for place, condition in every.items():
            held = fold[rows[place]] == k
            scores[place][held] = scorer(condition.features.where(held))
    return scores


if __name__ == "__main__":
    main()
