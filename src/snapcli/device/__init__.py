"""Talking to a board or an emulated one. Knows no models."""

from snapcli.device.client import Client
from snapcli.device.discovery import Candidate, candidates, find_port
from snapcli.device.emulator import Emulator
from snapcli.device.failure import LinkError, Reason
from snapcli.device.messages import (
    AlarmAction,
    Evidence,
    Fault,
    Hello,
    ImageCheck,
    Inference,
    Kept,
    Profile,
    Selftest,
    Stack,
    StreamState,
    Watch,
)
from snapcli.device.transport import Link, open_port

__all__ = [
    "AlarmAction",
    "Candidate",
    "Client",
    "Emulator",
    "Evidence",
    "Fault",
    "Hello",
    "ImageCheck",
    "Inference",
    "Kept",
    "Link",
    "LinkError",
    "Profile",
    "Reason",
    "Selftest",
    "Stack",
    "StreamState",
    "Watch",
    "candidates",
    "find_port",
    "open_port",
]
