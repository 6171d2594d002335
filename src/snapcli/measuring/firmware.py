"""Connects to a device with the firmware of a run, and checks that it is that firmware."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapcli.device import Client, Emulator, Hello, find_port, open_port
from snapcli.errors import ArtifactError, CheckError, DeviceError
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import check_of, pack_settings
from snapcli.origin.origin import Deployment, origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.results.export_c import REPORT, SCHEMA, StoredExport
from snapcli.results.flash import WITH_HEADS, WITHOUT_HEADS, FlashReport, flash_report
from snapcli.runs import Run
from snapcli.stored import read_as, read_json
from snapcli.targets import Target, load_target

# A board that is unplugged may come back for so long.
_RECONNECT_S = 30.0


@dataclass(frozen=True, eq=False)
class Firmware:
    """What a run holds for a target: the images, what they were built from, their sizes.

    sizes and exported are the reports of flash and export-c.
    """

    run: Run
    target: Target
    deployed: Deployment
    folder: Path
    sizes: FlashReport
    exported: StoredExport

    @property
    def monitor(self) -> Monitor:
        return self.deployed.monitor

    @property
    def stage(self) -> str:
        return f"flash/{self.target.name}"

    @property
    def remedy(self) -> str:
        """The command that builds it anew."""
        return self.run.remedy(self.stage)

    @property
    def model_id(self) -> str:
        return self.exported.model_id

    @property
    def settings_check(self) -> int:
        """Of what this run's calibration fitted."""
        return check_of(pack_settings(self.monitor, self.model_id))


def target_at(run: Run, target_name: str | None, port: str | None) -> Target:
    """The target of that name; else what the board at the port says, or the run's recipe."""
    if target_name is None and port is not None:
        with Client(open_port(port)) as client:
            target_name = client.hello().target
    return load_target(target_name or run_recipe(run).export_c.target)


def built_firmware(run: Run, target: Target) -> Firmware:
    # What the image computes is about to be compared bit for bit, which says more than its hash.
    folder = run.inputs(f"flash/{target.name}", judged_later=f"{WITH_HEADS}.elf")
    path = run.inputs(f"export-c/{target.name}") / REPORT
    if read_json(path, dict[str, Any]).get("schema") != SCHEMA:
        raise ArtifactError(
            "that C was exported by another version of snap",
            f"Export and build it again: {run.remedy(f'export-c/{target.name}')}",
        )
    return Firmware(
        run=run,
        target=target,
        deployed=origin_of(run).on_device(),
        folder=folder,
        sizes=flash_report(folder),
        exported=read_as(path, StoredExport),
    )


@contextmanager
def attached(firmware: Firmware, port: str | None, heads: bool = True) -> Iterator[Client]:
    """A board, at the only port there is if none is given, or the emulator with the image.

    The device has been asked: it holds this firmware, whole, and this run's settings.
    """
    with _reached(firmware, port, WITH_HEADS if heads else WITHOUT_HEADS) as client:
        hello = client.hello()
        _check_model(hello, firmware, heads)
        if firmware.target.emulator is None:
            client.speed_up()
        _check_image(client, hello, firmware)
        _check_settings(hello, firmware)
        yield client


@contextmanager
def _reached(firmware: Firmware, port: str | None, image: str) -> Iterator[Client]:
    target = firmware.target
    if port is not None or target.emulator is None:
        with Client(find_port(port), reconnect_s=_RECONNECT_S) as client:
            yield client
        return
    elf = firmware.folder / f"{image}.elf"
    try:
        with Emulator(target, elf) as emulator, Client(open_port(emulator.port)) as client:
            yield client
    except DeviceError:
        # An image that was damaged on disk is the likelier reason than the emulator.
        state = firmware.run.state(firmware.stage)
        if state.status == "damaged":
            firmware.run.refuse(state)
        raise


def _check_model(hello: Hello, firmware: Firmware, heads: bool) -> None:
    if hello.target != firmware.target.name:
        raise CheckError(
            f"the device was built for {hello.target}, not for {firmware.target.name}",
            f"Leave --target out, or say: --target {shlex.quote(hello.target)}",
        )
    if hello.has_heads != heads:
        raise CheckError(
            f"the device was built with{'out' if heads else ''} heads",
            f"Flash this run first: {firmware.remedy}",
        )
    if hello.model_id != firmware.model_id:
        raise CheckError(
            f"the device holds model {hello.model_id}, this run's is {firmware.model_id}",
            f"Flash this run first: {firmware.remedy}",
        )


def _check_image(client: Client, hello: Hello, firmware: Firmware) -> None:
    image = client.check()
    if hello.is_damaged or image.computed_crc != image.linked_crc:
        raise CheckError(
            f"the image in the device is damaged: its CRC is {image.computed_crc:08x}, "
            f"it was linked with {image.linked_crc:08x}",
            f"Flash it again: {firmware.remedy}",
        )
    # Of the image with heads, the one that boards get; 0: a library, linked by somebody else.
    built = firmware.sizes.image_crc
    if built and hello.has_heads and image.bytes and image.linked_crc != built:
        raise CheckError(
            f"the device runs another build of this model, {image.linked_crc:08x}, not this run's "
            f"{built:08x}",
            f"Flash this run's: {firmware.remedy}",
        )


def _check_settings(hello: Hello, firmware: Firmware) -> None:
    if hello.has_heads and hello.settings_check != firmware.settings_check:
        raise CheckError(
            f"the device decides by settings {hello.settings_check:08x}, "
            f"this run's are {firmware.settings_check:08x}",
            f"Push them (snap calibrate --push), or flash this run: {firmware.remedy}",
        )
