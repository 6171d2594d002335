"""How many one-second clips a second: each speech corruption on two threads, and the front end.

python benchmarks/speech_corruptions.py
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from snapcli.data.corruptions_speech import speech_corruptions
from snapcli.data.logmel import SAMPLE_RATE, log_mel

CLIPS = 400
BATCH = 50
THREADS = 2
SEVERITIES = (1, 2, 3, 4, 5)
GOAL = 150.0


def seconds(work: Callable[[int], object]) -> float:
    """Of work(first clip of the batch) over all batches."""
    with ThreadPoolExecutor(THREADS) as pool:
        start = time.perf_counter()
        list(pool.map(work, range(0, CLIPS, BATCH)))
        return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    clips = rng.normal(0.0, 0.1, (CLIPS, SAMPLE_RATE)).clip(-1.0, 1.0).astype(np.float32)
    noise = (rng.normal(0.0, 0.1, 60 * SAMPLE_RATE).astype(np.float32),)

    total = 0.0
    for name, corrupt in speech_corruptions(noise).items():
        spent = 0.0
        for severity in SEVERITIES:

            def work(first: int, severity: int = severity, corrupt: Callable = corrupt) -> object:
                batch = clips[first : first + BATCH]
                return corrupt(batch, severity, np.random.default_rng([first, severity]))

            spent += seconds(work)
        print(f"{name:18} {len(SEVERITIES) * CLIPS / spent:8.0f} clips/s")
        total += spent
    average = len(speech_corruptions(noise)) * len(SEVERITIES) * CLIPS / total
    print(f"{'average':18} {average:8.0f} clips/s (goal {GOAL:.0f})")
    front_end = seconds(lambda first: log_mel(clips[first : first + BATCH]))
    print(f"{'log-Mel features':18} {CLIPS / front_end:8.0f} clips/s")


if __name__ == "__main__":
    main()
