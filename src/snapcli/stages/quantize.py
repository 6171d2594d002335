"""quantize: float model and heads -> int8 .tflite, integer heads, refitted map and threshold.

What the device carries is fitted on what the device computes: tap weights, temperature, map
and threshold come from dev scores of the integer reference.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from snapcli import fixedpoint as fx
from snapcli.config import CalibrateOptions, QuantizeOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.evaluation import Key, evaluation_inputs, labels, split_back
from snapcli.errors import ArtifactError
from snapcli.graph.graph import Graph
from snapcli.graph.monitor import (
    CALIBRATION_FILE,
    ONE_Q16,
    Body,
    Decision,
    Monitor,
    RawScores,
    TapTensors,
    decision_to_dict,
    on_device,
    quantize_map,
    save_body,
)
from snapcli.graph.reader import read_tflite
from snapcli.heads.gaussian import GaussianHead, load_heads, tapped_blocks
from snapcli.heads.quantize import quantize_head
from snapcli.metrics.detection import ErrorDetection
from snapcli.models.convert import convert_int8
from snapcli.models.fit import load_model
from snapcli.models.tensorflow import require_tensorflow
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run, read_json, write_json
from snapcli.score.calibration import DetectionReport, choose_map, choose_threshold, evaluate
from snapcli.score.confidence import fit_temperature
from snapcli.score.maps import map_to_dict
from snapcli.score.weights import tap_weights
from snapcli.stages.calibrate import conditions, ood_features
from snapcli.stages.recipe import run_recipe

_CHUNK = 1024


@dataclass(frozen=True)
class Drift:
    """int8 against float on test data: accuracies in [0, 1], rank correlation of S, and the share
    of inputs whose predicted class agrees."""

    float_accuracy: float
    int8_accuracy: float
    agreement: float
    spearman_all: float
    spearman_clean: float


@dataclass(frozen=True)
class QuantizeReport:
    """Figures of the integer reference on test data."""

    run: str
    model_bytes: int
    macs: int
    mean_surprisal: dict[str, float]
    temperature: float
    tap_weights: dict[str, float]
    map: dict[str, Any]
    map_reason: str
    threshold: float
    coverage_clean_test: float
    drift: Drift
    dev: dict[str, ErrorDetection]
    detection: DetectionReport


def quantize(
    run: Run, options: QuantizeOptions, on_progress: OnProgress = silent
) -> QuantizeReport:
    folder, calibrated = run.inputs("train"), run.inputs("calibrate")
    dataset = load_dataset(run_recipe(run).train.dataset)
    calibration = CalibrateOptions(**read_json(calibrated / "calibration.json")["options"])
    require_tensorflow()
    heads = load_heads(folder / "heads.npz")
    samples = dataset.train.x[: options.samples]
    tflite = convert_int8(load_model(folder / "model.keras"), tapped_blocks(heads), samples)
    body = build_body(read_tflite(tflite), heads, dataset.train.x)

    inputs = evaluation_inputs(dataset)
    raw = _run(body, inputs, on_progress)
    decision, extra = _fit(body, raw, dataset, calibration)
    report = QuantizeReport(
        run=run.name,
        model_bytes=len(tflite),
        macs=body.graph.macs,
        mean_surprisal={
            h.after: float(raw[Key("dev", "clean")].surprisal_q16[:, i].mean() / ONE_Q16)
            for i, h in enumerate(heads)
        },
        drift=_drift(Monitor(body, decision), raw, dataset, calibrated / "scores.npz", run),
        **extra,
    )
    with run.write("quantize", after=("train", "calibrate")) as out:
        save_body(body, tflite, out)
        write_json(out / CALIBRATION_FILE, {"device": decision_to_dict(decision)})
        write_json(out / "report.json", asdict(report))
    return report


def build_body(graph: Graph, heads: list[GaussianHead], train: np.ndarray) -> Body:
    """Heads in integers, their ranges set by the pooled sums of the training images."""
    q = graph.tensors[graph.input].quantize(train)
    taps = tuple(TapTensors(graph.outputs[h.before], graph.outputs[h.after]) for h in heads)
    found = graph.run(q, {tap.before for tap in taps})
    integer = []
    for tap, head in zip(taps, heads, strict=True):
        before, after = graph.tensors[tap.before], graph.tensors[tap.after]
        sums = fx.pool_sum_s8(found[tap.before], before.zero_point)
        integer.append(quantize_head(head, before, after, sums))
    return Body(graph, taps, tuple(integer))


def _run(
    body: Body, inputs: dict[Key, np.ndarray], on_progress: OnProgress
) -> dict[Key, RawScores]:
    stacked = np.concatenate(list(inputs.values()))
    tensor = body.graph.tensors[body.graph.input]
    parts = []
    for start in range(0, len(stacked), _CHUNK):
        parts.append(body.run(tensor.quantize(stacked[start : start + _CHUNK])))
        on_progress(min(start + _CHUNK, len(stacked)), len(stacked), "images through int8")
    surprisal = split_back(inputs, np.concatenate([p.surprisal_q16 for p in parts]))
    logits = split_back(inputs, np.concatenate([p.logits for p in parts]))
    return {key: RawScores(surprisal[key], logits[key]) for key in inputs}


def _fit(
    body: Body, raw: dict[Key, RawScores], dataset: Dataset, options: CalibrateOptions
) -> tuple[Decision, dict[str, Any]]:
    """The decision that the device carries, and the figures of the report that follow from it."""
    clean = raw[Key("dev", "clean")]
    tensor = body.graph.tensors[body.logits_tensor]
    temperature = fit_temperature(clean.logits * np.float64(tensor.scale), dataset.dev.y)
    weights = fx.quantize_weights_q16(tap_weights(clean.surprisal_q16 / ONE_Q16, options.weights))
    # The features do not depend on map and threshold, which are fitted to them next.
    draft = Decision(
        weight_q16=tuple(int(w) for w in weights),
        temperature=temperature,
        alpha_q16=round(options.alpha * ONE_Q16),
        map=fx.MapGated(0, 0, ONE_Q16, 0),
        threshold_q16=ONE_Q16,
    )
    features = {key: Monitor(body, draft).features(r) for key, r in raw.items()}
    predicted: dict[Key, np.ndarray] = {key: r.predicted for key, r in raw.items()}
    on_dev = conditions(features, predicted, dataset, "dev")
    on_test = conditions(features, predicted, dataset, "test")
    choice = choose_map(options.map, on_dev, on_device)
    threshold = choose_threshold(options.threshold, options.target, on_device(choice.map), on_dev)
    decision = replace(
        draft, map=quantize_map(choice.map), threshold_q16=round(threshold * ONE_Q16)
    )
    device = Monitor(body, decision).decide(raw[Key("test", "clean")])
    figures = {
        "temperature": temperature,
        "tap_weights": {
            tap.after: w / ONE_Q16 for tap, w in zip(body.taps, decision.weight_q16, strict=True)
        },
        "map": map_to_dict(choice.map),
        "map_reason": choice.reason,
        "threshold": threshold,
        "coverage_clean_test": float(np.mean(~device.abstain)),
        "dev": choice.dev,
        "detection": evaluate(choice.map, on_dev, on_test, ood_features(features), on_device),
    }
    return decision, figures


def _drift(
    monitor: Monitor, raw: dict[Key, RawScores], dataset: Dataset, scores: Any, run: Run
) -> Drift:
    """Both models' S with the device's tap weights, so that only the arithmetic differs."""
    weights = np.asarray(monitor.decision.weight_q16) / ONE_Q16
    keys = [key for key in raw if key.split == "test"]
    clean = Key("test", "clean")
    try:
        with np.load(scores) as saved:
            real = {key: saved[f"{key}/surprisal"] @ weights for key in keys}
            classes = {key: saved[f"{key}/logits"].argmax(axis=-1) for key in keys}
    except (KeyError, ValueError, OSError):
        raise ArtifactError(
            f"calibrate of {run.name} is of another data set", f"Run: {run.remedy('calibrate')}"
        ) from None
    device = {key: raw[key].surprisal_q16 @ weights for key in keys}
    y = labels(dataset, clean)

    def stack(parts: dict[Key, Any]) -> np.ndarray:
        return np.concatenate([parts[key] for key in keys])

    return Drift(
        float_accuracy=float(np.mean(classes[clean] == y)),
        int8_accuracy=float(np.mean(raw[clean].predicted == y)),
        agreement=float(
            np.mean(stack(classes) == stack({key: raw[key].predicted for key in keys}))
        ),
        spearman_all=float(spearmanr(stack(real), stack(device)).statistic),
        spearman_clean=float(spearmanr(real[clean], device[clean]).statistic),
    )
