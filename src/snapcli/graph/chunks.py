"""Work on many inputs, a few at a time, on all processors."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Few enough at once that their activations stay in the processor's cache.
CHUNK = 64
Result = TypeVar("Result")


def in_chunks(
    work: Callable[[NDArray[np.int8]], Result], x: NDArray[np.int8]
) -> Iterator[tuple[int, Result]]:
    """(inputs done so far, what work made of the newest) in order, by all processors."""
    parts = [x[start : start + CHUNK] for start in range(0, len(x), CHUNK)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        done = 0
        for part, result in zip(parts, pool.map(work, parts), strict=True):
            done += len(part)
            yield done, result
