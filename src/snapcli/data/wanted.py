"""What the data of a finished model have to become."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """What a finished model takes and answers. shape: of one input without the batch axis (any
    rank); classes; scale, zero_point: of its int8 input, None for a Keras model, which has none
    yet. The real range of an int8 input is scale * (-128 - zero_point) .. scale *
    (127 - zero_point)."""

    shape: tuple[int, ...]
    classes: int
    scale: float | None = None
    zero_point: int | None = None
