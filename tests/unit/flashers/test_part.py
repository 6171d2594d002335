"""What fits what, and what was read back."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import CheckError, DeviceError
from snapcli.flashers.flasher import compare
from snapcli.flashers.part import Part, part_of, refuse_other_part
from snapcli.targets import Target, load_target

SMALL, BIG = load_target("small-mcu"), load_target("big-mcu")
SMALL_KB = 256


@pytest.mark.parametrize(("target", "kb"), [(SMALL, SMALL_KB), (BIG, 2048)])
def test_the_part_of_a_board_is_known_with_its_memory(target: Target, kb: int) -> None:
    assert target.flashing
    part = part_of(0x1000_0000 | target.flashing.dev_id, kb)
    assert (part.flash_bytes, part.ram_bytes) == (kb << 10, target.ram_bytes)
    refuse_other_part(target, part, target.flash_bytes)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1))
def test_only_the_right_part_with_enough_flash_is_taken(idcode: int, flash_kb: int) -> None:
    assert SMALL.flashing
    fits = idcode & 0xFFF == SMALL.flashing.dev_id and flash_kb >= SMALL_KB
    try:
        refuse_other_part(SMALL, part_of(idcode, flash_kb), 1)
    except CheckError:
        assert not fits
    except DeviceError:
        assert idcode & 0xFFF in (0, 0xFFF)
    else:
        assert fits


def test_too_little_ram_is_refused() -> None:
    assert SMALL.flashing
    part = Part("a cut-down part", SMALL.flashing.dev_id, SMALL_KB << 10, 40 << 10)
    with pytest.raises(CheckError, match=r"64 KB of RAM, .* has 40 KB \(a cut-down part\)"):
        refuse_other_part(SMALL, part, 1)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_any_difference_is_found(wanted: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(wanted) - 1))
    mask = data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(wanted) - 1))
    flipped = wanted[:at] + bytes([wanted[at] ^ mask]) + wanted[at + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        image, flash = Path(folder, "image"), Path(folder, "flash")
        image.write_bytes(wanted)
        flash.write_bytes(wanted)
        compare(image, flash)
        flash.write_bytes(flipped)
        with pytest.raises(CheckError, match=f"0x{0x0800_0000 + at:08x} is 0x{flipped[at]:02x}"):
            compare(image, flash)
        flash.write_bytes(wanted[:cut])
        with pytest.raises(CheckError, match=f"{cut:,} bytes were read back"):
            compare(image, flash)
        flash.unlink()
        with pytest.raises(CheckError, match="0 bytes were read back"):
            compare(image, flash)
