"""What others say about a part: registers with their addresses, reset values and fields."""

import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Register:
    """name: "PERIPHERAL.REGISTER". fields: {name: (first bit, bits)}."""

    name: str
    address: int
    reset: int
    readable: bool
    writable: bool
    fields: Mapping[str, tuple[int, int]]


Description = Mapping[str, Register]  # by name


def from_facts(name: str) -> dict[str, Register]:
    """Registers of one of the TOML files of this folder."""
    found = {}
    for peripheral, entry in tomllib.loads((FOLDER / name).read_text("utf-8")).items():
        for register, fact in entry["registers"].items():
            fields = {field: (first, bits) for field, (first, bits) in fact["fields"].items()}
            full = f"{peripheral}.{register}"
            address = entry["base"] + fact["offset"]
            found[full] = Register(full, address, fact["reset"], True, True, fields)
    return found


@cache
def from_svd(name: str) -> dict[str, Register]:
    """Registers of an SVD file that is packed into pyOCD."""
    with zipfile.ZipFile(str(files("pyocd") / "debug" / "svd" / "svd_data.zip")) as archive:
        device = ElementTree.fromstring(archive.read(name))
    peripherals = {entry.findtext("name", ""): entry for entry in device.iter("peripheral")}
    found = {}
    for peripheral, entry in peripherals.items():
        base = int(entry.findtext("baseAddress", ""), 0)
        described = peripherals[entry.get("derivedFrom", peripheral)]
        for register in described.iter("register"):
            full = f"{peripheral}.{register.findtext('name')}"
            access = register.findtext("access", "read-write")
            fields = {
                field.findtext("name", ""): (
                    int(field.findtext("bitOffset", ""), 0),
                    int(field.findtext("bitWidth", ""), 0),
                )
                for field in register.iter("field")
            }
            found[full] = Register(
                full,
                base + int(register.findtext("addressOffset", ""), 0),
                int(register.findtext("resetValue", "0"), 16),
                access != "write-only",
                access != "read-only",
                fields,
            )
    return found


def stm32l432() -> Description:
    """The core's own registers come from one file for both parts."""
    described = from_svd("STM32L4x2.svd")
    part = {
        name: r
        for name, r in described.items()
        if r.address < 0xE0000000 or name.startswith("DBGMCU.")
    }
    return part | cortex_m(cpuid=0x410FC241, ccsidr=0, ccr=0x200)


def stm32f767() -> Description:
    """Data cache: 16 KB, 4 ways of 128 sets of 32 bytes."""
    core = cortex_m(cpuid=0x411FC270, ccsidr=0xF00FE019, ccr=0x40200)
    return from_facts("stm32f767.toml") | core


def cortex_m(cpuid: int, ccsidr: int, ccr: int) -> dict[str, Register]:
    found = from_facts("cortex_m.toml")
    for name, reset in (("CPUID", cpuid), ("CCSIDR", ccsidr), ("CCR", ccr)):
        found[f"SCB.{name}"] = replace(found[f"SCB.{name}"], reset=reset)
    return found
