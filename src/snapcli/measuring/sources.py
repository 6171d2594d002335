"""The C that the images of a run are built of.

The kernels are those that export-c recorded. The model is generated anew, as images hold it
(emit/profiled.py), from the same network: what export-c recorded has to be what comes out of it.
"""

from collections.abc import Iterable
from pathlib import Path

from snapcli.emit import build_program
from snapcli.emit.folder import KERNELS
from snapcli.emit.model import emit_network
from snapcli.emit.profiled import PROBE_FILES, emit_profiled
from snapcli.errors import ArtifactError
from snapcli.kernels import snapuq_files
from snapcli.origin.origin import origin_of
from snapcli.pricing.kernel_set import kernels_named
from snapcli.pricing.memory import write_texts
from snapcli.results.export_c import REPORT, Files, StoredExport
from snapcli.runs import Run
from snapcli.stored import read_as
from snapcli.targets import Target

MODEL = "model"  # folder in build/<target>
_KEPT = ("snap_settings.c", "snap_golden.h")


def write_sources(run: Run, target: Target, build: Path) -> tuple[list[Path], list[Path]]:
    """Write the model into the folder of a build; (C files, include folders) of model and
    kernels."""
    stage = f"export-c/{target.name}"
    exported = run.inputs(stage)
    report = read_as(exported / REPORT, StoredExport)
    monitor = origin_of(run).on_device().monitor
    program = build_program(monitor.body.graph, monitor.body, kernels_named(report.kernels))
    generated = emit_network(program, monitor)
    recorded = _recorded(exported, names := {*generated, *_KEPT})
    if recorded.keys() != names or recorded != {**recorded, **generated}:
        raise ArtifactError(
            "the C that export-c recorded is not what this version makes of the model",
            f"Export it again: {run.remedy(stage)}",
        )
    probe = {name: text for name, text in snapuq_files().items() if name in PROBE_FILES}
    profiled = emit_profiled(program, monitor, report.model_id)
    write_texts({**recorded, **profiled, **probe}, build / MODEL)
    return built_sources(build, exported)


def _recorded(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The texts of those that export-c has recorded."""
    files = read_as(folder / REPORT, Files).files
    return {name: (folder / name).read_text("utf-8") for name in names if name in files}


def built_sources(build: Path, exported: Path) -> tuple[list[Path], list[Path]]:
    """write_sources() of a build that is there; of the export, only what it has recorded."""
    model = sorted((build / MODEL).glob("*.c"))
    names = read_as(exported / REPORT, Files).files
    kernels = [exported / name for name in names if name.startswith(f"{KERNELS}/")]
    headers = sorted({path.parent for path in kernels if path.suffix == ".h"})
    return [*model, *sorted(p for p in kernels if p.suffix == ".c")], [build / MODEL, *headers]


def exported_sources(folder: Path) -> tuple[list[Path], list[Path]]:
    """(C files, include folders) of a folder of generated C and kernels, without its example."""
    files = list(folder.rglob("*"))
    code = [path for path in files if path.suffix == ".c"]
    sources = [path for path in code if folder == path.parent or folder / KERNELS in path.parents]
    return sorted(sources), sorted({path.parent for path in files if path.suffix == ".h"})
