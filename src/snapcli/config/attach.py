"""Options of `snap attach`."""

from dataclasses import dataclass
from typing import ClassVar

from snapcli.config.option import SEED_MAX, StageOptions, option

_DATA, _HEADS = "Data", "Heads"


@dataclass(frozen=True)
class AttachOptions(StageOptions):
    """Without a model the run is one that was trained. code_dir: the folder that the modules of
    data and front_end are imported from."""

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
        group=_DATA,
        shown="required",
    )
    data_dir: str = option(
        "",
        "Folder that holds published data sets.",
        group=_DATA,
        shown="SNAP_DATA_DIR, the cache or a download",
        folder=True,
    )
    labels: str = option(
        "",
        "Names of the classes in the order of the model's outputs (with commas, or a .txt), or "
        "the answers (.csv: file, class; .npy: numbers).",
        group=_DATA,
        shown="what the data say",
    )
    front_end: str = option(
        "",
        "How files become inputs: pixels, unit, signed, log-mel, mlperf-kws or module:function.",
        group=_DATA,
        shown="the one that fits the model",
    )
    code_dir: str = option(
        "", "Folder that your modules are imported from.", group=_DATA, flag=None
    )
    taps: tuple[str, ...] = option(
        ("auto",),
        "auto, or tensors (see `snap inspect`) or pairs a:b, with commas.",
        group=_HEADS,
    )
    ranks: tuple[int, ...] = option(
        (),
        "Ranks of the projections: one for all taps or one for each, with commas.",
        low=1,
        high=256,
        group=_HEADS,
        shown="32",
    )
    augment_dev: bool = option(
        False, "Our corruptions stand in for a shift of the inputs.", group=_DATA
    )
    max_overhead: float = option(
        2.0,
        "Percent of the model's instructions that taps of auto may add.",
        low=0.0,
        high=1e4,
        group=_HEADS,
    )
    seed: int = option(13, "Seed of everything random.", low=0, high=SEED_MAX, group=_HEADS)
