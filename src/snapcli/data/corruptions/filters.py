"""Smoothing and convolution, each image by itself. Borders are mirrored."""

import numpy as np
from scipy import fft, ndimage

from snapcli.data.corruptions.types import Images


def gaussian(x: np.ndarray, sigma: float) -> np.ndarray:
    """x: [n, h, w] or [n, h, w, c]; sigma in pixels."""
    return ndimage.gaussian_filter(x, sigma, axes=(1, 2))


def convolve(x: Images, kernels: np.ndarray) -> Images:
    """kernels: [n, k, k], one for each image, or [1, k, k] for all; k is odd."""
    reach = kernels.shape[1] // 2
    padded = np.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0)), mode="reflect")
    # What wraps around in a product of spectra falls on the padding.
    shape = [fft.next_fast_len(side, real=True) for side in padded.shape[1:3]]
    spectrum, response = (
        fft.rfft2(signal, shape, axes=(1, 2))
        for signal in (padded, kernels[..., None].astype(np.float32))
    )
    full = fft.irfft2(spectrum * response, shape, axes=(1, 2))
    return full[:, 2 * reach : padded.shape[1], 2 * reach : padded.shape[2]]


def disk_kernel(radius: float, softness: float) -> np.ndarray:
    """[1, k, k], sums to one: a disk on the pixel grid, its rim softened over one pixel by a
    gaussian of deviation `softness`."""
    reach = int(np.ceil(radius)) + 1
    offsets = np.arange(-reach, reach + 1)
    disk = (np.hypot(offsets[:, None], offsets) <= radius).astype(np.float64)
    soft = ndimage.gaussian_filter(disk / disk.sum(), softness, radius=1, mode="constant")
    return soft[None]


def streak_kernels(angles: np.ndarray, radius: float, sigma: float) -> np.ndarray:
    """[n, k, k], each sums to one: a trail that leaves the centre at an angle (radians) and fades
    as a gaussian of deviation sigma, cut after 2 * radius pixels."""
    # Beyond 3.5 sigma a trail is invisible; a small kernel is a fast one.
    reach = int(min(2 * radius, np.ceil(3.5 * sigma)))
    steps = np.arange(reach + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    offsets = np.arange(-reach, reach + 1)

    def shares(at: np.ndarray) -> np.ndarray:
        """[n, steps, k]: what the two nearest pixels get of a point between them."""
        return np.maximum(0.0, 1.0 - np.abs(at[..., None] - offsets))

    rows, columns = shares(np.outer(np.sin(angles), steps)), shares(np.outer(np.cos(angles), steps))
    trails = np.einsum("s,nsi,nsj->nij", weights, rows, columns, optimize=True)
    return trails / trails.sum(axis=(1, 2), keepdims=True)
