"""flash: C -> firmware images; an emulated target proves that they boot, a board is written."""

from dataclasses import asdict, replace
from pathlib import Path

from snapcli import toolchain
from snapcli.device import Client, Emulator, open_port
from snapcli.emit.profiled import WITHOUT_HEADS as NO_HEADS
from snapcli.errors import CheckError, DeviceError, SnapError, sentences
from snapcli.flashers import Flasher, Wish, choose, flashers_for, only_port, port_of, put
from snapcli.measuring.sources import write_sources
from snapcli.results.export_c import REPORT, Exported
from snapcli.results.flash import WITH_HEADS, WITHOUT_HEADS, FlashReport, ImageSize
from snapcli.runs import Run, write_json
from snapcli.stack import checked_stack
from snapcli.stored import read_as
from snapcli.targets import Target, load_target

EVIDENCE = "APP_EVIDENCE"
_BACK_S = 5.0


def flash(run: Run, target_name: str, wish: Wish | None = None, evidence: int = 0) -> FlashReport:
    """wish: the way to the board that is written; None: images are only built. evidence: how many
    inputs the image keeps."""
    target = load_target(target_name)
    # Asked before the build: a wish that cannot come true should not cost one.
    flashers = flashers_for(target, wish) if wish else []
    stage = f"export-c/{target.name}"
    model_id = read_as(run.inputs(stage) / REPORT, Exported).model_id
    with run.write(f"flash/{target.name}", after=(stage,)) as out:
        model = write_sources(run, target, out)
        image, size = _build(target, *model, out, WITH_HEADS, {EVIDENCE: str(evidence)})
        plain, plain_size = _build(target, *model, out, WITHOUT_HEADS, {NO_HEADS: "1"})
        if target.emulator:
            for build in (image, plain):
                prove_boot(target, build, model_id)
        report = FlashReport(
            run=run.name,
            target=target.name,
            part=target.part,
            image=str(run.path(f"build/{target.name}/{image.elf.name}")),
            size=size,
            size_without_heads=plain_size,
            flash_limit_bytes=target.flash_bytes,
            ram_limit_bytes=target.ram_bytes,
            stack_limit_bytes=target.stack_bytes,
            image_crc=image.image_crc,
            booted=target.emulator is not None,
            evidence=evidence,
        )
        write_json(out / "size.json", {**asdict(report), "sections": dict(image.sections)})
    if wish is None or not flashers:
        return report
    binary = run.path(f"build/{target.name}/{image.bin.name}")
    try:
        report = _write_board(report, target, binary, model_id, flashers, wish)
        run.add_tools(f"flash/{target.name}")
        return report
    except SnapError as error:
        error.hint = sentences(error.hint, f"The images are built, in {binary.parent}")
        raise


def _write_board(
    report: FlashReport,
    target: Target,
    image: Path,
    model_id: str,
    flashers: list[Flasher],
    wish: Wish,
) -> FlashReport:
    flasher, probe = choose(target, flashers, wish)
    written = put(target, flasher, probe, image)
    report = replace(
        report,
        flasher=flasher.name,
        probe=probe.serial,
        part_found=written.part,
        written_bytes=written.image_bytes,
        verified=(written.proof,) if written.proof else (),
    )
    # A drive does not say which probe it belongs to.
    port = wish.port or port_of(probe.serial) or (only_port() if flasher.name == "drive" else None)
    if port:
        report = _ask_firmware(report, port, model_id, named=wish.port is not None)
    if not report.verified:
        raise CheckError(
            f"the image was copied to {probe.serial}, but nothing shows that it arrived",
            "Name the board's serial port, to ask the firmware: --port",
        )
    return report


def _ask_firmware(report: FlashReport, port: str, model_id: str, named: bool) -> FlashReport:
    """Over the link. A port that was found, not named, may be in use: that is no failure."""
    try:
        serial_port = open_port(port)
    except DeviceError as error:
        if named:
            raise
        return replace(report, notes=(f"the firmware was not asked: {error.message}",))
    # The drive takes the port with it when it comes back.
    with Client(serial_port, reconnect_s=_BACK_S) as client:
        prove(client, f"the firmware at {port}", model_id, report.image_crc)
    return replace(report, booted=True, port=port, verified=(*report.verified, "link"))


def _build(
    target: Target,
    sources: list[Path],
    includes: list[Path],
    out: Path,
    name: str,
    defines: dict[str, str],
) -> tuple[toolchain.Build, ImageSize]:
    sources = [*sources, *toolchain.app_sources()]
    build = toolchain.build(target, sources, includes, defines, out, name)
    stack = checked_stack(build.code, target.stack_bytes, f"the firmware for {target.name}")
    return build, ImageSize(build.flash_bytes, build.ram_bytes, stack.bytes)


def prove_boot(target: Target, build: toolchain.Build, model_id: str) -> None:
    """The emulated image must answer for itself."""
    with Emulator(target, build.elf) as emulator, Client(open_port(emulator.port)) as client:
        prove(client, build.elf.name, model_id, build.image_crc)


def prove(client: Client, what: str, model_id: str, image_crc: int) -> None:
    """The firmware is the image of that CRC, holds that model and passes its self-test."""
    hello, check = client.hello(), client.check()
    if hello.model_id != model_id:
        raise CheckError(
            f"{what} says it holds model {hello.model_id}, not {model_id}",
            "Build it again: snap flash",
        )
    others = {hello.image_crc, check.linked_crc, check.computed_crc} - {image_crc}
    if others:
        raise CheckError(
            f"{what} has an image with CRC-32 {others.pop():08x}, not {image_crc:08x}",
            "It is another image, or damaged: snap flash",
        )
    selftest = client.selftest()
    if selftest.first_mismatch is not None:
        raise CheckError(
            f"{what} fails its self-test at vector {selftest.first_mismatch}",
            "The C and the integer reference differ: report this with the run directory.",
        )
