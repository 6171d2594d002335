"""export-c: a graph, with or without its monitor -> a folder of C that stands alone.

Refused before anything is left behind if it does not fit the target.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import toolchain, used
from snapcli.config import CMSIS_NN, KERNEL_SETS, SNAP, ExportOptions
from snapcli.data import Dataset
from snapcli.emit import Emitted, KernelSet, Program, Reference, build_program, emit_model
from snapcli.emit.closure import needed_files
from snapcli.emit.cmsis_nn import CmsisNn
from snapcli.emit.example import emit_example
from snapcli.emit.folder import (
    EXAMPLE,
    KERNELS,
    THIRD_PARTY,
    LayerRow,
    StepRow,
    emit_cmake,
    emit_makefile,
    emit_readme,
    layer_rows,
    step_rows,
)
from snapcli.emit.snap import Snap
from snapcli.errors import ArtifactError, ConfigError, ToolchainError, shown
from snapcli.graph import read_tflite
from snapcli.graph.graph import Tensor
from snapcli.graph.monitor import Monitor
from snapcli.kernels import (
    CMSIS_NN_VERSION,
    LICENCE,
    cmsis_nn_dir,
    cmsis_nn_files,
    snapnn_files,
    snapuq_files,
)
from snapcli.limits import TooLargeError, read_bytes
from snapcli.runs import Run, disk_errors, is_path, settled, swapped, temporary_for, write_json
from snapcli.stages.dataset import run_dataset
from snapcli.stages.deployed import deployed
from snapcli.stored import read_as, read_json, reason
from snapcli.targets import Target, load_target

SCHEMA = 2
_ARM_CALL = re.compile(r"^ +(arm_\w+)\(", re.MULTILINE)
REPORT = "export.json"
# Inputs of the self-test: at most so many, and so many bytes, but at least one.
_GOLDEN, _GOLDEN_BYTES = 8, 4096
# What our firmware needs beside model and kernels: link, startup and application in flash; the
# link's buffers and the result in RAM. Rounded up from the sizes that `snap flash` reports.
_FIRMWARE_BYTES = 11 * 1024
_STATIC_BYTES = 768
# Kernels, where no compiler is there to measure them.
KERNEL_BYTES = 8 * 1024
_MODEL_ID_BYTES = 8
_TOO_LARGE = "Choose a larger target or a smaller model; --explain shows who holds the memory."


@dataclass(frozen=True)
class Surroundings:
    """Memory of the firmware around a model; none for a model alone, which is its user's."""

    flash_bytes: int = 0
    ram_bytes: int = 0


def our_firmware(input_bytes: int, golden_bytes: int) -> Surroundings:
    """It keeps an input for MLPerf's commands and the golden vectors for its self-test."""
    return Surroundings(_FIRMWARE_BYTES + golden_bytes, _STATIC_BYTES + input_bytes)


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


@dataclass(frozen=True)
class _Files:
    """Of any version's report."""

    files: tuple[str, ...] = ()


# Told the plan as soon as there is one, also of a model that then does not fit.
OnPlan = Callable[[Program], None]


def ignore_plan(program: Program) -> None:
    pass


def export_c(
    run: Run, options: ExportOptions, cmsis_nn: Path | None = None, on_plan: OnPlan = ignore_plan
) -> ExportReport:
    """The int8 monitor of a run, into the run."""
    target = load_target(options.target)
    found = deployed(run)
    monitor = found.monitor
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    golden = dev_inputs(tensor, run_dataset(run), golden_count(tensor))
    kernels, library = kernel_set(options.kernels, cmsis_nn, target.has_dsp)
    program = build_program(monitor.body.graph, monitor.body, kernels)
    on_plan(program)
    stage = f"export-c/{target.name}"
    with run.write(stage, after=found.stages) as out:
        emitted = emit_model(program, monitor, golden)
        place = str(run.path(stage))
        return _write(out, place, run.name, program, monitor, emitted, library, target)


def golden_count(tensor: Tensor) -> int:
    """Inputs of the self-test in a firmware; tensor: the model's input."""
    return int(np.clip(_GOLDEN_BYTES // tensor.size_bytes, 1, _GOLDEN))


def dev_inputs(tensor: Tensor, dataset: Dataset, count: int) -> NDArray[np.int8]:
    """From all over the dev data: int8 [count, *shape of the tensor]."""
    chosen = np.linspace(0, len(dataset.dev) - 1, count).astype(int)
    return tensor.quantize(dataset.front_end(dataset.dev.x[chosen]))


def export_model(
    model: Path,
    out: Path,
    options: ExportOptions,
    cmsis_nn: Path | None = None,
    on_plan: OnPlan = ignore_plan,
) -> ExportReport:
    """Any int8 .tflite, into a new folder or over an earlier export."""
    target = load_target(options.target)
    graph = read_tflite(read_model(model))
    kernels, library = kernel_set(options.kernels, cmsis_nn, target.has_dsp)
    program = build_program(graph, None, kernels)
    on_plan(program)
    if out.exists() and not _is_export(out):
        raise ConfigError(
            f"{out} exists and is not a folder that export-c wrote",
            "Give another --out; nothing is overwritten.",
        )
    place = out.resolve()  # a link stays one
    with disk_errors(out, "--out"):
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_for(place)
    try:
        with disk_errors(out, "--out"):
            emitted = emit_model(program, None, None)
            report = _write(
                temporary, str(out), model.name, program, None, emitted, library, target
            )
            _keep_foreign(place, temporary)
            try:
                swapped(temporary, place)
            finally:
                settled(temporary, place)
            return report
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _keep_foreign(old: Path, new: Path) -> None:
    """Files that somebody added to an earlier export stay."""
    if not (old / REPORT).is_file():
        return
    ours = {REPORT, *read_as(old / REPORT, _Files).files}
    for path in sorted(old.rglob("*")):
        name = path.relative_to(old)
        if str(name) not in ours and not path.is_dir() and not (new / name).exists():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, new / name, follow_symlinks=False)


def read_model(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except (OSError, TooLargeError) as error:
        raise ArtifactError(
            f"cannot read {path}: {reason(error)}", "Give the path of a .tflite file."
        ) from None


def kernel_set(
    name: str, cmsis_nn: Path | None, has_dsp: bool = True
) -> tuple[KernelSet, dict[str, str]]:
    """The set of that name, and the files that its calls may need: {path in KERNELS: text}.

    Packed weights are of no use to a core without the DSP extension: its `snap` is `reference`.
    """
    library = snapuq_files()
    kernels: KernelSet = Reference()
    if name == CMSIS_NN:
        kernels = CmsisNn(kernels)
        library |= cmsis_nn_files(cmsis_nn_dir(cmsis_nn))
    elif name == SNAP and has_dsp:
        kernels = Snap(kernels)
        library |= snapnn_files()
    used.note("kernels", version=kernels.name)
    return kernels, library


def kernel_files(library: Mapping[str, str], generated: Mapping[str, str]) -> dict[str, str]:
    """{path in the exported folder: text} of the kernels that the generated files need."""
    picked = needed_files(library, generated.values())
    known = {Path(path).stem for path in picked}
    called = {name for text in generated.values() for name in _ARM_CALL.findall(text)}
    if missing := sorted(called - known):
        raise ArtifactError(
            f"this CMSIS-NN has no {missing[0]}", f"Use version {CMSIS_NN_VERSION}."
        )
    if any(path.startswith(f"{CMSIS_NN}/") for path in picked) and LICENCE in library:
        picked.append(LICENCE)
    return {f"{KERNELS}/{path}": library[path] for path in picked}


def _is_export(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    if not any(folder.iterdir()):
        return True
    try:
        return "model_id" in read_json(folder / REPORT, dict[str, Any])
    except ArtifactError:
        return False


def _write(
    out: Path,
    place: str,
    source: str,
    program: Program,
    monitor: Monitor | None,
    emitted: Emitted,
    library: Mapping[str, str],
    target: Target,
) -> ExportReport:
    """All files into `out`, which will be renamed to `place`."""
    files = {**emitted.files, **kernel_files(library, emitted.files)}
    sources = [out / name for name in files if name.endswith(".c")]
    theirs = sorted({name.rpartition("/")[0] for name in files if name.startswith(THIRD_PARTY)})
    files[EXAMPLE] = emit_example(program, monitor)
    files["Makefile"] = emit_makefile(target, theirs)
    files["CMakeLists.txt"] = emit_cmake(theirs)
    # The constants alone may be too much: then nothing needs to be compiled to know it.
    input_bytes = program.graph.tensors[program.graph.inputs[0]].size_bytes
    around = our_firmware(input_bytes, emitted.golden_bytes) if monitor else Surroundings()
    check_fit(target, emitted.constant_bytes, emitted.arena_bytes, around)
    write_texts(files, out)
    flash_bytes, measured = compiled_flash(emitted.constant_bytes, target, sources, out)
    check_fit(target, flash_bytes, emitted.arena_bytes, around)
    how = flash_origin(emitted.constant_bytes, measured)
    title = Path(source).stem
    readme = emit_readme(title, program, target, how, flash_bytes, emitted.model_id)
    (out / "README.md").write_text(readme)
    report = ExportReport(
        schema=SCHEMA,
        source=source,
        target=target.name,
        kernels=program.kernels.name,
        model_id=emitted.model_id,
        folder=place,
        macs=program.graph.macs,
        constant_bytes=emitted.constant_bytes,
        arena_bytes=emitted.arena_bytes,
        live_bytes=program.live_bytes,
        flash_bytes=flash_bytes,
        flash_measured=measured,
        layers=layer_rows(program),
        # The counted loops are those of the DSP extension.
        steps=step_rows(program, monitor, library if target.has_dsp else {}),
        files=tuple(sorted([*files, "README.md"])),
    )
    # Where it lies is not part of what it is: the same model gives the same bytes anywhere.
    write_json(out / REPORT, {k: v for k, v in vars(report).items() if k != "folder"})
    return report


def measured_flash(
    program: Program, library: Mapping[str, str], target: Target, folder: Path
) -> int:
    """Flash of model and kernels on the target, compiled in the folder, or estimated."""
    emitted = emit_model(program, None, None)
    files = {**emitted.files, **kernel_files(library, emitted.files)}
    write_texts(files, folder)
    sources = [folder / name for name in files if name.endswith(".c")]
    return compiled_flash(emitted.constant_bytes, target, sources, folder)[0]


def write_texts(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def compiled_flash(
    constant_bytes: int, target: Target, sources: list[Path], out: Path
) -> tuple[int, bool]:
    """Flash of the sources, which lie in `out` with their headers, and whether it was measured:
    without a compiler it is an estimate from the constants."""
    try:
        includes = [out, *sorted({p.parent for p in out.rglob("*.h")})]
        return toolchain.compiled_bytes(target, sources, includes), True
    except ToolchainError:
        # No compiler here: the folder is still good for one elsewhere.
        if shutil.which(toolchain.GCC):
            raise
        return constant_bytes + KERNEL_BYTES, False


def flash_origin(constant_bytes: int, measured: bool) -> str:
    """How compiled_flash() found its figure, for a README."""
    if not measured:
        return f"constants {constant_bytes:,} B and an estimate of the code"
    compiler = f"{toolchain.GCC} {toolchain.tool_version(toolchain.GCC)} -O2"
    return f"constants {constant_bytes:,} B and code, compiled with {compiler}"


def check_fit(
    target: Target,
    flash_bytes: int,
    arena_bytes: int,
    around: Surroundings,
    hint: str = _TOO_LARGE,
) -> None:
    """Raises an error that says by how much the target's limits are exceeded, where it has any."""
    limits = {"flash": target.flash_bytes, "RAM": target.ram_bytes}
    over = [
        f"{more:,} B more {kind} than its {limits[kind]:,} B"
        for kind, more in excess(target, flash_bytes, arena_bytes, around).items()
    ]
    if over:
        raise ConfigError(
            f"the model does not fit {target.name}: it needs {' and '.join(over)}", hint
        )


def excess(
    target: Target, flash_bytes: int, arena_bytes: int, around: Surroundings
) -> dict[str, int]:
    """{flash, RAM: bytes beyond the target's limit}, of those that are exceeded."""
    flash = flash_bytes + around.flash_bytes - target.flash_bytes
    ram = arena_bytes + target.stack_bytes + around.ram_bytes - target.ram_bytes
    limits = (("flash", flash, target.flash_bytes), ("RAM", ram, target.ram_bytes))
    return {kind: more for kind, more, limit in limits if limit and more > 0}
