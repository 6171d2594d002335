"""The network and the heads that train left, if they fit each other and the data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from snapcli.config import MEAN
from snapcli.data import Dataset
from snapcli.errors import ArtifactError
from snapcli.heads.head import Head, load_heads
from snapcli.models.activations import load_model
from snapcli.models.own import LOGITS
from snapcli.origin.recipe import run_recipe
from snapcli.runs import Run

MODEL_FILE, HEADS_FILE = "model.keras", "heads.npz"


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """model: image -> {block: map, "logits"}."""

    model: Any
    heads: list[Head]


def trained_model(run: Run, dataset: Dataset, blocks: Iterable[str] = ()) -> Any:
    """For these data, with these blocks among its outputs; raises ArtifactError."""
    path = run.inputs("train") / MODEL_FILE
    model = load_model(path)
    takes, gives = tuple(model.input.shape[1:]), tuple(model.output[LOGITS].shape[1:])
    if takes != tuple(dataset.input_shape) or gives != (len(dataset.class_names),):
        raise _misfit(run, f"{path} takes {takes} and gives {gives}, which the data do not fit")
    missing = sorted(set(blocks) - set(model.output))
    if missing:
        raise _misfit(run, f"{path} has no block '{missing[0]}'")
    return model


def trained(run: Run, dataset: Dataset) -> TrainedNetwork:
    heads = load_heads(run.inputs("train") / HEADS_FILE)
    model = trained_model(run, dataset, [n for h in heads for n in (h.before, h.after)])
    columns = 1 if run_recipe(run).train.statistics == MEAN else 2
    for head in heads:
        for block, mean in ((head.before, head.before_mean), (head.after, head.after_mean)):
            shape = model.output[block].shape
            if len(shape) != 4 or columns * shape[-1] != len(mean):
                raise _misfit(run, f"the head of {head.after} has {len(mean)} inputs of {block}")
        if len(head.class_mean) not in (0, len(dataset.class_names)):
            raise _misfit(run, f"the head of {head.after} knows {len(head.class_mean)} classes")
    return TrainedNetwork(model, heads)


def _misfit(run: Run, message: str) -> ArtifactError:
    return ArtifactError(message, f"Run: {run.remedy('train')}")
