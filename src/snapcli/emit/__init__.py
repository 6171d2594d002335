"""A monitor as C: {file name: text}. Nothing here touches the disk."""

from snapcli.emit.model import Emitted, emit_model

__all__ = ["Emitted", "emit_model"]
