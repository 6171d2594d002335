"""The program: `snap`, `snapuq` and `python -m snapcli`."""

import signal
import sys


def main() -> None:
    # A polite kill unwinds like any exit: no emulator and no temporary folder stays behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        from snapcli.cli import run_app

        sys.exit(run_app(sys.argv[1:]))
    except KeyboardInterrupt:
        # So early that there is nothing to say.
        sys.exit(130)


if __name__ == "__main__":
    main()
