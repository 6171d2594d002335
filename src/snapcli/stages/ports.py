"""ports: the serial ports on USB, and whether they can be used."""

from dataclasses import dataclass

from snapcli.device import Candidate, LinkError, candidates, open_port

FREE = "free"


@dataclass(frozen=True)
class PortView:
    """state: free, or why it cannot be opened: busy, no permission, ..."""

    port: Candidate
    state: str
    hint: str | None


def ports() -> list[PortView]:
    return [_view(port) for port in candidates()]


def _view(port: Candidate) -> PortView:
    try:
        open_port(port.device).close()
    except LinkError as error:
        return PortView(port, error.reason, error.hint)
    return PortView(port, FREE, None)
