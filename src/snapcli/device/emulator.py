"""An emulated board that looks like one on a serial port."""

import os
import re
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from snapcli import toolchain
from snapcli.errors import DeviceError
from snapcli.targets import Target

# Of a busy machine: QEMU that starts, and QEMU that goes.
_START_TIMEOUT_S = 60.0
_ENDING_S = 2.0


class Emulator:
    """Context manager: QEMU runs while it is entered, `port` is its serial port."""

    port: str

    def __init__(self, target: Target, elf: Path) -> None:
        self._target = target
        self._elf = elf

    def __enter__(self) -> Self:
        self._process = toolchain.start_emulator(self._target, self._elf)
        self._held_open = -1
        try:
            self.port = self._find_port()
            # QEMU looks for somebody at the other end when the machine starts, and
            # then once a second only: be there early, and stay.
            self._held_open = os.open(self.port, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise self._ended() from error
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, DeviceError) and self._is_ending():
            # The port only went away because the emulator did.
            raise self._ended() from error
        self._stop()

    def _find_port(self) -> str:
        """The pty that QEMU announces; the timer ends the wait if it never does."""
        assert self._process.stdout is not None
        timer = threading.Timer(_START_TIMEOUT_S, self._process.kill)
        timer.start()
        try:
            for line in self._process.stdout:
                if match := re.search(r"redirected to (\S+)", line):
                    return match[1]
        finally:
            timer.cancel()
        raise self._ended()

    def _ended(self) -> DeviceError:
        return DeviceError(
            f"The emulator ended by itself: {self._stop()}.",
            "The firmware could not be loaded, faulted, or needed more than the reserved stack.",
        )

    def _is_ending(self) -> bool:
        """Whether QEMU is gone, or goes in this moment."""
        try:
            self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _stop(self) -> str:
        """End QEMU, if it still runs; its last message, or its status."""
        if self._held_open >= 0:
            os.close(self._held_open)
            self._held_open = -1
        self._process.kill()
        _, errors = self._process.communicate()
        # Behind the message of a fatal error come the registers.
        messages = [line for line in errors.splitlines() if line.startswith("qemu")]
        return messages[-1] if messages else f"exit status {self._process.returncode}"
