"""quantize: float model and heads -> int8 .tflite, integer heads, refitted map and threshold.

What the device carries is fitted on what the device computes: tap weights, temperature, map
and threshold come from dev scores of the integer reference.
"""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from snapcli.config import NO_TAPS, QuantizeOptions
from snapcli.data import load_dataset
from snapcli.data.dataset import Dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.graph.chunks import in_chunks
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import tapped_blocks
from snapcli.judging.decision import fit_decision
from snapcli.judging.evidence import class_examples
from snapcli.judging.raw_scores import SCORES_FILE, save_scores
from snapcli.limits import DATA_MAX
from snapcli.models.convert import convert_int8
from snapcli.models.tensorflow import require_tensorflow
from snapcli.monitor.body import Body, ClassDistance, RawScores, save_body
from snapcli.monitor.build import RANGE_EXAMPLES, build_body
from snapcli.monitor.decision import ONE_Q16, decision_to_dict
from snapcli.monitor.distance import quantize_mahalanobis
from snapcli.monitor.monitor import CALIBRATION_FILE, Monitor, trimmed
from snapcli.monitor.pooled import pooled_in_chunks
from snapcli.origin.network import trained
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.results.calibrate import calibrate_record
from snapcli.results.quantize import Drift, QuantizeReport
from snapcli.runs import Run, write_json
from snapcli.score.mahalanobis import fit_mahalanobis
from snapcli.stored import stored_arrays


def quantize(
    run: Run, options: QuantizeOptions, on_progress: OnProgress = silent
) -> QuantizeReport:
    run.inputs("train")
    calibrated = run.inputs("calibrate")
    calibration = calibrate_record(calibrated).options
    require_tensorflow()
    options_of = run_recipe(run).train
    dataset = load_dataset(options_of, on_progress)
    evaluation = Evaluation(dataset, calibration.limit)
    parts = trained(run, dataset)
    model, heads = parts.model, parts.heads
    train = dataset.front_end(dataset.train.x[: max(options.samples, RANGE_EXAMPLES)])
    tflite = convert_int8(model, tapped_blocks(heads), train[: options.samples])
    body = build_body(read_tflite(tflite), heads, train, options_of.statistics)
    body = with_distance(body, dataset)
    if calibration.taps == NO_TAPS:
        body = body.without_taps()

    raw = _run(body, evaluation, on_progress)
    decision, figures = fit_decision(body, raw, evaluation, calibration)
    body = trimmed(body, decision)
    kept = raw if body.taps else {key: scores.without_taps() for key, scores in raw.items()}
    report = QuantizeReport(
        run=run.name,
        model_bytes=len(tflite),
        macs=body.graph.macs,
        mean_surprisal={
            h.after: float(raw[Key("dev", "clean")].surprisal_q16[:, i].mean() / ONE_Q16)
            for i, h in enumerate(heads[: len(body.taps)])
        },
        drift=_drift(Monitor(body, decision), raw, evaluation, calibrated / "scores.npz", run),
        **vars(figures),
    )
    with run.write("quantize", after=("train", "calibrate")) as out:
        save_body(body, tflite, out)
        save_scores(out / SCORES_FILE, kept)
        write_json(out / CALIBRATION_FILE, {"device": decision_to_dict(decision)})
        write_json(out / "report.json", asdict(report))
    return report


def with_distance(body: Body, dataset: Dataset) -> Body:
    """With the distances to the classes, fitted on what the integer model computes."""
    examples = class_examples(dataset)
    tensor = body.graph.tensors[body.taps[-1].after]

    x = body.graph.quantize(dataset.front_end(examples.x))
    sums = pooled_in_chunks(body.graph, [tensor.name], body.statistics, x).sums[tensor.name]
    fitted = fit_mahalanobis(tensor.channel_means(sums), examples.y, body.classes)
    return replace(body, distance=ClassDistance(tensor.name, quantize_mahalanobis(fitted, tensor)))


def _run(body: Body, evaluation: Evaluation, on_progress: OnProgress) -> dict[Key, RawScores]:
    scores: dict[Key, RawScores] = {}
    before, total = 0, evaluation.examples
    for key, x in evaluation.each():
        parts = []
        for done, part in in_chunks(body.run, body.graph.quantize(x)):
            parts.append(part)
            on_progress(before + done, total, f"examples through int8, {key.condition}")
        before += len(x)
        scores[key] = RawScores.concatenate(parts)
    return scores


def _drift(
    monitor: Monitor, raw: dict[Key, RawScores], evaluation: Evaluation, scores: Any, run: Run
) -> Drift:
    """Both models' S with the device's tap weights, so that only the arithmetic differs."""
    weights = np.asarray(monitor.decision.weight_q16) / ONE_Q16
    keys = [key for key in raw if key.split == "test"]
    clean = Key("test", "clean")
    real, classes = {}, {}
    with stored_arrays(scores, f"Run: {run.remedy('calibrate')}", DATA_MAX) as saved:
        for key in raw:
            surprisal, logits = raw[key].surprisal_q16.shape, raw[key].logits.shape
            saved_surprisal = saved.array(f"{key}/surprisal", np.float32, surprisal, 0)
            real[key] = saved_surprisal @ weights
            classes[key] = saved.array(f"{key}/logits", np.float32, logits).argmax(axis=-1)
    device = {key: raw[key].surprisal_q16 @ weights for key in keys}
    y = evaluation.labels(clean)

    def stack(parts: dict[Key, Any]) -> np.ndarray:
        return np.concatenate([parts[key] for key in keys])

    return Drift(
        float_accuracy=float(np.mean(classes[clean] == y)),
        int8_accuracy=float(np.mean(raw[clean].predicted == y)),
        agreement=float(
            np.mean(stack(classes) == stack({key: raw[key].predicted for key in keys}))
        ),
        spearman_all=_spearman(stack(real), stack(device)),
        spearman_clean=_spearman(real[clean], device[clean]),
    )


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    """nan where one of them does not vary: it has no ranks."""
    varies = np.ptp(a) > 0 and np.ptp(b) > 0
    return float(spearmanr(a, b).statistic) if varies else float("nan")
