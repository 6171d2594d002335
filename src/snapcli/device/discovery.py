"""Which serial ports there are, and which of them may be a board."""

import shlex
from dataclasses import dataclass

from serial.tools import list_ports

from snapcli.errors import DeviceError, UsageError
from snapcli.targets.probes import PROBES


@dataclass(frozen=True)
class Candidate:
    """A serial port on USB; board is its debug probe, None for an adapter we do not know."""

    device: str
    description: str
    vid: int
    pid: int
    serial_number: str | None
    board: str | None

    def __str__(self) -> str:
        known = f", {self.board}" if self.board else ""
        return f"{self.device} ({self.vid:04x}:{self.pid:04x}{known})"


def candidates() -> list[Candidate]:
    """The ports on USB, sorted by name. A port of the mainboard has to be named."""
    return [
        Candidate(
            device=port.device,
            description=port.description,
            vid=port.vid,
            pid=port.pid,
            serial_number=port.serial_number or None,
            board=PROBES.get((port.vid, port.pid)),
        )
        for port in sorted(list_ports.comports(), key=lambda port: port.device)
        if port.vid is not None and port.pid is not None
    ]


def find_port(port: str | None) -> str:
    """The given port, or the only candidate."""
    if port is not None:
        return port
    adapters = candidates()
    if not adapters:
        raise DeviceError(
            "No board is plugged in: there is no serial port on USB.",
            "Plug it in with a cable that carries data, or name its port: --port PORT",
        )
    if len(adapters) > 1:
        raise UsageError(
            f"There are {len(adapters)} serial ports: {'; '.join(map(str, adapters))}.",
            f"Say which one is the board: --port {shlex.quote(adapters[0].device)}",
        )
    return adapters[0].device
