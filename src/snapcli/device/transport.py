"""A serial port, opened for us alone."""

import errno
from pathlib import Path

import serial

from snapcli.errors import DeviceError

BAUD = 115200
# A device that has stopped reading must not hold us up: pyserial then gives up.
WRITE_TIMEOUT_S = 5.0

_BUSY = (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK)


def open_port(path: str) -> serial.Serial:
    """Open a serial port or pty exclusively at 115200 8N1."""
    try:
        return serial.Serial(path, BAUD, exclusive=True, write_timeout=WRITE_TIMEOUT_S)
    except (OSError, ValueError) as error:
        raise _explained(path, error) from error


def _explained(path: str, error: Exception) -> DeviceError:
    code = _errno(error)
    if code == errno.ENOENT or (code is None and not Path(path).exists()):
        return DeviceError(
            f"The port {path} does not exist.",
            "Plug the board in, or name the right port; `ls /dev/ttyACM* /dev/ttyUSB*` lists them.",
        )
    if code in (errno.EACCES, errno.EPERM):
        return DeviceError(
            f"No permission to open the port {path}.",
            "Add yourself to the group dialout: sudo usermod -aG dialout $USER, then log in again.",
        )
    if code in _BUSY:
        return DeviceError(
            f"The port {path} is busy: another program has it open.",
            "Close that program (a serial monitor, another snap) and try again.",
        )
    return DeviceError(
        f"The port {path} cannot be opened: {error}.", "Is it a serial port? Name another one."
    )


def _errno(error: BaseException | None) -> int | None:
    """The first error number in a chain: pyserial hides that of a busy port in its cause."""
    while error is not None:
        number = getattr(error, "errno", None)
        if number is not None:
            return int(number)
        error = error.__cause__ or error.__context__
    return None
