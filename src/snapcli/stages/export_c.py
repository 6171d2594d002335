"""export-c: the int8 monitor -> C for a target, refused before any compile if it cannot fit."""

from dataclasses import dataclass

import numpy as np

from snapcli.config import ExportOptions
from snapcli.data import load_dataset
from snapcli.emit import Emitted, emit_model
from snapcli.errors import ConfigError
from snapcli.graph.monitor import load_monitor
from snapcli.runs import Run, write_json
from snapcli.stages.recipe import run_recipe
from snapcli.targets import Target, load_target

GOLDEN = 8
# What the firmware needs beside the model: kernels, link and startup in flash; the link's
# buffers and the result in RAM. Rounded up from the sizes that `snap flash` reports.
CODE_BYTES = 12 * 1024
STATIC_BYTES = 512


@dataclass(frozen=True)
class ExportReport:
    """Sizes in bytes; flash and ram are estimates of the whole image, a little on the safe side."""

    run: str
    target: str
    model_id: str
    macs: int
    constant_bytes: int
    arena_bytes: int
    flash_bytes: int
    ram_bytes: int
    files: tuple[str, ...]


def export_c(run: Run, options: ExportOptions) -> ExportReport:
    target = load_target(options.target)
    monitor = load_monitor(run.inputs("quantize"))
    graph = monitor.body.graph
    dev = load_dataset(run_recipe(run).train.dataset).dev
    chosen = np.linspace(0, len(dev) - 1, GOLDEN).astype(int)
    emitted = emit_model(monitor, graph.tensors[graph.input].quantize(dev.x[chosen]))
    flash_bytes, ram_bytes = check_fit(emitted, target)
    report = ExportReport(
        run=run.name,
        target=target.name,
        model_id=emitted.model_id,
        macs=graph.macs,
        constant_bytes=emitted.constant_bytes,
        arena_bytes=emitted.arena_bytes,
        flash_bytes=flash_bytes,
        ram_bytes=ram_bytes,
        files=tuple(sorted(emitted.files)),
    )
    with run.write(f"export-c/{target.name}", after=("quantize",)) as out:
        for name, text in emitted.files.items():
            (out / name).write_text(text)
        write_json(out / "export.json", vars(report))
    return report


def check_fit(emitted: Emitted, target: Target) -> tuple[int, int]:
    """(flash, RAM) in bytes, or an error that says by how much they exceed the target's."""
    flash = emitted.constant_bytes + CODE_BYTES
    ram = emitted.arena_bytes + emitted.input_bytes + STATIC_BYTES + target.stack_bytes
    over = [
        f"{need - limit:,} B more {kind} than its {limit:,} B"
        for kind, need, limit in (
            ("flash", flash, target.flash_bytes),
            ("RAM", ram, target.ram_bytes),
        )
        if need > limit
    ]
    if over:
        raise ConfigError(
            f"the model does not fit {target.name}: it needs {' and '.join(over)}",
            "Choose a larger target or a smaller backbone.",
        )
    return flash, ram
