"""Frost on a pane: feathers of ice, each with branches, each of those with twigs."""

import numpy as np
from scipy import ndimage

# A pane has one root in each cell of a grid of so many rows and columns.
_CELLS = 8
# Branches leave a stem, and twigs a branch, at the angle of ice crystals.
_ANGLE = np.pi / 3
# Of a stem, a branch and a twig: points drawn along it, branches to each side, thickness.
_GENERATIONS = ((64, 12, 4.0), (24, 5, 2.0), (8, 0, 1.0))
# A branch's length, in parts of what is left of its stem.
_SHARE = 0.45


def _feathers(side: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns [2, m] in pixels, on an endless pane, and ice [m] of all points drawn."""
    cells = np.indices((_CELLS, _CELLS)).reshape(2, -1)
    at = (cells + rng.random(cells.shape)) * side / _CELLS
    heading = rng.uniform(0, 2 * np.pi, cells.shape[1])
    length = side * rng.uniform(0.1, 0.35, cells.shape[1])
    places, ice = [], []
    for points, branches, thickness in _GENERATIONS:
        way = (length * np.stack((np.sin(heading), np.cos(heading))))[..., None]
        places.append((at[..., None] + way * np.linspace(0.0, 1.0, points)).reshape(2, -1))
        ice.append(np.repeat(thickness * length / points, points))
        if branches:
            # Two branches leave each of these places, one to each side.
            forks = (np.arange(branches) + rng.random((len(length), branches))) / branches
            at = np.repeat((at[..., None] + way * forks).reshape(2, -1), 2, axis=1)
            rest = np.repeat((length[:, None] * (1 - forks)).ravel(), 2)
            length = _SHARE * rest * rng.uniform(0.6, 1.2, len(rest))
            heading = np.repeat(heading, 2 * branches) + np.resize((-_ANGLE, _ANGLE), len(rest))
    return np.concatenate(places, axis=1), np.concatenate(ice)


def frost_sheet(side: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """[side, side] float32 in [0, 1] from clear to white, without a seam at its borders.

    density: how thick the ice is on average; of 1, a fraction 1/e shines through.
    """
    places, ice = _feathers(side, rng)
    rows, columns = np.floor(places).astype(np.intp) % side
    pane = np.bincount(rows * side + columns, ice, side * side).reshape(side, side)
    thick = ndimage.gaussian_filter(pane.astype(np.float32), 0.5, mode="wrap")
    return 1 - np.exp(-density * thick / thick.mean())
