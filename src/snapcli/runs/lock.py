"""One process at a time: a lock file, and who holds it.

The lock is the kernel's (flock), which ends with the process that holds it, so a killed one
leaves nothing to clean up. What stands in the file only says which process the others wait for.
"""

import errno
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from snapcli.errors import ArtifactError, shown

OnWait = Callable[[str], None]
"""Called once, with one line, when a wait has taken a second."""

_TOLD_AFTER_S = 1.0
_LOOK_EVERY_S = 0.02
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def unheard(line: str) -> None:
    """For callers that do not show waits."""


class Lock:
    """Of a file in the folder `.locks` of a run. A process that holds it may take it again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_shared = False
        self._file: IO[Any] | None = None

    @contextmanager
    def held(self, on_wait: OnWait = unheard) -> Iterator[None]:
        """Waits until nobody else holds it."""
        if self._file is not None:
            yield
            return
        if self.is_shared:
            raise RuntimeError("the holder of a read lock cannot write")
        with self._opened() as file:
            _take(file, on_wait)
            file.seek(0)
            file.truncate()
            file.write(json.dumps(_me()))
            file.flush()
            try:
                self._file = file
                yield
            finally:
                self._file = None

    @contextmanager
    def free(self, on_wait: OnWait = unheard) -> Iterator[None]:
        """Nobody takes it while the block reads. Where there is no lock yet, or none that we may
        read, there is nobody to wait for."""
        file = self._found() if self._file is None and not self.is_shared else None
        if file is None:
            yield
            return
        with file:
            _take(file, on_wait, fcntl.LOCK_SH)
            try:
                self.is_shared = True
                yield
            finally:
                self.is_shared = False

    def holder(self) -> str | None:
        """Who else holds it, for a message."""
        if self._file is not None:
            return None
        file = self._found()
        if file is None:
            return None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _told(file)
            except OSError:
                pass  # a file system without locks: told when one is needed
        return None

    def _found(self) -> IO[Any] | None:
        """The file, if it is one that we may read; a pipe of that name would keep us waiting."""
        with suppress(OSError):
            if self.path.is_file() and not self.path.is_symlink():
                return self.path.open()
        return None

    def _opened(self) -> IO[Any]:
        folder = self.path.parent
        for path, is_right in ((folder, Path.is_dir), (self.path, Path.is_file)):
            if path.is_symlink() or (path.exists() and not is_right(path)):
                raise ArtifactError(f"{path} is not a lock of ours", "Remove it.")
        folder.mkdir(exist_ok=True)
        return open(self.path, "r+", opener=_created)


def _created(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o666)


def _take(file: IO[Any], on_wait: OnWait, how: int = fcntl.LOCK_EX) -> None:
    began, told = time.monotonic(), False
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            raise ArtifactError(
                f"{file.name} lies on a file system that cannot lock files",
                "Choose a place on a local disk with --runs-dir.",
            ) from None
        if not told and time.monotonic() - began > _TOLD_AFTER_S:
            on_wait(f"waiting for {_told(file)}")
            told = True
        time.sleep(_LOOK_EVERY_S)


def _me() -> dict[str, Any]:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    return {"pid": os.getpid(), "host": socket.gethostname(), "command": command}


def _told(file: IO[Any]) -> str:
    """Whoever wrote the file; it is data, and may be half written."""
    try:
        file.seek(0)
        holder = json.loads(file.read(4096))
        pid, host, command = int(holder["pid"]), str(holder["host"]), str(holder["command"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
    place = "" if host == socket.gethostname() else f" on {shown(host)}"
    gone = " (which has ended, but a process that it started holds on)"
    stale = not place and not _lives(pid)
    return f"{shown(command)}, process {pid}{place}{gone if stale else ''}"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # somebody else's
    return True
