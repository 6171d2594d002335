"""The distance to the nearest class as C; every kernel set takes the portable kernel."""

from snapcli.emit.lowering import Lowered
from snapcli.emit.steps import DISTANCE_SCRATCH
from snapcli.emit.text import constant_bytes, struct
from snapcli.fixedpoint import MahalanobisS8

NAME, RESULT = "distance", "distance_q16"


def lower_distance(head: MahalanobisS8, total: str) -> Lowered:
    """total: the pointer to the pooled sums."""
    return Lowered(
        definitions=struct(head, NAME, {}),
        call=f"{RESULT} = snapuq_mahalanobis_s8(&{NAME}, {total}, {DISTANCE_SCRATCH});",
        constant_bytes=constant_bytes(head),
        scratch_bytes=2 * (head.channels + head.rank),
        slack=(None,),
    )
