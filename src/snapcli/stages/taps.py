"""taps: which blocks of a trained backbone are worth a head -> taps/taps.json, taps.svg.

Every block gets a head, fitted after the training. What each says is measured on dev data, what
each costs by compiling all of them and counting their instructions on the emulated core.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.config import TapsOptions
from snapcli.data import load_dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import Head, surprisals, tapped_blocks
from snapcli.models import load_backbone
from snapcli.models.activations import load_model, pooled_activations
from snapcli.models.convert import convert_int8
from snapcli.models.posthoc import heads_for
from snapcli.models.tensorflow import require_tensorflow
from snapcli.progress import OnProgress, silent
from snapcli.report.taps import draw_taps
from snapcli.runs import Run, write_json
from snapcli.score.calibration import judge
from snapcli.score.confidence import error_logit, fit_temperature
from snapcli.score.maps import Features
from snapcli.score.selection import Cost, Limits, Taken, greedy
from snapcli.score.weights import tap_weights
from snapcli.stages.calibrate import conditions
from snapcli.stages.costs import measure
from snapcli.stages.quantize import build_body
from snapcli.stages.recipe import run_recipe
from snapcli.targets import load_target

# Training examples that set the ranges of an int8 model that is only built to be measured.
_SAMPLES = 200
_COUNTED = 2
_CLEAN = Key("dev", "clean")


@dataclass(frozen=True)
class Candidate:
    """A tap by itself. score_correlation: of its surprisal with S of all taps; auprc: of errors
    on dev data; cost: beyond the backbone, with the code that all taps share."""

    tap: str
    before: str
    rank: int
    score_correlation: float
    auprc: float
    cost: Cost


@dataclass(frozen=True)
class TapsReport:
    """correlation [taps, taps]: of the surprisals on dev data, clean and corrupted. AUPRC: of
    errors, pooled over dev conditions, the gated map fitted on other corruption types; without:
    by max-probability. overhead: of the recommended taps, as a share of backbone_instructions."""

    run: str
    target: str
    kernels: str
    candidates: tuple[Candidate, ...]
    correlation: list[list[float]]
    auprc_without: float
    backbone_instructions: int
    steps: tuple[Taken, ...]
    recommended: tuple[str, ...]
    overhead: float
    picture: str


def taps(
    run: Run, options: TapsOptions, cmsis_nn: Path | None = None, on_progress: OnProgress = silent
) -> TapsReport:
    folder, trained = run.inputs("train"), run_recipe(run).train
    target = load_target(options.target)
    require_tensorflow()
    dataset = load_dataset(trained, on_progress)
    model = load_model(folder / "model.keras")
    candidates = load_backbone(trained.backbone).candidates(trained.taps, trained.ranks)
    evaluation = Evaluation(dataset, options.limit)
    # The heads and the compiler take about as long as a few conditions.
    total = sum(key.split == "dev" for key in evaluation.keys) + 2
    on_progress(0, total, "heads for every block")
    heads = heads_for(model, candidates, dataset, trained)
    on_progress(1, total, "dev data scored")
    dev = _Dev.score(
        model,
        heads,
        evaluation,
        trained.statistics,
        lambda done, key: on_progress(1 + done, total, f"dev data scored, {key.condition}"),
    )
    clean = dataset.front_end(dataset.train.x[:_SAMPLES])
    graph = read_tflite(convert_int8(model, tapped_blocks(heads), clean))
    body = build_body(graph, heads, clean, trained.statistics)
    inputs = graph.tensors[graph.input].quantize(clean[:_COUNTED])
    prices = measure(body, inputs, target, options.kernels, cmsis_nn)
    on_progress(total, total, "compiled and counted")

    names = [h.after for h in heads]

    @cache
    def auprc(chosen: tuple[str, ...]) -> float:
        return dev.auprc([names.index(name) for name in chosen])

    def cost(chosen: tuple[str, ...]) -> Cost:
        return prices.of(body, [names.index(name) for name in chosen])

    limits = Limits(1024 * options.max_flash, options.max_overhead / 100 * prices.backbone)
    steps = greedy(names, auprc, cost, options.per, limits)
    recommended = tuple(name for name in names if name in {s.tap for s in steps})
    correlation, with_score = dev.correlations()
    report = TapsReport(
        run=run.name,
        target=target.name,
        kernels=options.kernels,
        candidates=tuple(
            Candidate(
                tap=h.after,
                before=h.before,
                rank=len(h.projector),
                score_correlation=float(r),
                auprc=auprc((h.after,)),
                cost=cost((h.after,)),
            )
            for h, r in zip(heads, with_score, strict=True)
        ),
        correlation=correlation.tolist(),
        auprc_without=auprc(()),
        backbone_instructions=prices.backbone,
        steps=tuple(steps),
        recommended=recommended,
        overhead=cost(recommended).instructions / prices.backbone,
        picture=str(run.path("taps/taps.svg")),
    )
    with run.write("taps", after=("train",)) as out:
        write_json(out / "taps.json", asdict(report))
        title = f"{run.name}: {trained.backbone} on {dataset.name}"
        picture = draw_taps(names, correlation, with_score, auprc(()), steps, title)
        (out / "taps.svg").write_text(picture)
    return report


@dataclass(frozen=True)
class _Dev:
    """Of every dev condition: surprisals [n, taps], logits [n, classes]."""

    evaluation: Evaluation
    surprisal: dict[Key, np.ndarray]
    logits: dict[Key, np.ndarray]
    temperature: float

    @staticmethod
    def score(
        model: Any,
        heads: list[Head],
        evaluation: Evaluation,
        statistics: str,
        on_done: Callable[[int, Key], None],
    ) -> "_Dev":
        surprisal, logits = {}, {}
        for done, key in enumerate((k for k in evaluation.keys if k.split == "dev"), start=1):
            x = evaluation.inputs(key)
            found = pooled_activations(model, x, tapped_blocks(heads), statistics)
            surprisal[key] = surprisals(heads, found)
            logits[key] = found["logits"].astype(np.float64)
            on_done(done, key)
        temperature = fit_temperature(logits[_CLEAN], evaluation.dataset.dev.y)
        return _Dev(evaluation, surprisal, logits, temperature)

    def auprc(self, columns: list[int]) -> float:
        """Of errors on all conditions by these taps, or by max-probability without any."""
        chosen = {key: e[:, columns] for key, e in self.surprisal.items()}
        weights = tap_weights(chosen[_CLEAN], "inverse-variance") if columns else np.zeros(0)
        features = {
            key: Features(
                score=e @ weights,
                error_logit=error_logit(self.logits[key], self.temperature),
                doubt=np.zeros(len(e)),
                surprisal=e,
            )
            for key, e in chosen.items()
        }
        predicted = {key: logits.argmax(axis=-1) for key, logits in self.logits.items()}
        on_dev = conditions(features, predicted, self.evaluation, "dev")
        return judge("gated" if columns else "temperature", on_dev, on_dev).pooled.auprc

    def correlations(self) -> tuple[np.ndarray, np.ndarray]:
        """Between the taps [taps, taps], and of each with S of all [taps], over all conditions."""
        everything = np.concatenate(list(self.surprisal.values()))
        weights = tap_weights(self.surprisal[_CLEAN], "inverse-variance")
        together = np.corrcoef(np.column_stack([everything, everything @ weights]), rowvar=False)
        return together[:-1, :-1], together[:-1, -1]
