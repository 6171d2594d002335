"""Writing an image into the flash of a board. One file per flasher, all with one interface."""

from snapcli.flashers.choice import FLASHERS, Wish, choose, flashers_for
from snapcli.flashers.flasher import Flasher, Probe
from snapcli.flashers.stlinks import only_port, port_of, stlinks
from snapcli.flashers.writing import Written, put

__all__ = [
    "FLASHERS",
    "Flasher",
    "Probe",
    "Wish",
    "Written",
    "choose",
    "flashers_for",
    "only_port",
    "port_of",
    "put",
    "stlinks",
]
