"""What can go wrong between the host and a device, kind by kind."""

from enum import StrEnum

from snapcli.errors import DeviceError


class Reason(StrEnum):
    """The kinds of trouble; each wants something else done about it."""

    MISSING = "missing"
    NO_PERMISSION = "no permission"
    BUSY = "busy"
    NO_PORT = "no serial port"
    GONE = "gone"
    STUCK = "does not read"
    SILENT = "silent"
    CUT_OFF = "cut off"
    DAMAGED = "damaged"
    FOREIGN = "another protocol"
    NO_STREAM = "no stream"
    REFUSED = "refused"
    FAULT = "fault"


# What a disturbed line does to a frame: asking again may help.
DISTURBED = frozenset({Reason.SILENT, Reason.CUT_OFF, Reason.DAMAGED, Reason.FOREIGN})


class LinkError(DeviceError):
    """A DeviceError that knows its reason."""

    def __init__(self, reason: Reason, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.reason = reason
