"""The answers of an attached model, kept to stand for labels and to know its data again."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from snapcli.data import Dataset
from snapcli.data.wanted import Wanted
from snapcli.errors import ArtifactError
from snapcli.graph.foreign import logits_of
from snapcli.graph.graph import Graph
from snapcli.runs import Run
from snapcli.stored import stored_arrays

ANSWERS_FILE, IDENTITY = "answers.npz", "identity"
SPLITS = ("dev", "test")
Answers = Mapping[str, NDArray[np.int64]]
"""The model's own answers to the clean examples of each of these splits."""


def stored_answers(run: Run, dataset: Dataset) -> Answers:
    """Those that attach kept, if they belong to these data."""
    hint = f"Run: {run.remedy('attach')}"
    top = len(dataset.class_names) - 1
    with stored_arrays(run.inputs("attach") / ANSWERS_FILE, hint) as saved:
        if saved.word(IDENTITY) != fingerprint(dataset):
            raise ArtifactError(
                f"the data of {run.name} have changed since it was made: other examples or labels",
                hint,
            )
        return {
            name: saved.array(name, np.int64, (len(dataset.split(name)),), 0, top)
            for name in SPLITS
        }


def wanted_of(graph: Graph) -> Wanted:
    tensor = graph.tensors[graph.input]
    classes = graph.tensors[logits_of(graph)].channels
    return Wanted(tensor.shape, classes, tensor.scale, tensor.zero_point)


def with_answers(dataset: Dataset, answers: Answers) -> Dataset:
    dev, test = (replace(dataset.split(name), y=answers[name]) for name in SPLITS)
    return replace(dataset, dev=dev, test=test)


def fingerprint(dataset: Dataset) -> str:
    """A hash of what the kept scores belong to: examples and labels of dev and test, and foreign
    examples, in their order."""
    digest = hashlib.sha256()
    parts = [part for name in SPLITS for part in (dataset.split(name).x, dataset.split(name).y)]
    for x in (*parts, *dataset.ood.values()):
        digest.update(f"{x.shape} {x.dtype}".encode())
        digest.update(np.ascontiguousarray(x).data)
    return digest.hexdigest()
