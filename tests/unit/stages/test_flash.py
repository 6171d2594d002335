"""snap flash as a whole, with a build that takes no compiler and boards that are not there."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from snapcli import toolchain
from snapcli.errors import ToolchainError
from snapcli.flashers import drive as drive_module
from snapcli.runs import create_run, write_json
from snapcli.stack import ROOTS, Code
from snapcli.targets import Target
from tests.conftest import Outcome, Workspace
from tests.fake_board import F767, OTHER, SERIAL, Desk, lay_out
from tests.fake_board.firmware import firmware

pytestmark = pytest.mark.slow

MODEL = "0123456789abcdef"
TARGET = ("--target", "small-mcu")
DEVICE, CHECK = 6, 7
# Of a program that calls nobody.
CODE = "".join(
    f"{0x1000 * (i + 1):08x} g     F .text\t00000004 {name}\n" for i, name in enumerate(ROOTS)
)


def built(
    target: Target,
    sources: Sequence[Path],
    includes: Sequence[Path],
    defines: Mapping[str, str],
    folder: Path,
    name: str,
) -> toolchain.Build:
    data = np.random.default_rng(len(name)).bytes(5_003)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{suffix}" for suffix in ("elf", "bin", "map")]
    for path in files:
        path.write_bytes(data)
    elf, binary, listing = files
    return toolchain.Build(
        elf=elf,
        bin=binary,
        map=listing,
        flash_bytes=len(data),
        ram_bytes=1000,
        sections={".text": len(data)},
        image_bytes=len(data),
        image_crc=zlib.crc32(data),
        code=Code(CODE, "", ""),
    )


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return lay_out(tmp_path, monkeypatch)


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A run that has nothing but its C, for the small board."""
    run = create_run(tmp_path / "runs", "digits")
    run.make_latest()
    with run.write("export-c/small-mcu", after=()) as out:
        write_json(out / "export.json", {"model_id": MODEL, "files": []})
    monkeypatch.setattr(toolchain, "build", built)
    monkeypatch.setattr("snapcli.stages.flash.write_sources", lambda *_: ([], []))
    monkeypatch.chdir(tmp_path)
    return Workspace(tmp_path / "runs")


def images(workspace: Workspace) -> Path:
    return workspace.run / "build/small-mcu"


def flashed(workspace: Workspace, *options: str) -> Outcome:
    return workspace.snap("flash", *TARGET, *options)


def is_up_to_date(workspace: Workspace) -> bool:
    states = workspace.snap("show", "--json").json["states"]
    return {s["stage"]: s["status"] for s in states}["flash/small-mcu"] == "done"


def test_a_board_is_written_and_reported(desk: Desk, exported: Workspace) -> None:
    desk.plug_in()
    outcome = flashed(exported, "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    image = (images(exported) / "firmware.bin").read_bytes()
    assert desk.memory().read_bytes().startswith(image)
    assert (report["flasher"], report["probe"]) == ("pyocd", SERIAL)
    assert report["part_found"] == "STM32L43x/L44x, 256 KB of flash"
    assert report["written_bytes"] == len(image)
    assert report["image_crc"] == zlib.crc32(image)
    assert report["verified"] == ["read back"]
    # Its port could not be opened. That is told, and no failure.
    assert report["booted"] is False
    assert "does not exist" in report["notes"][0]
    text = flashed(exported)
    assert f"written to {SERIAL} with pyocd" in text.out
    assert f"CRC-32 {zlib.crc32(image):08x}" in text.out


def test_build_only_touches_no_board(desk: Desk, exported: Workspace) -> None:
    desk.plug_in()
    outcome = flashed(exported, "--build-only", "--json")
    assert outcome.code == 0
    assert outcome.json["flasher"] is None
    assert outcome.json["written_bytes"] is None
    assert (images(exported) / "firmware.bin").is_file()
    assert desk.calls() == []
    assert "written to no board" in flashed(exported, "--build-only").out


def test_without_a_board_the_images_are_built_all_the_same(desk: Desk, exported: Workspace) -> None:
    outcome = flashed(exported)
    assert outcome.code == DEVICE
    message, hint = outcome.error()
    assert message == "no probe and no drive of a NUCLEO-L432KC was found"
    assert f"The images are built, in {images(exported)}." in hint
    assert "--build-only" in hint
    assert is_up_to_date(exported)


def test_a_failed_build_starts_no_flasher(
    desk: Desk, exported: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> toolchain.Build:
        raise ToolchainError("arm-none-eabi-gcc failed: no", "Fix it.")

    desk.plug_in()
    assert flashed(exported, "--build-only").code == 0
    before = exported.content()
    monkeypatch.setattr(toolchain, "build", fails)
    assert flashed(exported).code == 5
    assert desk.calls() == []
    assert desk.untouched()
    assert exported.content() == before


@pytest.mark.parametrize("fault", ["half", "corrupt", "die"])
def test_a_failed_write_keeps_the_images(desk: Desk, exported: Workspace, fault: str) -> None:
    desk.plug_in()
    desk.fault(fault)
    outcome = flashed(exported, "--flasher", "st-flash")
    assert outcome.code == (CHECK if fault == "corrupt" else DEVICE)
    _, hint = outcome.error()
    assert f"The images are built, in {images(exported)}." in hint
    assert is_up_to_date(exported)
    desk.fault(None)
    assert flashed(exported, "--flasher", "st-flash").code == 0


def test_another_part_is_refused(desk: Desk, exported: Workspace) -> None:
    desk.plug_in(idcode=F767, flash_kb=2048)
    outcome = flashed(exported)
    assert outcome.code == CHECK
    message, hint = outcome.error()
    assert "STM32L432KC" in message
    assert "STM32F76x/F77x" in message
    assert hint.startswith("Nothing was written.")
    assert desk.untouched()


def test_two_boards_are_a_question(desk: Desk, exported: Workspace) -> None:
    desk.plug_in()
    desk.plug_in(OTHER)
    assert flashed(exported).code == 2
    assert flashed(exported, "--probe", OTHER).code == 0
    assert desk.untouched(SERIAL)


def test_an_option_that_means_nothing_costs_no_build(desk: Desk, exported: Workspace) -> None:
    before = exported.content()
    assert flashed(exported, "--flasher", "hammer").code == 2
    assert flashed(exported, "--drive", "x", "--probe", "y").code == 2
    assert exported.content() == before


# ---- The firmware is asked ----------------------------------------------------


def crc() -> int:
    return zlib.crc32(np.random.default_rng(len("firmware")).bytes(5_003))


def test_the_port_of_the_probe_is_found(desk: Desk, exported: Workspace) -> None:
    with firmware(MODEL, crc()) as port:
        desk.plug_in(port=port)
        report = flashed(exported, "--json").json
    assert report["verified"] == ["read back", "link"]
    assert (report["port"], report["booted"], report["notes"]) == (port, True, [])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"model_id": "f" * 16}, f"holds model {'f' * 16}, not {MODEL}"),
        ({"linked_crc": 0x0BADC0DE}, "CRC-32 0badc0de, not "),
        ({"computed_crc": 0x0BADC0DE}, "CRC-32 0badc0de, not "),
        ({"mismatch": 2}, "fails its self-test at vector 2"),
    ],
)
def test_firmware_that_is_not_the_image(
    desk: Desk, exported: Workspace, told: dict[str, object], message: str
) -> None:
    desk.plug_in()
    with firmware(**{"model_id": MODEL, "linked_crc": crc(), **told}) as port:  # type: ignore[arg-type]
        outcome = flashed(exported, "--port", port)
    assert outcome.code == CHECK
    assert message in outcome.error()[0]


def test_a_port_that_was_named_has_to_be_there(desk: Desk, exported: Workspace) -> None:
    desk.plug_in()
    outcome = flashed(exported, "--port", "/dev/no-such-port")
    assert outcome.code == DEVICE
    assert "/dev/no-such-port" in outcome.error()[0]


def test_a_drive_is_proved_by_itself_and_by_the_firmware(desk: Desk, exported: Workspace) -> None:
    with desk.interface(desk.mount()) as memory, firmware(MODEL, crc()) as port:
        report = flashed(exported, "--flasher", "drive", "--port", port, "--json").json
    assert memory.read_bytes() == (images(exported) / "firmware.bin").read_bytes()
    assert report["verified"] == ["no FAIL.TXT", "link"]


def test_a_drive_that_went_away_is_proved_by_the_firmware_alone(
    desk: Desk, exported: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive_module, "BACK_S", 0.4)
    options = ("--drive", str(desk.mount()))
    with desk.interface(desk.drives / "NODE_L432KC", "ignore"):
        outcome = flashed(exported, *options)
        assert outcome.code == CHECK
        assert "nothing shows that it arrived" in outcome.error()[0]
        with firmware(MODEL, crc()) as port:
            report = flashed(exported, *options, "--port", port, "--json").json
    assert report["verified"] == ["link"]
