"""A serial port, opened for us alone, that may go away and come back."""

import errno
import os
import termios
import time
from contextlib import suppress
from pathlib import Path

import serial

from snapcli.device.discovery import candidates
from snapcli.device.failure import LinkError, Reason

BAUD = 115200
# A device that has stopped reading must not hold us up: pyserial then gives up.
WRITE_TIMEOUT_S = 5.0

_BUSY = (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK)
_LOOK_AGAIN_S = 0.1
# pyserial lets those of termios through where a port vanishes under it.
_FAILURES = (OSError, termios.error)


def open_port(path: str) -> serial.Serial:
    """Open a serial port or pty exclusively at 115200 8N1."""
    try:
        return serial.Serial(path, BAUD, exclusive=True, write_timeout=WRITE_TIMEOUT_S)
    except (*_FAILURES, ValueError) as error:
        raise _explained(path, error) from error


class Link:
    """Bytes to and from a device.

    Where the port is on USB, its serial number is kept, to find it again under another path.
    """

    def __init__(self, port: serial.Serial | str) -> None:
        self._port = open_port(port) if isinstance(port, str) else port
        self.path: str = self._port.port
        device = os.path.realpath(self.path)
        numbers = {port.device: port.serial_number for port in candidates()}
        self._serial_number = numbers.get(device)

    @property
    def baud(self) -> int:
        return int(self._port.baudrate)

    @baud.setter
    def baud(self, rate: int) -> None:
        try:
            self._port.baudrate = rate
        except ValueError as error:
            raise LinkError(
                Reason.REFUSED,
                f"The port {self.path} does not know {rate} baud.",
                "Choose another rate.",
            ) from error
        except _FAILURES as error:
            raise self._gone() from error

    def read(self, timeout_s: float) -> bytes:
        """The bytes that are there, or those that come within the time."""
        try:
            self._port.timeout = timeout_s
            data: bytes = self._port.read(max(1, self._port.in_waiting))
        except _FAILURES as error:
            raise self._gone() from error
        return data

    def write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except serial.SerialTimeoutException as error:
            raise LinkError(
                Reason.STUCK,
                f"The device at {self.path} does not read what it is sent.",
                "Reset the board and try again.",
            ) from error
        except _FAILURES as error:
            raise self._gone() from error

    def drop_input(self, quiet_s: float, timeout_s: float) -> None:
        """Drop what arrives until everything written has left and it has been quiet."""
        until = time.monotonic() + timeout_s
        while (left := until - time.monotonic()) > 0:
            if not self.read(min(quiet_s, left)) and not self._unsent():
                return

    def reopen(self, within_s: float) -> None:
        """Wait for the port to come back, and open it, at 115200."""
        self.close()
        until = time.monotonic() + within_s
        while True:
            try:
                self._port = open_port(self._present_path())
            except LinkError as error:
                # It comes back step by step: as a name, with permissions, free.
                if time.monotonic() < until:
                    time.sleep(_LOOK_AGAIN_S)
                    continue
                raise LinkError(
                    Reason.MISSING,
                    f"The port {self.path} went away and was not back within {within_s:g} s.",
                    "Plug the board in again and start anew.",
                ) from error
            self.path = self._port.port
            return

    def close(self) -> None:
        with suppress(*_FAILURES):  # what is gone needs no closing
            self._port.close()

    def _unsent(self) -> int:
        try:
            return int(self._port.out_waiting)
        except _FAILURES as error:
            raise self._gone() from error

    def _present_path(self) -> str:
        if self._serial_number and not Path(self.path).exists():
            for port in candidates():
                if port.serial_number == self._serial_number:
                    return port.device
        return self.path

    def _gone(self) -> LinkError:
        return LinkError(
            Reason.GONE, f"The port {self.path} went away.", "Plug the board in and try again."
        )


def _explained(path: str, error: Exception) -> LinkError:
    code = _errno(error)
    if code == errno.ENOENT or (code is None and not Path(path).exists()):
        return LinkError(
            Reason.MISSING,
            f"The port {path} does not exist.",
            "Plug the board in, or name the right port; `snap ports` lists them.",
        )
    if code in (errno.EACCES, errno.EPERM):
        return LinkError(
            Reason.NO_PERMISSION,
            f"No permission to open the port {path}.",
            "Add yourself to the group dialout: sudo usermod -aG dialout $USER, then log in again.",
        )
    if code in _BUSY:
        return LinkError(
            Reason.BUSY,
            f"The port {path} is busy: another program has it open.",
            "Close that program (a serial monitor, another snap) and try again.",
        )
    if code in (errno.ENOTTY, errno.EISDIR):
        return LinkError(
            Reason.NO_PORT,
            f"{path} is not a serial port.",
            "Name another one; `snap ports` lists them.",
        )
    return LinkError(
        Reason.NO_PORT,
        f"The port {path} cannot be opened: {error}.",
        "Is it a serial port? Name another one.",
    )


def _errno(error: BaseException | None) -> int | None:
    """The first error number in a chain: pyserial hides that of a busy port in its cause."""
    while error is not None:
        number = error.args[0] if isinstance(error, termios.error) else None
        number = getattr(error, "errno", number)
        if number is not None:
            return int(number)
        error = error.__cause__ or error.__context__
    return None
