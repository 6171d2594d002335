"""How a part identifies itself, and whether an image was built for it."""

from dataclasses import dataclass

from snapcli.errors import CheckError, DeviceError
from snapcli.targets import Target

IDCODE_AT = 0xE004_2000  # DBGMCU_IDCODE of the STM32 families F1 to F7 and L1, L4
_DEV_ID_MASK = 0xFFF

# DEV_ID -> parts that share it, KB of RAM. Others than our own only make the message better.
_FAMILIES = {
    0x413: ("STM32F405/F407", 192),
    0x415: ("STM32L47x/L48x", 128),
    0x421: ("STM32F446", 128),
    0x431: ("STM32F411", 128),
    0x433: ("STM32F401xD/xE", 96),
    0x435: ("STM32L43x/L44x", 64),
    0x449: ("STM32F74x/F75x", 320),
    0x451: ("STM32F76x/F77x", 512),
    0x452: ("STM32F72x/F73x", 256),
    0x461: ("STM32L49x/L4Ax", 320),
    0x462: ("STM32L45x/L46x", 160),
    0x464: ("STM32L41x/L42x", 40),
}


@dataclass(frozen=True)
class Part:
    """What is connected; None: the flasher cannot tell."""

    name: str
    dev_id: int | None
    flash_bytes: int | None = None
    ram_bytes: int | None = None


def part_of(idcode: int, flash_kb: int) -> Part:
    """From DBGMCU_IDCODE and the register with the flash size."""
    dev_id = idcode & _DEV_ID_MASK
    if dev_id in (0, _DEV_ID_MASK):
        raise DeviceError(
            "the probe sees no chip", "Check that the board has power and its jumpers are set."
        )
    family, ram_kb = _FAMILIES.get(dev_id, (f"a part with DEV_ID 0x{dev_id:03x}", None))
    ram = ram_kb << 10 if ram_kb else None
    return Part(f"{family}, {flash_kb} KB of flash", dev_id, flash_kb << 10, ram)


def refuse_other_part(target: Target, part: Part, image_bytes: int) -> None:
    """CheckError unless the image of that target runs on that part."""
    assert target.flashing
    made_for = f"the image is for {target.name} ({target.part})"
    hint = "Nothing was written. Connect the right board, or name its target: --target"
    if part.dev_id != target.flashing.dev_id:
        raise CheckError(f"{made_for}, but connected is {part.name}", hint)
    sizes = (
        ("flash", target.flash_bytes + target.settings_bytes, part.flash_bytes),
        ("RAM", target.ram_bytes, part.ram_bytes),
    )
    for kind, wanted, has in sizes:
        if has is not None and has < wanted:
            raise CheckError(
                f"{made_for} with {wanted >> 10} KB of {kind}, but what is connected has"
                f" {has >> 10} KB ({part.name})",
                hint,
            )
    if image_bytes > target.flash_bytes:
        raise CheckError(
            f"the image of {image_bytes:,} bytes is larger than the {target.flash_bytes:,} bytes"
            f" of flash of {target.part}",
            "Nothing was written. Use a smaller model or a bigger target.",
        )
