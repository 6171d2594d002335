"""export-c/<target>/export.json: what was exported, its sizes, layers and files."""

from dataclasses import dataclass

from snapcli.config import KERNEL_SETS
from snapcli.emit.folder import (
    LayerRow,
    StepRow,
)
from snapcli.errors import shown
from snapcli.runs import is_path

SCHEMA = 2


REPORT = "export.json"


_MODEL_ID_BYTES = 8


@dataclass(frozen=True)
class Exported:
    """Of an ExportReport, what a build needs. model_id: 16 hex digits."""

    model_id: str

    def __post_init__(self) -> None:
        if len(bytes.fromhex(self.model_id)) != _MODEL_ID_BYTES:
            raise ValueError(f"model_id is {self.model_id}")


@dataclass(frozen=True)
class Files:
    """Of an ExportReport: all that export-c wrote, as paths in its folder."""

    files: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in self.files:
            if not is_path(name):
                raise ValueError(f"it names the file '{shown(name)}'")


@dataclass(frozen=True)
class StoredExport(Exported):
    """What the others read of export.json."""

    target: str
    kernels: str
    arena_bytes: int
    steps: tuple[StepRow, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernels not in KERNEL_SETS:
            raise ValueError(f"kernels is {self.kernels}")


@dataclass(frozen=True)
class ExportReport:
    """Sizes in bytes. flash_bytes: model and kernels, measured by compiling them, or estimated.

    arena_bytes holds input, output and scratch; live_bytes is the largest set of tensors alive
    at once.
    """

    schema: int
    source: str
    target: str
    kernels: str
    model_id: str
    folder: str
    macs: int
    constant_bytes: int
    arena_bytes: int
    live_bytes: int
    flash_bytes: int
    flash_measured: bool
    layers: tuple[LayerRow, ...]
    steps: tuple[StepRow, ...]
    files: tuple[str, ...]
