"""A graph as C, with or without its monitor: {file name: text}. Nothing here touches the disk."""

from snapcli.emit.lowering import KernelSet
from snapcli.emit.model import Emitted, emit_model
from snapcli.emit.program import Program, build_program
from snapcli.emit.reference import Reference

__all__ = [
    "Emitted",
    "KernelSet",
    "Program",
    "Reference",
    "build_program",
    "emit_model",
]
