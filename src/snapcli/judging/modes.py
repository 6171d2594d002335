"""The backbone of a run, trained anew in another mode by the same recipe."""

from typing import Any

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import Head, tapped_blocks
from snapcli.judging.networks import in_mode
from snapcli.judging.refit import Refit, TrainedRefit
from snapcli.models import load_backbone
from snapcli.models.convert import convert_int8
from snapcli.models.fit import Trainer
from snapcli.models.loop import Progress
from snapcli.models.tensorflow import require_tensorflow
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress
from snapcli.runs import Run, disk_errors

_FOLDER = "ablate"


def trained_in(run: Run, mode: str, dataset: Dataset, on_progress: OnProgress) -> Refit:
    """Every epoch is kept, so that an interrupted training goes on where it was."""
    require_tensorflow()
    run.inputs("train")
    recipe = run_recipe(run)
    options = in_mode(recipe.train, mode)
    model, heads = _fitted(run, options, dataset, on_progress)
    samples = dataset.front_end(dataset.train.x[: recipe.quantize.samples])
    graph = read_tflite(convert_int8(model, tapped_blocks(heads), samples))
    return TrainedRefit(graph, dataset, options.statistics, options, model, heads)


def _fitted(
    run: Run, options: TrainOptions, dataset: Dataset, on_progress: OnProgress
) -> tuple[Any, list[Head]]:
    mode = options.mode
    backbone = load_backbone(options.backbone)
    trainer = Trainer(backbone, backbone.taps(options.taps, options.ranks), dataset, options)

    def on_epoch(progress: Progress) -> None:
        detail = f"{mode}: loss {progress.loss:.3f} accuracy {progress.accuracy:.3f}"
        on_progress(progress.epoch, progress.epochs, detail)

    # A checkpoint is of no use to a run that was trained anew.
    path = run.path(f"{_FOLDER}/mode.{mode}.{run.digest('train')[:12]}.npz")
    with disk_errors(run.root):
        path.parent.mkdir(exist_ok=True)
        if path.is_file():
            trainer.restore(path)
        trainer.fit(path, on_epoch)
    return trainer.model, trainer.heads.fitted()


def forget(run: Run) -> None:
    """Remove what trainings have kept."""
    for path in run.path(_FOLDER).glob("mode.*.npz"):
        path.unlink()
