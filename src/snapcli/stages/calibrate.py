"""calibrate: dev scores of the float model -> temperature, tap weights, map and threshold."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from snapcli.config import CalibrateOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.evaluation import Key, evaluation_inputs, labels, split_back
from snapcli.heads.gaussian import load_heads, tapped_blocks
from snapcli.metrics.detection import ErrorDetection
from snapcli.models.fit import load_model, pooled_activations
from snapcli.models.tensorflow import require_tensorflow
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run, write_json
from snapcli.score.calibration import (
    Condition,
    Conditions,
    DetectionReport,
    choose_map,
    choose_threshold,
    evaluate,
)
from snapcli.score.confidence import doubt, error_logit, fit_temperature
from snapcli.score.maps import Features, map_to_dict
from snapcli.score.weights import tap_weights
from snapcli.stages.recipe import run_recipe


@dataclass(frozen=True)
class CalibrateReport:
    """Figures on test data; dev holds the cross-fitted figures each map was chosen by."""

    run: str
    temperature: float
    tap_weights: dict[str, float]
    map: dict[str, Any]
    map_reason: str
    threshold_rule: str
    threshold: float
    coverage_clean_test: float
    test_accuracy: float
    dev: dict[str, ErrorDetection]
    detection: DetectionReport


def conditions(
    features: dict[Key, Features], predicted: dict[Key, np.ndarray], dataset: Dataset, split: str
) -> Conditions:
    """The clean and corrupted conditions of one split."""

    def condition(key: Key) -> Condition:
        return Condition(features[key], predicted[key] != labels(dataset, key))

    corrupted = {
        (key.condition, key.severity): condition(key)
        for key in features
        if key.split == split and key.condition != "clean"
    }
    return Conditions(condition(Key(split, "clean")), corrupted)


def ood_features(features: dict[Key, Features]) -> dict[str, Features]:
    return {key.condition: f for key, f in features.items() if key.split == "ood"}


def calibrate(
    run: Run, options: CalibrateOptions, on_progress: OnProgress = silent
) -> CalibrateReport:
    folder = run.inputs("train")
    recipe = run_recipe(run)
    dataset = load_dataset(recipe.train.dataset)
    require_tensorflow()
    model, heads = load_model(folder / "model.keras"), load_heads(folder / "heads.npz")
    inputs = evaluation_inputs(dataset)
    stacked = np.concatenate(list(inputs.values()))
    activations = pooled_activations(model, stacked, tapped_blocks(heads), on_progress)
    surprisal = np.stack(
        [h.surprisal(activations[h.before], activations[h.after]) for h in heads], axis=-1
    )
    logits_of = split_back(inputs, activations["logits"].astype(np.float64))
    surprisal_of = split_back(inputs, surprisal)

    dev = Key("dev", "clean")
    temperature = fit_temperature(logits_of[dev], dataset.dev.y)
    weights = tap_weights(surprisal_of[dev], options.weights)
    features = {
        key: Features(
            surprisal_of[key] @ weights,
            error_logit(logits_of[key], temperature),
            doubt(logits_of[key], temperature, options.alpha),
        )
        for key in inputs
    }
    predicted = {key: logits_of[key].argmax(axis=-1) for key in inputs}
    on_dev = conditions(features, predicted, dataset, "dev")
    on_test = conditions(features, predicted, dataset, "test")
    choice = choose_map(options.map, on_dev)
    threshold = choose_threshold(options.threshold, options.target, choice.map, on_dev)
    report = CalibrateReport(
        run=run.name,
        temperature=temperature,
        tap_weights={h.after: float(w) for h, w in zip(heads, weights, strict=True)},
        map=map_to_dict(choice.map),
        map_reason=choice.reason,
        threshold_rule=options.threshold,
        threshold=threshold,
        coverage_clean_test=float(np.mean(choice.map(on_test.clean.features) < threshold)),
        test_accuracy=on_test.accuracy(),
        dev=choice.dev,
        detection=evaluate(choice.map, on_dev, on_test, ood_features(features)),
    )
    with run.write("calibrate", after=("train",)) as out:
        write_json(out / "calibration.json", {"options": asdict(options), "report": asdict(report)})
        arrays = {f"{key}/surprisal": surprisal_of[key].astype(np.float32) for key in inputs}
        arrays |= {f"{key}/logits": logits_of[key].astype(np.float32) for key in inputs}
        np.savez_compressed(out / "scores.npz", **arrays)  # type: ignore[arg-type]
    return report
