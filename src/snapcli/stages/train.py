"""train: a backbone and its SNAP heads -> train/model.keras, heads.npz, history.json."""

import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from scipy.special import expit

from snapcli.config import Recipe, TrainOptions, dump_recipe
from snapcli.data import check_dataset, load_dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.loading import data_dir_of
from snapcli.errors import ArtifactError
from snapcli.heads.head import save_heads, surprisals
from snapcli.heads.student_t import StudentT
from snapcli.models import default_backbone, load_backbone
from snapcli.models.activations import pooled_activations
from snapcli.models.backbone import with_default_taps
from snapcli.models.fit import Trainer
from snapcli.models.loop import Progress
from snapcli.models.tensorflow import require_tensorflow
from snapcli.origin.recipe import CONFIG
from snapcli.progress import OnProgress, silent
from snapcli.results.train import TrainReport, TrainTime
from snapcli.runs import CHECKPOINT, Run, disk_errors, sha256, whole_file, write_json
from snapcli.score.confidence import error_logit
from snapcli.trusted import trust
from snapcli.usercode import code_is_allowed

# A head is said not to fit where E[e] is this many times what it should be, or as much below.
_FAR = 1.5


def train(
    run: Run,
    recipe: Recipe,
    resume: bool = False,
    on_progress: OnProgress = silent,
) -> TrainReport:
    """With resume the epochs that the run's checkpoint holds are not trained again."""
    with run.making("train"):
        return _train(run, recipe, resume, on_progress)


def _train(run: Run, recipe: Recipe, resume: bool, on_progress: OnProgress) -> TrainReport:
    checkpoint = run.path(CHECKPOINT)
    if resume and not checkpoint.is_file():
        raise ArtifactError(f"{run.name} has no checkpoint to resume", "Start again: snap train")
    dataset = load_dataset(recipe.train, on_progress)
    chosen = recipe.train.backbone or default_backbone(dataset.input_shape)
    options = with_default_taps(recipe.train)
    options = replace(
        options, backbone=chosen, data_dir=data_dir_of(options.dataset, options.data_dir)
    )
    recipe = replace(recipe, train=options)
    backbone = load_backbone(options.backbone)
    taps = backbone.taps(options.taps, options.ranks)
    require_tensorflow()
    with disk_errors(run.root), whole_file(run.path(CONFIG)) as partial:
        partial.write_text(dump_recipe(recipe))
    trainer = Trainer(backbone, taps, dataset, options)
    if resume:
        trainer.restore(checkpoint)

    def on_epoch(progress: Progress) -> None:
        run.make_latest()
        detail = f"loss {progress.loss:.3f} accuracy {progress.accuracy:.3f}"
        on_progress(progress.epoch, progress.epochs, detail)

    with disk_errors(run.root):
        trainer.fit(checkpoint, on_epoch)
        run.make_latest()
    heads = trainer.heads.fitted()
    evaluation = Evaluation(dataset, recipe.calibrate.limit)
    dev, test = (
        pooled_activations(
            trainer.model,
            evaluation.inputs(Key(split, "clean")),
            trainer.heads.blocks,
            options.statistics,
        )
        for split in ("dev", "test")
    )
    surprisal = {h.after: e for h, e in zip(heads, surprisals(heads, dev).T, strict=True)}
    seconds = sum(t.seconds for t in trainer.times)
    doubt = expit(error_logit(dev["logits"], 1.0))
    report = TrainReport(
        run=run.name,
        dataset=dataset.name,
        backbone=options.backbone,
        seed=options.seed,
        epochs=trainer.epoch,
        dev_accuracy=float(np.mean(dev["logits"].argmax(-1) == dataset.dev.y)),
        test_accuracy=float(np.mean(test["logits"].argmax(-1) == dataset.test.y)),
        lambda_ss=trainer.history[-1].lambda_ss if trainer.history else 0.0,
        nu=next((h.likelihood.nu for h in heads if isinstance(h.likelihood, StudentT)), None),
        mean_surprisal={name: float(e.mean()) for name, e in surprisal.items()},
        expected_surprisal={h.after: h.likelihood.expected() for h in heads},
        doubt_correlation={name: _correlation(e, doubt) for name, e in surprisal.items()},
        verdict={
            h.after: _verdict(float(surprisal[h.after].mean()), h.likelihood.expected())
            for h in heads
        },
        notes=dataset.notes,
        time=TrainTime(
            seconds,
            sum(t.waited_s for t in trainer.times) / max(seconds, 1e-9),
            trainer.posthoc_s,
        ),
    )
    with run.write("train", after=(), seed=options.seed, beside=(CONFIG,)) as out:
        trainer.model.save(out / "model.keras")
        if code_is_allowed():
            _trust(out / "model.keras", Path(options.backbone))
        save_heads(heads, out / "heads.npz")
        # What the clock said stands apart: all else is the same for the same seed.
        kept = asdict(report)
        write_json(out / "timing.json", kept.pop("time"))
        write_json(
            out / "history.json",
            {"report": kept, "epochs": [asdict(p) for p in trainer.history]},
        )
    checkpoint.unlink(missing_ok=True)
    return report


def _trust(*files: Path) -> None:
    """What later commands load again; a backbone's name is none of a file where it is ours."""
    for path in files:
        if path.is_file():
            trust(sha256(path))


def check_options(options: TrainOptions) -> None:
    """Names the data set, backbone or tap that does not exist, or the extra that is missing,
    before a run is made for it."""
    check_dataset(options.dataset)
    if options.backbone:
        options = with_default_taps(options)
        load_backbone(options.backbone).taps(options.taps, options.ranks)
    require_tensorflow()


def _verdict(mean: float, expected: float) -> str:
    """Of a head, by its mean surprisal on clean dev data."""
    share = mean / expected
    if math.isnan(share):
        return "-"
    if share > _FAR:
        return "underfit, or scales too small"
    return "scales too large" if share < 1 / _FAR else "fits"


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0
