"""snap_heads.c: the integer heads, one constant per tap."""

from snapcli.emit.program import Program
from snapcli.emit.text import GENERATED


def emit_heads(program: Program) -> str:
    definitions = [head.definitions for head in program.heads]
    return "\n".join([GENERATED, '#include "snap_parts.h"\n', *definitions])
