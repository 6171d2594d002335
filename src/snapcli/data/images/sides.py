"""How large images may be."""

from snapcli.errors import ConfigError

SIDES = (8, 128)  # pixels: below there is nothing to see, above no room on a microcontroller


def check_sides(height: int, width: int, hint: str) -> None:
    if not SIDES[0] <= min(height, width) <= max(height, width) <= SIDES[1]:
        raise ConfigError(
            f"the images are {height}x{width}, the sides must be from {SIDES[0]} to {SIDES[1]}",
            hint,
        )
