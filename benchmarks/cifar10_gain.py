"""What gated SNAP gains over max-probability on CIFAR-10: AUROC of errors, against the goals.

    python benchmarks/cifar10_gain.py --run runs/cifar10-001            # a resnet8 of ours
    python benchmarks/cifar10_gain.py --reference pretrainedResnet.h5   # MLPerf Tiny's

Networks are only looked at: heads are fitted post hoc, by the code of `snap train`. Every map is
fitted on dev data, on other corruption types than it is judged on. Dev decides which head the
goals are held against: the largest pooled gain there of those that do no harm there.

The ceiling knows the true error rate of every condition, which is all that a gate is meant to
tell, and ranks within a condition by max-probability. Only reordering within could exceed it.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from snapcli import console
from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.heads.head import surprisals
from snapcli.judging.conditions import conditions
from snapcli.models import load_backbone
from snapcli.models.activations import load_model, pooled_activations
from snapcli.models.own import with_taps
from snapcli.models.posthoc import heads_for
from snapcli.models.saved_file import load_ours
from snapcli.models.tensorflow import require_tensorflow
from snapcli.score.calibration import CONFIDENCE, evaluate, fit_map
from snapcli.score.confidence import doubt, error_logit, fit_temperature
from snapcli.score.mahalanobis import fit_mahalanobis
from snapcli.score.maps import Features
from snapcli.score.weights import tap_weights

BACKBONE = load_backbone("resnet8")
# Where its blocks end in MLPerf Tiny's network.
ENDS = ("activation", "activation_2", "activation_4", "activation_6")
OPTIONS = TrainOptions(dataset="cifar10", backbone="resnet8", mode="posthoc", taps=("M", "P"))
AT_M = replace(OPTIONS, taps=("M",))
DEFAULT = "gaussian M+P (default)"
HEADS = {
    DEFAULT: OPTIONS,
    "student-t M+P": replace(OPTIONS, head="student-t"),
    "lowrank 8, class mean, M": replace(AT_M, head="lowrank", factors=8, class_mean=True),
    "student-t M": replace(AT_M, head="student-t"),
    "gaussian E+M+P": replace(OPTIONS, taps=("E", "M", "P")),
}
# Of the training set, for Mahalanobis: as many as heads see.
EXAMPLES = 10_000
# What a gain on test data must be at least.
GOALS = {"pooled": 0.05, "per_cell": -0.005, "clean": -0.005}
CLEAN = Key("dev", "clean")

Scores = dict[Key, np.ndarray]
"""Of every condition [n, taps]; more is more unusual."""
Figures = dict[tuple[str, str], float]
"""AUROC of errors by split and part: pooled, per_cell, clean."""


@dataclass(frozen=True)
class Subject:
    """A network, image -> {block: map, "logits"}, and what it makes of every condition: pooled
    activations {block: [n, channels]} and "logits"."""

    name: str
    model: Any
    evaluation: Evaluation
    found: dict[Key, dict[str, np.ndarray]]

    def wrong(self, key: Key) -> np.ndarray:
        answers = self.found[key]["logits"].argmax(axis=-1)
        return np.asarray(answers != self.evaluation.labels(key))

    def judged(self, scores: Scores, by: str = "U") -> Figures:
        """By the gated map over S, the weighted sum of the taps, or by max-probability."""
        weights = tap_weights(scores[CLEAN], "inverse-variance")
        logits = {key: self.found[key]["logits"].astype(np.float64) for key in scores}
        t = fit_temperature(logits[CLEAN], self.evaluation.dataset.dev.y)
        features = {
            key: Features(
                e @ weights,
                error_logit(logits[key], t),
                doubt(logits[key], t, 0.5),
                e,
                logits[key].argmax(axis=-1),
                logits[key].shape[1],
            )
            for key, e in scores.items()
        }
        dev, test = (conditions(features, logits, self.evaluation, s) for s in ("dev", "test"))
        fitted = fit_map("gated", dev, dev.types())
        judged = (("dev", dev), ("test", test))
        found = {name: evaluate(fitted, dev, on, {}).errors[by] for name, on in judged}
        return {(s, part): getattr(found[s], part).auroc for s in found for part in GOALS}


def mlperf_tiny(path: Path, data: Dataset) -> tuple[Any, Dataset]:
    """MLPerf Tiny's network, which takes bytes as they are. It has learned from the images of our
    dev split: even rows of the test split are its dev data, odd rows its test data."""
    from tf_keras import Model

    tapped = with_taps(load_ours(path), list(pairwise(ENDS)), path.name)
    outputs = {b: tapped.output[e] for b, e in zip(BACKBONE.blocks, ENDS, strict=True)}
    even, odd = (np.arange(first, len(data.test), 2) for first in (0, 1))
    halved = replace(
        data,
        dev=data.test.take(even),
        test=data.test.take(odd),
        front_end=lambda x: x.astype(np.float32),
        # Published corruptions are aligned with the whole test split.
        published={},
    )
    return Model(tapped.input, {**outputs, "logits": tapped.output["logits"]}), halved


def look(name: str, model: Any, data: Dataset, limit: int) -> Subject:
    evaluation = Evaluation(replace(data, ood={}), limit)
    found = {key: pooled_activations(model, x, BACKBONE.blocks) for key, x in evaluation.each()}
    return Subject(name, model, evaluation, found)


def ceiling(subject: Subject) -> Scores:
    """The odds of an error in the condition, the same for all of its examples."""
    wrong = {key: subject.wrong(key) for key in subject.found}
    # Half an example more on both sides: never 0, never infinite.
    odds = {key: (w.sum() + 0.5) / ((~w).sum() + 0.5) for key, w in wrong.items()}
    return {key: np.full((len(w), 1), odds[key]) for key, w in wrong.items()}


def distances(subject: Subject, block: str) -> Scores:
    data = subject.evaluation.dataset
    train = data.train.take(np.linspace(0, len(data.train) - 1, EXAMPLES).astype(np.intp))
    clean = pooled_activations(subject.model, data.front_end(train.x), [block])
    measure = fit_mahalanobis(clean[block].astype(np.float64), train.y)
    return {key: measure.distance(found[block])[:, None] for key, found in subject.found.items()}


def surprise(subject: Subject, options: TrainOptions) -> Scores:
    data, taps = subject.evaluation.dataset, BACKBONE.taps(options.taps)
    fitted = heads_for(subject.model, taps, data, options)
    return {key: surprisals(fitted, found) for key, found in subject.found.items()}


def report(subject: Subject) -> int:
    """Prints the figures and the verdict; how many goals are missed."""
    rows = {"ceiling": ceiling(subject)}
    plain = subject.judged(rows["ceiling"], CONFIDENCE)
    others = [f"Mahalanobis {block}" for block in ("stage2", "stage3")]
    rows |= {name: distances(subject, name.split()[1]) for name in others}
    rows |= {name: surprise(subject, options) for name, options in HEADS.items()}
    judged = {name: subject.judged(scores) for name, scores in rows.items()}
    gains = {name: {k: found[k] - plain[k] for k in plain} for name, found in judged.items()}
    right = 100 * (1 - subject.wrong(Key("test", "clean")).mean())
    title = f"{subject.name}: accuracy {right:.1f} %, {subject.evaluation.limit} per condition"
    header = ("AUROC of errors, gains of gated", *(" ".join(k).replace("_", " ") for k in plain))
    lines = [("max-probability", *(f"{v:.4f}" for v in plain.values()))]
    lines += [(f"  {name}", *(f"{v:+.4f}" for v in gain.values())) for name, gain in gains.items()]
    console.table(title, header, lines)

    def on_dev(name: str) -> tuple[bool, float]:
        harmless = all(gains[name]["dev", p] >= GOALS[p] for p in ("per_cell", "clean"))
        return harmless, gains[name]["dev", "pooled"]

    best = max(HEADS, key=on_dev)
    goals = [(part.replace("_", " "), part, least) for part, least in GOALS.items()]
    strongest = max(gains[name]["test", "per_cell"] for name in others)
    goals.append(("per cell, not below Mahalanobis", "per_cell", strongest))
    lines, missed = [], 0
    for goal, part, least in goals:
        values = [gains[name]["test", part] for name in (best, DEFAULT)]
        missed += not values[0] >= least
        verdict = "met" if values[0] >= least else "MISSED"
        lines.append((goal, *(f"{v:+.4f}" for v in values), f">= {least:+.4f}", verdict))
    console.table("gain on test", ("", f"by dev: {best}", DEFAULT, "goal", "by dev"), lines)
    return missed


def main(
    run: Annotated[Path | None, typer.Option(help="A run with a resnet8 of ours.")] = None,
    reference: Annotated[Path | None, typer.Option(help="MLPerf Tiny's .h5.")] = None,
    limit: Annotated[int, typer.Option(help="Examples of each corrupted condition.")] = 1000,
) -> None:
    if not run and not reference:
        raise typer.BadParameter("give --run, --reference or both")
    require_tensorflow()
    data, missed = load_dataset(OPTIONS), 0
    if run:
        missed += report(look(run.name, load_model(run / "train" / "model.keras"), data, limit))
    if reference:
        missed += report(look(reference.name, *mlperf_tiny(reference, data), limit))
    raise typer.Exit(7 if missed else 0)


if __name__ == "__main__":
    typer.run(main)
