"""The order of the steps: the part is identified first, what was written is verified last."""

from dataclasses import dataclass
from pathlib import Path

from snapcli import used
from snapcli.errors import InterruptedRunError, SnapError, sentences
from snapcli.flashers.flasher import Flasher, Probe
from snapcli.flashers.part import refuse_other_part
from snapcli.targets import Target

_HALF = "the board may be half-written"
_AGAIN = "Flash it again."


@dataclass(frozen=True)
class Written:
    """proof: how the flasher knows that the flash holds the image; None: it cannot."""

    part: str
    image_bytes: int
    proof: str | None


def put(target: Target, flasher: Flasher, probe: Probe, image: Path) -> Written:
    """Writes a .bin to the board, if it is for its part, and verifies it."""
    part = flasher.identify(probe)
    size = image.stat().st_size
    refuse_other_part(target, part, size)
    used.note(flasher.name)
    try:
        flasher.write(probe, image)
        verified = flasher.verify(probe, image)
    except SnapError as error:
        error.message, error.hint = f"{error.message}; {_HALF}", sentences(error.hint, _AGAIN)
        raise
    except KeyboardInterrupt:
        raise InterruptedRunError(f"writing was interrupted; {_HALF}", _AGAIN) from None
    return Written(part.name, size, flasher.proof if verified else None)
