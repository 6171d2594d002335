"""How fast inputs are corrupted: inputs a second of each type, on two threads.

    python benchmarks/corruptions.py

Each type is measured over its five severities, in batches as a test set is corrupted. The figure
that counts is the one over all types: all inputs by all seconds. A clip is one second of sound.
"""

import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images

from snapcli.data.corruptions import COMMON, MNIST
from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.sound.logmel import SAMPLE_RATE, log_mel

THREADS = 2
BATCHES = 4
IMAGES, CLIPS = 250, 50  # a batch
SEVERITIES = (1, 2, 3, 4, 5)
IMAGE_GOAL, CLIP_GOAL = 2_000, 150  # a second

Corruption = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


def photos(count: int, side: int) -> np.ndarray:
    """[count, side, side, 3] float32: parts of two photographs, reduced."""
    rng = np.random.default_rng(0)
    pictures = load_sample_images().images
    found = []
    for k in range(count):
        picture = pictures[k % len(pictures)]
        span = int(rng.integers(2 * side, 8 * side))
        top, left = (int(rng.integers(0, length - span)) for length in picture.shape[:2])
        part = Image.fromarray(picture[top : top + span, left : left + span])
        found.append(np.asarray(part.resize((side, side), Image.Resampling.BOX)))
    return np.stack(found).astype(np.float32) / 255


def digits(count: int) -> np.ndarray:
    """[count, 28, 28, 1] float32: scikit-learn's digits, enlarged and framed as MNIST's are."""
    small = load_digits().images[:count].astype(np.float32) / 16
    large = [Image.fromarray(i).resize((20, 20), Image.Resampling.BILINEAR) for i in small]
    return np.pad(np.stack(large), ((0, 0), (4, 4), (4, 4)))[..., None]


def clips(count: int) -> np.ndarray:
    """[count, 16000] float32: noise that swells and fades like syllables."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0.0, 0.2, (count, SAMPLE_RATE))
    swell = np.sin(np.linspace(0.0, 3 * np.pi, SAMPLE_RATE)) ** 2
    return np.clip(noise * swell, -1.0, 1.0).astype(np.float32)


def measure(name: str, corruption: Corruption, inputs: np.ndarray) -> float:
    """Prints inputs a second, over all severities; returns the seconds."""
    batches = np.array_split(inputs, BATCHES)
    tasks = [(batch, severity) for severity in SEVERITIES for batch in batches]

    def work(task: tuple[np.ndarray, int]) -> None:
        corruption(*task, np.random.default_rng(0))

    with ThreadPoolExecutor(THREADS) as pool:
        # Kernels that are made once are made here.
        list(pool.map(work, tasks[:: len(batches)]))
        start = time.perf_counter()
        list(pool.map(work, tasks))
        seconds = time.perf_counter() - start
    print(f"  {name:20} {len(inputs) * len(SEVERITIES) / seconds:10,.0f}")
    return seconds


def section(
    title: str, corruptions: Mapping[str, Corruption], inputs: np.ndarray, goal: int
) -> bool:
    """Prints a row for each type and one over all; true when the goal is met."""
    print(f"{title}: inputs/s on {THREADS} threads")
    seconds = sum(measure(name, corruption, inputs) for name, corruption in corruptions.items())
    rate = len(corruptions) * len(SEVERITIES) * len(inputs) / seconds
    print(f"  {'all types':20} {rate:10,.0f}   (goal: {goal:,})\n")
    return rate >= goal


def main() -> int:
    count = BATCHES * IMAGES
    spoken = clips(BATCHES * CLIPS)
    noise = (clips(60).reshape(-1),)
    met = [
        section("images 32x32x3", COMMON, photos(count, 32), IMAGE_GOAL),
        section("images 28x28x1 (MNIST-C's types)", MNIST, digits(count), IMAGE_GOAL),
        section("clips", speech_corruptions(noise), spoken, CLIP_GOAL),
    ]
    print("the front end")
    measure("log-Mel features", lambda x, severity, rng: log_mel(x), spoken)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
