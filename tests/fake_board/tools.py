"""Plays pyocd, openocd, st-flash and st-info: `tools.py FOLDER TOOL ARGUMENTS`.

FOLDER holds state.json (the probes, and what shall go wrong), the flash memory of each probe as
SERIAL.flash, and calls.log with a line per start. Arguments are taken only as the real tools
take them. Needs nothing but Python, not even site-packages.
"""

import argparse
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

START = 0x0800_0000
IDCODE = 0xE004_2000
FLASH_SIZE = (0x1FFF_75E0, 0x1FF0_F442)
SECTOR = 2048

FOLDER, TOOL, ARGUMENTS = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
STATE = json.loads((FOLDER / "state.json").read_text())


class ToolError(Exception):
    """What the tool complains about; it then ends with exit status 1."""


class Probe:
    def __init__(self, serial: str) -> None:
        found = [p for p in STATE["probes"] if p["serial"] == serial]
        if not found:
            raise ToolError(NO_PROBE[TOOL].format(serial=serial))
        if STATE["fault"] == "permission":
            raise ToolError("Error: libusb_open() failed with LIBUSB_ERROR_ACCESS")
        self.about = found[0]
        self.memory = FOLDER / f"{serial}.flash"

    def read(self, address: int, count: int) -> bytes:
        if address == IDCODE:
            return int(self.about["idcode"]).to_bytes(4, "little")[:count]
        if address in FLASH_SIZE:
            return int(self.about["flash_kb"]).to_bytes(2, "little")[:count]
        return self.memory.read_bytes()[address - START :][:count]

    def write(self, data: bytes) -> None:
        """Erases sectors, then writes; what shall go wrong does so in the middle."""
        flash = bytearray(self.memory.read_bytes())
        erased = -(-len(data) // SECTOR) * SECTOR
        flash[:erased] = b"\xff" * erased
        half = len(data) // 2
        flash[:half] = data[:half]
        self.memory.write_bytes(flash)
        fault = STATE["fault"]
        if fault == "half":
            raise ToolError(HALF_WAY[TOOL])
        if fault == "hang":
            (FOLDER / "hanging").write_text(str(os.getpid()))
            time.sleep(600)
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        flash[half : len(data)] = data[half:]
        if fault == "corrupt":
            flash[half] ^= 0x10
        self.memory.write_bytes(flash)


NO_PROBE = {
    "pyocd": "No connected debug probe matches unique ID '{serial}'",
    "openocd": "Error: open failed",
    "st-flash": "2026-01-01T00:00:00 WARN usb.c: Couldn't find any ST-Link devices",
}
HALF_WAY = {
    "pyocd": "0001234 C flash program page failure (address 0x08000800) [__main__]",
    "openocd": "Info : clock speed 500 kHz\nError: timed out while waiting for target halted\n"
    "** Programming Failed **",
    "st-flash": "2026-01-01T00:00:00 ERROR flash_loader.c: write error, count = 512",
}


def number(text: str) -> int:
    return int(text, 0)


def pyocd() -> None:
    parser = argparse.ArgumentParser("pyocd", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("json", allow_abbrev=False)
    listing.add_argument("--probes", action="store_true", required=True)
    load, cmd = (commands.add_parser(name, allow_abbrev=False) for name in ("load", "cmd"))
    for each in (load, cmd):
        each.add_argument("--no-wait", action="store_true", required=True)
        each.add_argument("--uid", required=True)
        each.add_argument("--target", required=True, choices=["stm32l432kc", "stm32f767zi"])
    load.add_argument("--erase", choices=["auto", "chip", "sector"])
    load.add_argument("--format", choices=["bin", "hex", "elf"])
    load.add_argument("--base-address", type=number)
    load.add_argument("file")
    cmd.add_argument("-c", dest="commands", action="append", required=True)
    given = parser.parse_args(ARGUMENTS)

    if given.command == "json":
        boards = [{"unique_id": p["serial"], "info": "ST NUCLEO"} for p in STATE["probes"]]
        print(json.dumps({"status": 0, "boards": boards}))
    elif given.command == "load":
        assert given.base_address == START
        assert given.format == "bin"
        Probe(given.uid).write(Path(given.file).read_bytes())
        print("0000900 I Erased and programmed [loader]")
    else:
        probe = Probe(given.uid)
        for line in given.commands:
            name, *values = line.split()
            if name in ("read32", "read16"):
                width = int(name[4:]) // 8
                value = int.from_bytes(probe.read(number(values[0]), width), "little")
                print(f"{number(values[0]):08x}:  {value:0{2 * width}x}    |....|")
            elif name == "savemem":
                address, count, path = number(values[0]), number(values[1]), values[2]
                Path(path).write_bytes(probe.read(address, count))
            else:
                raise ToolError(f"Error: unrecognized command '{name}'")


def openocd() -> None:
    say = lambda text: print(text, file=sys.stderr)  # noqa: E731
    say("Open On-Chip Debugger 0.12.0")
    if ARGUMENTS == ["--version"]:
        return
    config, commands, given = None, [], list(ARGUMENTS)
    while given:
        option, value = given.pop(0), given.pop(0)
        assert option in ("-f", "-c"), option
        if option == "-f":
            config = value
        else:
            commands.append(value)
    if config not in ("board/st_nucleo_l4.cfg", "board/st_nucleo_f7.cfg"):
        raise ToolError(f"Can't find {config}")
    first = re.fullmatch(r"adapter serial (\S+)", commands.pop(0))
    assert first, "which probe?"
    probe = None
    for command in commands:
        if command == "init":
            probe = Probe(first[1])
        elif found := re.fullmatch(r"program (\S+) (\S+) reset exit", command):
            assert number(found[2]) == START
            say("** Programming Started **")
            Probe(first[1]).write(Path(found[1]).read_bytes())
            say("** Programming Finished **")
            return
        elif command == "shutdown":
            say("shutdown command invoked")
            return
        elif probe is None:
            raise ToolError(f'invalid command name "{command.split()[0]}"')
        elif found := re.fullmatch(r'echo "(.*)\[read_memory (\S+) (32|16) 1\]"', command):
            value = int.from_bytes(probe.read(number(found[2]), int(found[3]) // 8), "little")
            say(f"{found[1]}{value:#x}")
        elif found := re.fullmatch(r"dump_image (\S+) (\S+) (\S+)", command):
            Path(found[1]).write_bytes(probe.read(number(found[2]), number(found[3])))
        else:
            raise ToolError(f'invalid command name "{command}"')
    raise ToolError("nobody said shutdown: it would run for ever")


def st_info() -> None:
    assert ARGUMENTS == ["--probe"], ARGUMENTS
    if STATE["fault"] == "permission":
        raise ToolError("2026-01-01T00:00:00 ERROR usb.c: USB device: permission denied")
    print(f"Found {len(STATE['probes'])} stlink programmers")
    for about in STATE["probes"]:
        print("  version:    V2J37S26")
        print(f"  serial:     {about['serial']}")
        print(f"  flash:      {about['flash_kb'] << 10} (pagesize: 2048)")
        print("  sram:       49152")
        print(f"  chipid:     0x{about['idcode'] & 0xFFF:04x}")
        print("  descr:      L43x/L44x")


def st_flash() -> None:
    if ARGUMENTS == ["--version"]:
        print("v1.7.0")
        return
    print("st-flash 1.7.0")
    given = list(ARGUMENTS)
    options = {}
    while given[0].startswith("--"):
        option = given.pop(0)
        assert option in ("--serial", "--reset", "--format"), option
        options[option] = None if option == "--reset" else given.pop(0)
    assert options["--format"] == "binary"
    assert "--reset" in options, "the core would stay halted"
    probe = Probe(str(options["--serial"]))
    command, path, address, *size = given
    assert int(address, 16) == START
    if command == "write":
        assert not size
        probe.write(Path(path).read_bytes())
        print("Flash written and verified! jolly good!")
    else:
        assert command == "read"
        Path(path).write_bytes(probe.read(START, int(size[0], 16)))


def main() -> int:
    with (FOLDER / "calls.log").open("a") as log:
        log.write(" ".join([TOOL, *ARGUMENTS]) + "\n")
    if STATE["fault"] == "gibberish":
        print("Guru Meditation")
        return 0
    try:
        {"pyocd": pyocd, "openocd": openocd, "st-flash": st_flash, "st-info": st_info}[TOOL]()
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
