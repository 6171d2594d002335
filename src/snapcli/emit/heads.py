"""snap_heads.c: the integer heads, one constant struct per tap."""

from snapcli.emit.text import GENERATED, struct
from snapcli.graph.monitor import Body


def head_name(tap: str) -> str:
    return f"snap_model_head_{tap}"


def table_name(tap: str) -> str:
    return f"snap_model_inverse_sigma_{tap}"


def emit_heads(body: Body) -> str:
    heads = [
        struct(
            head,
            head_name(tap.after),
            {"inverse_sigma_q9": table_name(tap.after)},
            static=False,
        )
        for tap, head in zip(body.taps, body.heads, strict=True)
    ]
    return "\n".join([GENERATED, '#include "snap_parts.h"\n', *heads])
