"""export-c --runtime tflm: the flatbuffer and the monitor of a run, for users of TFLite-Micro."""

from dataclasses import dataclass
from pathlib import Path

from snapcli.assets import licence
from snapcli.emit.folder import LICENCE
from snapcli.emit.tflm import OutputRow, emit_tflm
from snapcli.emit.tflm_folder import (
    EXAMPLE,
    emit_example,
    emit_readme,
    first_arena_bytes,
)
from snapcli.graph.reader import operator_names, read_tflite
from snapcli.kernels import snapuq_files, tflm_adapter
from snapcli.monitor.body import MODEL_FILE
from snapcli.monitor.monitor import Monitor
from snapcli.origin.origin import origin_of
from snapcli.pricing.kernel_set import kernel_files
from snapcli.pricing.memory import (
    Surroundings,
    check_fit,
    compiled_flash,
    flash_origin,
    write_texts,
)
from snapcli.results.export_c import REPORT
from snapcli.runs import Run, write_json
from snapcli.targets import Target, load_target

SCHEMA = 1
_FLATBUFFER = "snap_flatbuffer.c"
_TOO_LARGE = "Choose a larger target or fewer taps; snap export-c --runtime c keeps no tensors."


@dataclass(frozen=True)
class TflmReport:
    """Sizes in bytes. flash_bytes: of the monitor, measured by compiling it, or estimated; the
    flatbuffer and TFLite-Micro come on top.

    live_bytes and plain_live_bytes: the largest set of tensors alive at once with the monitor's
    outputs and without. kept_bytes: of tensors that stay for the monitor; between the difference
    and this the arena grows. first_arena_bytes: an arena to begin with.
    """

    schema: int
    source: str
    target: str
    model_id: str
    folder: str
    flatbuffer_bytes: int
    constant_bytes: int
    flash_bytes: int
    flash_measured: bool
    scratch_bytes: int
    kept_bytes: int
    live_bytes: int
    plain_live_bytes: int
    first_arena_bytes: int
    outputs: tuple[OutputRow, ...]
    operators: tuple[str, ...]
    files: tuple[str, ...]


def export_tflm(run: Run, target_name: str) -> TflmReport:
    """The int8 monitor of a run and its model, into the run; export-c's folder stays as it is."""
    target = load_target(target_name)
    deployment = origin_of(run).on_device()
    content = (deployment.folder / MODEL_FILE).read_bytes()
    stage = f"export-tflm/{target.name}"
    with run.write(stage, after=deployment.stages) as out:
        return write_tflm(out, str(run.path(stage)), run.name, deployment.monitor, content, target)


def write_tflm(
    out: Path, place: str, source: str, monitor: Monitor, content: bytes, target: Target
) -> TflmReport:
    """All files into `out`, which will be renamed to `place`; content: the .tflite that the
    monitor's graph was read from."""
    operators = operator_names(content)
    emitted = emit_tflm(monitor, content)
    files = {**emitted.files, **kernel_files(snapuq_files(), emitted.files)}
    sources = [out / name for name in files if name.endswith(".c") and name != _FLATBUFFER]
    files |= tflm_adapter()
    files[LICENCE] = licence()
    files[EXAMPLE] = emit_example(monitor, read_tflite(content), emitted, operators)
    write_texts(files, out)
    flash_bytes, measured = compiled_flash(emitted.constant_bytes, target, sources, out)
    # What no build of TFLite-Micro can do without.
    ram_bytes = emitted.live_bytes + emitted.scratch_bytes
    flatbuffer_bytes = len(emitted.flatbuffer)
    check_fit(target, flatbuffer_bytes + flash_bytes, ram_bytes, Surroundings(), _TOO_LARGE)
    how = flash_origin(emitted.constant_bytes, measured)
    readme = emit_readme(source, emitted, operators, target, how, flash_bytes)
    (out / "README.md").write_text(readme)
    report = TflmReport(
        schema=SCHEMA,
        source=source,
        target=target.name,
        model_id=emitted.model_id,
        folder=place,
        flatbuffer_bytes=flatbuffer_bytes,
        constant_bytes=emitted.constant_bytes,
        flash_bytes=flash_bytes,
        flash_measured=measured,
        scratch_bytes=emitted.scratch_bytes,
        kept_bytes=emitted.kept_bytes,
        live_bytes=emitted.live_bytes,
        plain_live_bytes=emitted.plain_live_bytes,
        first_arena_bytes=first_arena_bytes(emitted),
        outputs=emitted.outputs,
        operators=operators,
        files=tuple(sorted([*files, "README.md"])),
    )
    # Where it lies is not part of what it is.
    write_json(out / REPORT, {k: v for k, v in vars(report).items() if k != "folder"})
    return report
