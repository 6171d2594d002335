"""Options of `snap attach`."""

from dataclasses import dataclass
from typing import ClassVar

from snapcli.config.option import SEED_MAX, StageOptions, option
from snapcli.config.train import DATA_GROUP, HEADS_GROUP, data_dir_option, ranks_option


@dataclass(frozen=True)
class AttachOptions(StageOptions):
    """Without a model the run is one that was trained."""

    stage: ClassVar[str] = "attach"

    model: str = option(
        "",
        "An int8 .tflite, a .keras, a .h5 or a SavedModel folder.",
        shown="required",
        flag="MODEL",
    )
    data: str = option(
        "",
        "Inputs like those that the model will see: a folder of images or .wav files, an .npz, "
        "module:function, or a data set of `snap data list`.",
        group=DATA_GROUP,
        shown="required",
    )
    data_dir: str = data_dir_option()
    labels: str = option(
        "",
        "Names of the classes in the order of the model's outputs (separated by commas, or a "
        ".txt), or the answers (.csv: file, class; .npy: numbers).",
        group=DATA_GROUP,
        shown="what the data say",
    )
    front_end: str = option(
        "",
        "How files become inputs: pixels, unit, signed, log-mel, mlperf-kws or module:function.",
        group=DATA_GROUP,
        shown="the one that fits the model",
    )
    code_dir: str = option(
        "",
        "Folder that the modules of data and front_end are imported from.",
        group=DATA_GROUP,
        flag=None,
    )
    taps: tuple[str, ...] = option(
        ("auto",),
        "auto; none, for a monitor of logits and distances alone; or tensors (see `snap "
        "inspect`) or pairs a:b, separated by commas.",
        group=HEADS_GROUP,
    )
    ranks: tuple[int, ...] = ranks_option("32")
    augment_dev: bool = option(
        False, "Corrupt dev and test data, to stand in for a shift of the inputs.", group=DATA_GROUP
    )
    max_overhead: float = option(
        2.0,
        "Most instructions that automatic taps may add, in percent of the model's.",
        limits=(0.0, 1e4),
        group=HEADS_GROUP,
    )
    seed: int = option(13, "Seed of all random numbers.", limits=(0, SEED_MAX), group=HEADS_GROUP)
