"""flash for a core without a board: C -> a library that firmware for any of its parts links."""

import shutil
from dataclasses import asdict
from pathlib import Path

from snapcli import toolchain
from snapcli.emit.folder import KERNELS
from snapcli.emit.profiled import WITHOUT_HEADS
from snapcli.measuring.sources import MODEL, write_sources
from snapcli.results.flash import FlashReport, ImageSize
from snapcli.runs import Run, write_json
from snapcli.stages.flash import EVIDENCE, flash
from snapcli.targets import Target

NAME, NAME_WITHOUT_HEADS = "snap", "snap_baseline"
INCLUDE = "include"


def build_only(run: Run, target: Target, evidence: int = 0) -> FlashReport:
    """What flash makes for this target, written to no board: images, or a library for a core."""
    if target.port:
        return flash(run, target.name, evidence=evidence)
    return library(run, target, evidence)


def library(run: Run, target: Target, evidence: int = 0) -> FlashReport:
    """model, kernels and application as libsnap.a, and the headers that its user includes."""
    stage = f"export-c/{target.name}"
    kernels = run.inputs(stage) / KERNELS
    with run.write(f"flash/{target.name}", after=(stage,)) as out:
        model = write_sources(run, target, out)
        built = _build(target, *model, out, NAME, {EVIDENCE: str(evidence)})
        plain = _build(target, *model, out, NAME_WITHOUT_HEADS, {WITHOUT_HEADS: "1"})
        (out / INCLUDE).mkdir()
        port = toolchain.firmware_dir() / "port"
        for header in (port / "port.h", out / MODEL / "snap_model.h", kernels / "snapuq.h"):
            shutil.copy(header, out / INCLUDE)
        report = FlashReport(
            run=run.name,
            target=target.name,
            part=target.part,
            image=str(run.path(f"build/{target.name}/{built.archive.name}")),
            size=ImageSize(built.flash_bytes, built.ram_bytes),
            size_without_heads=ImageSize(plain.flash_bytes, plain.ram_bytes),
            flash_limit_bytes=target.flash_bytes,
            ram_limit_bytes=target.ram_bytes,
            stack_limit_bytes=target.stack_bytes,
            image_crc=0,
            booted=False,
            evidence=evidence,
        )
        write_json(out / "size.json", asdict(report))
    return report


def _build(
    target: Target,
    sources: list[Path],
    includes: list[Path],
    out: Path,
    name: str,
    defines: dict[str, str],
) -> toolchain.Library:
    app = [path for path in toolchain.app_sources() if path.name != "main.c"]
    return toolchain.build_library(target, [*sources, *app], includes, defines, out, name)
