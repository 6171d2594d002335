"""The 15 types of CIFAR-10-C and Tiny-ImageNet-C (Hendrycks & Dietterich, 2019).

The parameters are the published ones: CIFAR-10-C's for 32 pixels, Tiny-ImageNet-C's for 64.
The images are our own: frost is grown instead of photographed, and an image is read once
where the originals resample it several times. Figures are therefore near the published
benchmarks', and comparable with each other, but not equal to them.
"""

from snapcli.data.corruptions import blur, digital, geometry, light, noise, weather
from snapcli.data.corruptions.graded import graded
from snapcli.data.corruptions.types import Corruption

COMMON: dict[str, Corruption] = {
    # Deviation.
    "gaussian_noise": graded(
        noise.gaussian,
        {32: (0.04, 0.06, 0.08, 0.09, 0.10), 64: (0.04, 0.08, 0.12, 0.15, 0.18)},
    ),
    # Photons of a white pixel.
    "shot_noise": graded(noise.shot, {32: (500, 250, 100, 75, 50), 64: (250, 100, 50, 30, 15)}),
    # Share of the values.
    "impulse_noise": graded(
        noise.impulse,
        {32: (0.01, 0.02, 0.03, 0.05, 0.07), 64: (0.01, 0.02, 0.05, 0.08, 0.14)},
    ),
    # Radius of the disk, softness of its rim.
    "defocus_blur": graded(
        blur.defocus,
        {
            32: ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1)),
            64: ((0.5, 0.6), (1.0, 0.1), (1.5, 0.1), (2.5, 0.01), (3.0, 0.1)),
        },
    ),
    # Deviation of the blurs, reach of a swap, rounds.
    "glass_blur": graded(
        blur.glass,
        {
            32: ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
            64: ((0.1, 1, 1), (0.5, 1, 1), (0.6, 1, 2), (0.7, 2, 1), (0.9, 2, 2)),
        },
    ),
    # Radius, deviation. CIFAR-10-C's severity 4 has severity 3's deviation and a radius that its
    # trail does not reach, so nothing but the draw differs; here its deviation is 2.25.
    "motion_blur": graded(
        blur.motion,
        {
            32: ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.25), (9, 2.5)),
            64: ((10, 1.0), (10, 1.5), (10, 2.0), (10, 2.5), (12, 3.0)),
        },
    ),
    # Largest enlargement, the same for both sizes.
    "zoom_blur": graded(blur.zoom, {32: (1.06, 1.11, 1.15, 1.20, 1.25)}),
    # Noise's mean and deviation, enlargement, threshold, radius and deviation of the fall, share
    # that is not whitened.
    "snow": graded(
        weather.snow,
        {
            32: (
                (0.10, 0.2, 1.00, 0.60, 8, 3, 0.95),
                (0.10, 0.2, 1.00, 0.50, 10, 4, 0.90),
                (0.15, 0.3, 1.75, 0.55, 10, 4, 0.90),
                (0.25, 0.3, 2.25, 0.60, 12, 6, 0.85),
                (0.30, 0.3, 1.25, 0.65, 14, 12, 0.80),
            ),
            64: (
                (0.10, 0.2, 1.00, 0.60, 8, 3, 0.80),
                (0.10, 0.2, 1.00, 0.50, 10, 4, 0.80),
                (0.15, 0.3, 1.75, 0.55, 10, 4, 0.70),
                (0.25, 0.3, 2.25, 0.60, 12, 6, 0.65),
                (0.30, 0.3, 1.25, 0.65, 14, 12, 0.60),
            ),
        },
    ),
    # Weight of the image, weight of the ice, density of the ice. The density is our own: with the
    # same ice, the darker image of severity 4 would be nearer to the original than severity 3's.
    "frost": graded(
        weather.frost,
        {
            32: (
                (1.00, 0.20, 0.5),
                (1.00, 0.30, 0.6),
                (0.90, 0.40, 0.8),
                (0.85, 0.40, 1.2),
                (0.75, 0.45, 2.0),
            ),
            64: (
                (1.00, 0.30, 0.5),
                (0.90, 0.40, 0.6),
                (0.80, 0.45, 0.8),
                (0.75, 0.50, 1.2),
                (0.70, 0.55, 2.0),
            ),
        },
    ),
    # Strength, decay.
    "fog": graded(
        weather.fog,
        {
            32: ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)),
            64: ((0.4, 3.0), (0.7, 3.0), (1.0, 2.5), (1.5, 2.0), (2.0, 1.75)),
        },
    ),
    # Added to the value of HSV.
    "brightness": graded(
        light.brightness,
        {32: (0.05, 0.10, 0.15, 0.20, 0.30), 64: (0.1, 0.2, 0.3, 0.4, 0.5)},
    ),
    # Factor.
    "contrast": graded(
        light.contrast,
        {32: (0.75, 0.50, 0.40, 0.30, 0.15), 64: (0.4, 0.3, 0.2, 0.1, 0.05)},
    ),
    # Strength and smoothness of the local shifts, jitter of the corners; shares of the side.
    "elastic_transform": graded(
        geometry.elastic,
        {
            32: (
                (0.00, 0.00, 0.08),
                (0.05, 0.20, 0.07),
                (0.08, 0.06, 0.06),
                (0.10, 0.04, 0.05),
                (0.10, 0.03, 0.03),
            ),
            64: (
                (0.00, 0.00, 0.08),
                (0.05, 0.30, 0.06),
                (0.10, 0.08, 0.06),
                (0.10, 0.03, 0.03),
                (0.16, 0.03, 0.02),
            ),
        },
    ),
    # Share of the side.
    "pixelate": graded(
        digital.pixelate,
        {32: (0.95, 0.90, 0.85, 0.75, 0.65), 64: (0.9, 0.8, 0.7, 0.6, 0.5)},
    ),
    # Quality.
    "jpeg_compression": graded(digital.jpeg, {32: (80, 65, 58, 50, 40), 64: (65, 58, 50, 40, 25)}),
}
