"""Talking to a board or an emulated one. Knows no models."""

from snapcli.device.emulator import Emulator
from snapcli.device.protocol import Client, Hello, Inference, Profile, Selftest, Stack
from snapcli.device.transport import open_port

__all__ = [
    "Client",
    "Emulator",
    "Hello",
    "Inference",
    "Profile",
    "Selftest",
    "Stack",
    "open_port",
]
