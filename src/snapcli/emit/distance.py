"""The distances to the answered and the next class as C, by the portable kernel of every set."""

from snapcli.emit.lowering import Lowered
from snapcli.emit.steps import DISTANCE_SCRATCH
from snapcli.emit.text import constant_bytes, struct
from snapcli.fixedpoint import MahalanobisS8

NAME, RESULT = "distance", "distances"
TYPE = "struct snapuq_distances"
OWN, NEXT = f"{RESULT}.own_q16", f"{RESULT}.next_q16"


def lower_distance(head: MahalanobisS8, total: str, answer: str) -> Lowered:
    """total: the pointer to the pooled sums; answer: an expression."""
    given = f"&{NAME}, {total}, {answer}, {DISTANCE_SCRATCH}"
    return Lowered(
        definitions=struct(head, NAME, {}),
        call=f"{RESULT} =\n        snapuq_mahalanobis_s8({given});",
        constant_bytes=constant_bytes(head),
        scratch_bytes=2 * (head.channels + head.rank),
        slack=(None,),
    )
