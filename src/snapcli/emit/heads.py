"""snap_heads.c: the integer heads, one constant struct per tap."""

from snapcli.emit.text import GENERATED, array, struct
from snapcli.fixedpoint import GaussianHeadS8, Multiplier, Standardize
from snapcli.graph.monitor import Body


def head_name(tap: str) -> str:
    return f"snap_model_head_{tap}"


def table_name(tap: str) -> str:
    return f"snap_model_inverse_sigma_{tap}"


def emit_heads(body: Body) -> str:
    parts = [GENERATED, '#include "snap_parts.h"\n']
    for tap, head in zip(body.taps, body.heads, strict=True):
        parts.append(_head(tap.after, head))
    return "\n".join(parts)


def head_bytes(head: GaussianHeadS8) -> int:
    """Constants of one head, its table included."""
    arrays = (
        head.before.mantissa,
        head.before.offset,
        head.after.mantissa,
        head.after.offset,
        head.projector,
        head.mean_weights,
        head.xi_weights,
        head.xi_bias,
        head.inverse_sigma_q9,
    )
    return sum(a.nbytes for a in arrays)


def _multiplier(m: Multiplier) -> str:
    return f"{{{m.mantissa}, {m.shift}}}"


def _head(tap: str, head: GaussianHeadS8) -> str:
    def standardize(name: str, part: Standardize) -> str:
        arrays[f"{tap}_{name}_mantissa"] = part.mantissa
        arrays[f"{tap}_{name}_offset"] = part.offset
        return f"{{{tap}_{name}_mantissa, {tap}_{name}_offset, {part.shift}}}"

    def constant(name: str, values: object) -> str:
        arrays[f"{tap}_{name}"] = values
        return f"{tap}_{name}"

    arrays: dict[str, object] = {}
    members = {
        "in_channels": head.in_channels,
        "channels": head.channels,
        "rank": head.rank,
        "before": standardize("before", head.before),
        "after": standardize("after", head.after),
        "projector": constant("projector", head.projector) if head.rank else "0",
        "latent": _multiplier(head.latent),
        "mean_weights": constant("mean_weights", head.mean_weights),
        "mean": _multiplier(head.mean),
        "xi_weights": constant("xi_weights", head.xi_weights),
        "xi_bias": constant("xi_bias", head.xi_bias),
        "xi": _multiplier(head.xi),
        "xi_zero_point": head.xi_zero_point,
        "inverse_sigma_q9": table_name(tap),
    }
    text = [array(name, values) for name, values in arrays.items()]  # type: ignore[arg-type]
    text.append(struct("snapuq_gaussian_head_s8", head_name(tap), members, static=False))
    return "\n".join(text)
