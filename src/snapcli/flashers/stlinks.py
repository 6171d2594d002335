"""The ST-LINKs on the USB, found by the serial port that each of them has."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from serial.tools import list_ports

from snapcli.targets.probes import ST, ST_LINKS


@dataclass(frozen=True)
class StLink:
    """port: its serial port. allowed: this user may talk to the probe itself."""

    serial: str
    port: str
    allowed: bool


def stlinks() -> list[StLink]:
    """All that are attached, in the order of their ports."""
    ports = (p for p in list_ports.comports() if p.vid == ST and p.pid in ST_LINKS)
    return [
        StLink(p.serial_number or "", p.device, _allowed(getattr(p, "usb_device_path", None)))
        for p in sorted(ports, key=lambda port: str(port.device))
    ]


def port_of(serial: str) -> str | None:
    """The serial port of that ST-LINK."""
    return next((link.port for link in stlinks() if link.serial.lower() == serial.lower()), None)


def only_port() -> str | None:
    """The serial port of the only ST-LINK; None if there is none, or more."""
    probes = stlinks()
    return probes[0].port if len(probes) == 1 else None


def _allowed(usb_device: str | None) -> bool:
    """Linux: whether the file behind the device may be written. True where that is not known."""
    if usb_device is None or not sys.platform.startswith("linux"):
        return True
    try:
        bus, device = (int(Path(usb_device, n).read_text()) for n in ("busnum", "devnum"))
    except (OSError, ValueError):
        return True
    return os.access(f"/dev/bus/usb/{bus:03}/{device:03}", os.W_OK)
