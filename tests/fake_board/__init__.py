"""Boards that are not there: probes behind stub programs, drives behind folders.

Everything that could reach a real board is replaced, so that no test ever writes to one.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

HERE = Path(__file__).parent
L432, F767, L476 = 0x1001_6435, 0x1000_6451, 0x1007_6415
SERIAL, OTHER = "066BFF303435554157121019", "0672FF554949677067034831"
_TOOLS = ("openocd", "st-flash", "st-info")
_CODES = {"NODE_L432KC": "0770", "NODE_F767ZI": "0818"}


@dataclass(frozen=True)
class Desk:
    """The folder of the stubs and their state, and the folder where drives are mounted."""

    folder: Path
    drives: Path

    def plug_in(
        self,
        serial: str = SERIAL,
        idcode: int = L432,
        flash_kb: int = 256,
        port: str = "/dev/no-such-port",
    ) -> None:
        """port: the serial port of the probe."""
        probe = {"serial": serial, "idcode": idcode, "flash_kb": flash_kb, "port": port}
        state = self._state()
        state["probes"].append(probe)
        self._save(state)
        self.memory(serial).write_bytes(b"\xff" * (flash_kb << 10))

    def fault(self, kind: str | None) -> None:
        """half, hang, die, corrupt, permission or gibberish."""
        self._save({**self._state(), "fault": kind})

    def memory(self, serial: str = SERIAL) -> Path:
        return self.folder / f"{serial}.flash"

    def untouched(self, serial: str = SERIAL) -> bool:
        return set(self.memory(serial).read_bytes()) == {0xFF}

    def calls(self) -> list[str]:
        log = self.folder / "calls.log"
        return log.read_text().splitlines() if log.is_file() else []

    def without(self, *tools: str) -> None:
        """Takes stubs away; pyocd is a package, not a program."""
        for tool in tools:
            if tool == "pyocd":
                shutil.rmtree(self.folder / "packages/pyocd")
            else:
                (self.folder / "bin" / tool).unlink()

    def mount(self, label: str = "NODE_L432KC", code: str | None = None) -> Path:
        """A drive; code: the board's in MBED.HTM, empty for a drive without that file."""
        drive = self.drives / label
        drive.mkdir()
        (drive / "DETAILS.TXT").write_text("Version: 0221\r\nBuild:   Jan  7 2019 14:37:30\r\n")
        digits = _CODES[label] if code is None else code
        if digits:
            url = f"https://www.mbed.com/device/?code={digits}0221066BFF303435554157121019"
            (drive / "MBED.HTM").write_text(f'<meta http-equiv="refresh" content="0; url={url}"/>')
        return drive

    @contextmanager
    def interface(self, drive: Path, how: str = "well") -> Iterator[Path]:
        """The firmware behind the drive runs; gives the file that is its flash."""
        flash = self.folder / f"{drive.name}.flash"
        command = [sys.executable, str(HERE / "interface.py"), str(drive), str(flash), how]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "watching\n"
            try:
                yield flash
            finally:
                process.kill()

    def _state(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "state.json").read_text()))

    def _save(self, state: dict[str, Any]) -> None:
        (self.folder / "state.json").write_text(json.dumps(state))


def lay_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty desk: all tools are there, no board is. The tools come first on the PATH."""
    desk = Desk(folder / "desk", folder / "drives")
    programs, packages = desk.folder / "bin", desk.folder / "packages"
    for path in (programs, packages / "pyocd", desk.drives):
        path.mkdir(parents=True)
    desk._save({"probes": [], "fault": None})
    start = f'exec "{sys.executable}" -I -S "{HERE / "tools.py"}" "{desk.folder}"'
    for tool in _TOOLS:
        (programs / tool).write_text(f'#!/bin/sh\n{start} {tool} "$@"\n')
        (programs / tool).chmod(0o755)
    (packages / "pyocd/__init__.py").touch()
    command = [sys.executable, "-I", "-S", str(HERE / "tools.py"), str(desk.folder), "pyocd"]
    (packages / "pyocd/__main__.py").write_text(
        f"import os, sys\nos.execv({sys.executable!r}, {command!r} + sys.argv[1:])\n"
    )
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(packages), prepend=":")
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("SNAP_DRIVE_DIRS", str(desk.drives))
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: _ports(desk))
    return desk


def _ports(desk: Desk) -> list[SimpleNamespace]:
    """The serial port that each ST-LINK has; no port of this machine."""
    return [
        SimpleNamespace(
            device=probe["port"],
            description="STM32 STLink",
            vid=0x0483,
            pid=0x374B,
            serial_number=probe["serial"],
        )
        for probe in desk._state()["probes"]
    ]
