"""From an effect in physical units to a corruption with severities 1 to 5."""

from collections.abc import Callable, Mapping

import numpy as np

from snapcli.data.corruptions.types import Corruption, Images

# (images, generator, parameters ...) -> images, not yet clipped to [0, 1].
Effect = Callable[..., np.ndarray]
Level = float | tuple[float, ...]


def graded(effect: Effect, levels: Mapping[int, tuple[Level, ...]]) -> Corruption:
    """levels: the effect's parameters at severities 1 to 5, by the side in pixels of the images
    that they were made for. Images of another size take those of the nearest."""

    def corruption(x: Images, severity: int, rng: np.random.Generator) -> Images:
        side = min(x.shape[1:3])
        nearest = levels[min(levels, key=lambda known: abs(known - side))]
        if not 1 <= severity <= len(nearest):
            raise ValueError(f"severity {severity} is not one of 1 to {len(nearest)}")
        level = nearest[severity - 1]
        parameters = level if isinstance(level, tuple) else (level,)
        return np.clip(effect(x, rng, *parameters), 0.0, 1.0).astype(np.float32, copy=False)

    return corruption
