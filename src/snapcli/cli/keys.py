"""Keys that are pressed while a command goes on."""

import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def pressed() -> Iterator[Callable[[], str]]:
    """Gives a function: the keys that were pressed since its last call, without waiting."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)

    def keys() -> str:
        typed = ""
        while select.select([stdin], [], [], 0)[0]:
            key = sys.stdin.read(1)
            if not key:  # the terminal was closed
                break
            typed += key
        return typed

    try:
        tty.setcbreak(stdin)
        yield keys
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
