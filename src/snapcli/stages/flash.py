"""flash: C -> firmware images, and for an emulated target the proof that they boot."""

from dataclasses import asdict, dataclass
from pathlib import Path

from snapcli import toolchain
from snapcli.device import Client, Emulator, open_port
from snapcli.emit.folder import KERNELS
from snapcli.errors import CheckError
from snapcli.runs import Run, read_json, write_json
from snapcli.targets import Target, load_target

WITH_HEADS, WITHOUT_HEADS = "firmware", "baseline"


@dataclass(frozen=True)
class ImageSize:
    """Bytes, from the ELF and the map file; ram includes the reserved stack."""

    flash_bytes: int
    ram_bytes: int


@dataclass(frozen=True)
class FlashReport:
    """booted: the image answered and passed its self-test; False where only a board could."""

    run: str
    target: str
    part: str
    image: str
    size: ImageSize
    size_without_heads: ImageSize
    flash_limit_bytes: int
    ram_limit_bytes: int
    booted: bool


def flash(run: Run, target_name: str) -> FlashReport:
    target = load_target(target_name)
    stage = f"export-c/{target.name}"
    source = run.inputs(stage)
    with run.write(f"flash/{target.name}", after=(stage,)) as out:
        image = _build(target, source, out, WITH_HEADS, {})
        plain = _build(target, source, out, WITHOUT_HEADS, {"SNAP_MODEL_WITHOUT_HEADS": "1"})
        if target.emulator:
            expected = read_json(source / "export.json")["model_id"]
            for build in (image, plain):
                prove_boot(target, build.elf, expected)
        report = FlashReport(
            run=run.name,
            target=target.name,
            part=target.part,
            image=str(run.path(f"build/{target.name}/{image.elf.name}")),
            size=ImageSize(image.flash_bytes, image.ram_bytes),
            size_without_heads=ImageSize(plain.flash_bytes, plain.ram_bytes),
            flash_limit_bytes=target.flash_bytes,
            ram_limit_bytes=target.ram_bytes,
            booted=target.emulator is not None,
        )
        write_json(out / "size.json", {**asdict(report), "sections": dict(image.sections)})
    return report


def _build(
    target: Target, source: Path, out: Path, name: str, defines: dict[str, str]
) -> toolchain.Build:
    sources, includes = exported_sources(source)
    sources += toolchain.app_sources()
    return toolchain.build(target, sources, includes, defines, out, name)


def exported_sources(folder: Path) -> tuple[list[Path], list[Path]]:
    """(C files, include folders) of what export-c wrote, without its example."""
    sources = [*folder.glob("*.c"), *(folder / KERNELS).rglob("*.c")]
    return sorted(sources), sorted({path.parent for path in folder.rglob("*.h")})


def prove_boot(target: Target, elf: Path, model_id: str) -> None:
    """The emulated image must answer with the model it was built from and pass its self-test."""
    with Emulator(target, elf) as emulator, Client(open_port(emulator.port)) as client:
        hello = client.hello()
        if hello.model_id != model_id:
            raise CheckError(
                f"{elf.name} says it holds model {hello.model_id}, not {model_id}",
                "Build it again: snap flash",
            )
        selftest = client.selftest()
        if selftest.first_mismatch is not None:
            raise CheckError(
                f"{elf.name} fails its self-test at vector {selftest.first_mismatch}",
                "The C and the integer reference differ: report this with the run directory.",
            )
