"""The 15 types of MNIST-C (Mu & Gilmer, 2019).

MNIST-C publishes one severity of each. It is our severity 3; the others are our own, on both
sides of it.
"""

from snapcli.data.corruptions import blur, edges, geometry, light, marks, noise, weather
from snapcli.data.corruptions.graded import graded
from snapcli.data.corruptions.types import Corruption

MNIST: dict[str, Corruption] = {
    # Photons of a white pixel.
    "shot_noise": graded(noise.shot, {28: (12, 6, 3, 2, 1)}),
    # Share of the values.
    "impulse_noise": graded(noise.impulse, {28: (0.05, 0.10, 0.17, 0.25, 0.35)}),
    # Deviation of the blurs, reach of a swap, rounds. MNIST-C makes two rounds with half of the
    # swaps each.
    "glass_blur": graded(
        blur.glass, {28: ((0.3, 1, 1), (0.5, 1, 1), (0.7, 1, 1), (0.9, 2, 1), (1.0, 2, 2))}
    ),
    # Radius, deviation.
    "motion_blur": graded(
        blur.motion, {28: ((10, 1.0), (10, 2.0), (10, 3.0), (15, 5.0), (15, 8.0))}
    ),
    # Columns by which a row moves, for each row from the middle.
    "shear": graded(geometry.shear, {28: (0.15, 0.27, 0.4, 0.6, 0.8)}),
    # Factor.
    "scale": graded(geometry.scale, {28: (0.9, 0.8, 0.7, 0.6, 0.5)}),
    # Radians.
    "rotate": graded(geometry.rotate, {28: (0.13, 0.27, 0.4, 0.6, 0.8)}),
    # Added to the value of HSV.
    "brightness": graded(light.brightness, {28: (0.2, 0.35, 0.5, 0.65, 0.8)}),
    # Share of the side.
    "translate": graded(geometry.translate, {28: (1 / 28, 2 / 28, 3 / 28, 4 / 28, 5 / 28)}),
    # Share of the columns, on each side.
    "stripe": graded(marks.stripe, {28: (3 / 28, 5 / 28, 7 / 28, 9 / 28, 11 / 28)}),
    # Strength, decay. MNIST-C cuts its clouds out of a sky of 256 pixels with decay 1.4; up
    # close they are as smooth as ours with decay 2.
    "fog": graded(weather.fog, {28: ((1.0, 2.5), (1.8, 2.2), (3.0, 2.0), (4.0, 1.75), (6.0, 1.5))}),
    # Threshold; mud lies on about 5, 8, 14, 30 and 51 % of the image.
    "spatter": graded(weather.spatter, {28: (0.68, 0.665, 0.65, 0.62, 0.59)}),
    # Reach of the pen in pixels.
    "dotted_line": graded(marks.dotted_line, {28: (1.2, 1.7, 2.3, 3.0, 3.8)}),
    "zigzag": graded(marks.zigzag, {28: (1.2, 1.7, 2.3, 3.0, 3.8)}),
    # Smoothing before edges are sought, share of the image that is kept.
    "canny_edges": graded(
        edges.canny, {28: ((1.0, 0.6), (1.0, 0.3), (1.0, 0.0), (1.5, 0.0), (2.0, 0.0))}
    ),
}
