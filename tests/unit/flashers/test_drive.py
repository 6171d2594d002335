"""The ST-LINK's drive: a folder, and a process that plays the firmware behind it."""

from pathlib import Path

import pytest

from snapcli.errors import CheckError, DeviceError, UsageError
from snapcli.flashers import Wish, Written, choose, drive, flashers_for, put
from snapcli.targets import load_target
from tests.fake_board import Desk

SMALL = load_target("small-mcu")


def flash(image: Path, wish: Wish | None = None) -> Written:
    wish = wish or Wish(flasher="drive")
    flasher, probe = choose(SMALL, flashers_for(SMALL, wish), wish)
    return put(SMALL, flasher, probe, image)


def test_a_copied_image_arrives(desk: Desk, image: Path) -> None:
    with desk.interface(desk.mount()) as memory:
        written = flash(image)
    assert memory.read_bytes() == image.read_bytes()
    assert (written.part, written.proof) == ("NUCLEO-L432KC", "no FAIL.TXT")


def test_the_reason_of_a_failure_is_told(desk: Desk, image: Path) -> None:
    folder = desk.mount()
    with desk.interface(folder, "fail"), pytest.raises(DeviceError) as caught:
        flash(image)
    assert "The interface firmware FAILED to reset/halt the target MCU" in caught.value.message
    # What that attempt left does not count against the next.
    assert (folder / "FAIL.TXT").is_file()
    with desk.interface(folder) as memory:
        flash(image)
    assert memory.read_bytes() == image.read_bytes()


@pytest.mark.parametrize("how", ["vanish", "ignore"])
def test_a_drive_that_does_not_come_back_proves_nothing(
    desk: Desk, image: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(drive, "BACK_S", 0.5)
    with desk.interface(desk.mount(), how):
        assert flash(image).proof is None


def test_a_drive_that_cannot_be_written(desk: Desk, image: Path) -> None:
    (desk.mount() / image.name).mkdir()
    with pytest.raises(DeviceError, match=r"copying to the drive .* failed: Is a directory"):
        flash(image)


@pytest.mark.parametrize(
    ("label", "code", "named"),
    [
        ("NODE_F767ZI", "0818", "NUCLEO-F767ZI"),
        ("NODE_F767ZI", "", "NUCLEO-F767ZI"),
        ("DIS_L4IOT", "0764", "DIS_L4IOT, board 0764"),
        ("NODE_L432KC", "0818", "NUCLEO-F767ZI"),
        ("STICK", "", "STICK"),
    ],
)
def test_the_drive_of_another_board_is_refused(
    desk: Desk, image: Path, label: str, code: str, named: str
) -> None:
    folder = desk.mount(label, code)
    before = sorted(folder.iterdir())
    with pytest.raises(CheckError) as caught:
        flash(image)
    assert f"connected is {named}" in caught.value.message
    assert "small-mcu (STM32L432KC)" in caught.value.message
    assert sorted(folder.iterdir()) == before


def test_a_label_is_enough(desk: Desk, image: Path) -> None:
    with desk.interface(desk.mount("NODE_L432KC", "")):
        assert flash(image).part == "NUCLEO-L432KC"


def test_of_two_drives_one_has_to_be_named(desk: Desk, image: Path) -> None:
    one, other = desk.mount("NODE_L432KC"), desk.mount("NODE_F767ZI")
    with pytest.raises(UsageError) as caught:
        flash(image)
    assert str(one) in caught.value.message
    assert caught.value.hint == f"Name one: --drive {other}"
    with desk.interface(one) as memory:
        flash(image, Wish(drive=one))
    assert memory.read_bytes() == image.read_bytes()


def test_a_folder_that_is_no_drive(desk: Desk, image: Path) -> None:
    with pytest.raises(DeviceError, match="not a drive of an ST-LINK"):
        flash(image, Wish(drive=desk.drives))
