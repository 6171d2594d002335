"""Which serial ports there are, and which of them may be a board."""

from dataclasses import dataclass

from serial.tools import list_ports

from snapcli.errors import DeviceError, UsageError

_ST, _ARM = 0x0483, 0x0D28
# The debug probes of boards that snap knows, as they show on USB.
_BOARDS = {
    (_ST, 0x374B): "ST-LINK/V2-1",
    (_ST, 0x3752): "ST-LINK/V2-1",
    (_ST, 0x374E): "STLINK-V3",
    (_ST, 0x374F): "STLINK-V3",
    (_ST, 0x3753): "STLINK-V3",
    (_ST, 0x3754): "STLINK-V3",
    (_ST, 0x3757): "STLINK-V3",
    (_ARM, 0x0204): "DAPLink",
}


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
            board=_BOARDS.get((port.vid, port.pid)),
        )
        for port in sorted(list_ports.comports(), key=lambda port: port.device)
        if port.vid is not None and port.pid is not None
    ]


def find_port(port: str | None) -> str:
    """The given port, or the only candidate."""
    if port is not None:
        return port
    found = candidates()
    if not found:
        raise DeviceError(
            "No board is plugged in: there is no serial port on USB.",
            "Plug it in with a cable that carries data, or name its port: --port PORT",
        )
    if len(found) > 1:
        raise UsageError(
            f"There are {len(found)} serial ports: {'; '.join(map(str, found))}.",
            f"Say which one is the board: --port {found[0].device}",
        )
    return found[0].device
