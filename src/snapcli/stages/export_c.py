"""export-c: a graph, with or without its monitor -> a folder of C that stands alone.

Refused before anything is left behind if it does not fit the target.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapcli.assets import licence
from snapcli.config import ExportOptions
from snapcli.emit import Emitted, Program, build_program, emit_model
from snapcli.emit.example import emit_example
from snapcli.emit.folder import (
    EXAMPLE,
    LICENCE,
    THIRD_PARTY,
    emit_cmake,
    emit_makefile,
    emit_readme,
    layer_rows,
    step_rows,
)
from snapcli.emit.golden import dev_inputs, golden_count
from snapcli.errors import ArtifactError, ConfigError
from snapcli.graph import read_tflite
from snapcli.graph.reader import model_bytes
from snapcli.monitor.monitor import Monitor
from snapcli.origin.origin import origin_of
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.pricing.memory import (
    Surroundings,
    check_fit,
    compiled_flash,
    flash_origin,
    our_firmware,
    write_texts,
)
from snapcli.results.export_c import REPORT, SCHEMA, ExportReport
from snapcli.runs import Run, disk_errors, settled, swapped, temporary_for, write_json
from snapcli.stored import read_as, read_json
from snapcli.targets import Target, load_target


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
    deployment = origin_of(run).on_device()
    monitor = deployment.monitor
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    golden = dev_inputs(tensor, origin_of(run).dataset(), golden_count(tensor))
    kernels, library = kernel_set(options.kernels, cmsis_nn, target.has_dsp)
    program = build_program(monitor.body.graph, monitor.body, kernels)
    on_plan(program)
    stage = f"export-c/{target.name}"
    with run.write(stage, after=deployment.stages) as out:
        emitted = emit_model(program, monitor, golden)
        place = str(run.path(stage))
        return _write(out, place, run.name, program, monitor, emitted, library, target)


def export_model(
    model: Path,
    out: Path,
    options: ExportOptions,
    cmsis_nn: Path | None = None,
    on_plan: OnPlan = ignore_plan,
) -> ExportReport:
    """Any int8 .tflite, into a new folder or over an earlier export."""
    target = load_target(options.target)
    graph = read_tflite(model_bytes(model))
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
    files[LICENCE] = licence()
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
