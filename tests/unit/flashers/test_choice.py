"""Which flasher and which probe are taken."""

import pytest

from snapcli.errors import DeviceError, ToolchainError, UsageError
from snapcli.flashers import FLASHERS, Wish, choose, flashers_for
from snapcli.targets import load_target
from tests.fake_board import OTHER, SERIAL, Desk

SMALL = load_target("small-mcu")


def taken(wish: Wish | None = None) -> tuple[str, str]:
    wish = wish or Wish()
    flasher, probe = choose(SMALL, flashers_for(SMALL, wish), wish)
    return flasher.name, probe.serial


def test_auto_takes_the_first_that_is_installed_and_sees_a_board(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.plug_in()
    drive = desk.mount()
    monkeypatch.setenv("PATH", str(desk.folder / "bin"))
    assert taken() == ("pyocd", SERIAL)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert taken() == ("openocd", SERIAL)
    desk.without("openocd")
    assert taken() == ("st-flash", SERIAL)
    desk.without("st-info")
    assert taken() == ("drive", str(drive))


def test_a_flasher_that_fails_to_look_leaves_it_to_the_next(desk: Desk) -> None:
    """pyOCD and st-info talk nonsense here; a drive is there all the same."""
    desk.fault("gibberish")
    drive = desk.mount()
    assert taken() == ("drive", str(drive))


def test_what_hindered_the_search_is_told_if_nothing_is_found(desk: Desk) -> None:
    desk.fault("permission")
    wish = Wish(flasher="st-flash")
    with pytest.raises(DeviceError, match=r"st-info failed: .*permission denied"):
        taken(wish)


def test_without_a_board_it_says_how_it_looked(desk: Desk) -> None:
    with pytest.raises(DeviceError) as caught:
        taken()
    assert caught.value.message == "no probe and no drive of a NUCLEO-L432KC was found"
    assert "pyocd, openocd, st-flash, drive" in (caught.value.hint or "")


def test_a_probe_that_is_not_there(desk: Desk) -> None:
    desk.plug_in()
    with pytest.raises(UsageError) as caught:
        taken(Wish(probe=OTHER))
    assert OTHER in caught.value.message
    assert caught.value.hint == f"Connected: {SERIAL}."


@pytest.mark.parametrize(
    ("name", "package"), [("openocd", "openocd"), ("st-flash", "stlink-tools"), ("pyocd", "")]
)
def test_a_flasher_that_is_not_installed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setenv("PATH", str(desk.drives))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError) as caught:
        flashers_for(SMALL, Wish(flasher=name))
    assert caught.value.message == f"{name} is not installed"
    assert package in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("target", "wish", "message"),
    [
        ("small-mcu", {"flasher": "stflash"}, "unknown flasher 'stflash'"),
        ("small-mcu", {"flasher": "openocd", "drive": "x"}, "--drive is the way of another"),
        ("small-mcu", {"drive": "x", "probe": "y"}, "--drive is the way of another"),
        ("small-mcu", {"flasher": "drive", "probe": "y"}, "a drive has no serial number"),
        ("qemu-m4", {"flasher": "openocd"}, "qemu-m4 is not a board"),
        ("qemu-m4", {"port": "/dev/ttyACM0"}, "qemu-m4 is not a board"),
    ],
)
def test_wishes_that_mean_nothing(target: str, wish: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        flashers_for(load_target(target), Wish(**wish))  # type: ignore[arg-type]


def test_an_emulated_target_has_no_flasher() -> None:
    assert flashers_for(load_target("qemu-m4"), Wish()) == []


def test_the_help_names_every_flasher() -> None:
    assert FLASHERS == ("pyocd", "openocd", "st-flash", "drive")
