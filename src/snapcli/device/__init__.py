"""Talking to a board or an emulated one. Knows no models."""

from snapcli.device.client import Client
from snapcli.device.discovery import Candidate, candidates, find_port
from snapcli.device.emulator import Emulator
from snapcli.device.failure import LinkError, Reason
from snapcli.device.messages import (
    Fault,
    Hello,
    ImageCheck,
    Inference,
    Profile,
    Selftest,
    Stack,
    StreamState,
)
from snapcli.device.transport import Link, open_port

__all__ = [
    "Candidate",
    "Client",
    "Emulator",
    "Fault",
    "Hello",
    "ImageCheck",
    "Inference",
    "Link",
    "LinkError",
    "Profile",
    "Reason",
    "Selftest",
    "Stack",
    "StreamState",
    "candidates",
    "find_port",
    "open_port",
]
