"""What heads cost while a backbone is trained: `python benchmarks/train_overhead.py [--quick]`.

Wall time per epoch with joint heads against the plain backbone: epochs of both in turn, so that
noise hits both, and the quickest of each. Time of heads that are fitted post hoc, as a share of
the training that they follow: epochs and examples of the data set's quick recipe, which is the
harder case. Inputs are random; neither the time of a step nor that of a fit depends on them.
Exits with 7 when a goal is missed.
"""

import argparse
import sys
import time
from dataclasses import replace

import numpy as np

from snapcli.data import Dataset
from snapcli.data.dataset import Split
from snapcli.models import load_backbone
from snapcli.models.fit import Trainer
from snapcli.models.posthoc import EXAMPLES, fit_heads
from snapcli.models.tensorflow import require_tensorflow
from snapcli.origin.recipe import recipe_for

JOINT_GOAL, POSTHOC_GOAL = 0.12, 0.05
TAPS = ("M", "P")
# Data set: shape of an input, classes, training examples.
CASES = {"cifar10": ((32, 32, 3), 10, 45_000), "speechcmd": ((98, 40, 1), 12, 36_923)}


def random_data(name: str, shape: tuple[int, int, int], classes: int, count: int) -> Dataset:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, *shape)).astype(np.float32)
    split = Split(x, rng.integers(0, classes, count), np.arange(count).astype(np.str_))
    names = tuple(map(str, range(classes)))
    return Dataset(name, names, split, split.take(np.arange(32)), split.take(np.arange(32)), {}, {})


def measure(name: str, quick: bool) -> bool:
    shape, classes, whole = CASES[name]
    recipe = recipe_for(name, quick=True).train
    options = replace(recipe, frozen=0.0, ramp=0)
    backbone = load_backbone(options.backbone)
    taps = backbone.taps(TAPS)
    count, rounds = (2048, 7) if quick else (4096, 11)
    data = random_data(name, shape, classes, count)
    trainers = {
        mode: Trainer(backbone, taps, data, replace(options, mode=mode))
        for mode in ("posthoc", "joint")
    }
    seconds: dict[str, list[float]] = {mode: [] for mode in trainers}
    for i in range(rounds + 1):
        # Who goes first changes, too.
        for mode in sorted(trainers, reverse=bool(i % 2)):
            trainers[mode].run_epoch()
            if i:  # the first one is traced
                seconds[mode].append(trainers[mode].times[-1].seconds)
    # Whatever else the machine does can only add.
    plain, joint = min(seconds["posthoc"]), min(seconds["joint"])
    more = joint / plain - 1

    trainer, many = trainers["posthoc"], random_data(name, shape, classes, EXAMPLES)
    started = time.monotonic()
    fit_heads(trainer.heads, trainer.model, many, options, np.random.default_rng(0))
    posthoc = time.monotonic() - started
    training = plain * whole / count * options.epochs
    print(f"{backbone.name}, inputs {shape}, taps {'+'.join(TAPS)}, batches {options.batch_size}")
    print(f"  an epoch of {count:,} examples, the quickest of {rounds}:")
    print(f"    plain {plain:7.2f} s   joint {joint:7.2f} s   {100 * more:+.1f} %", end="")
    print(f" (goal: at most {100 * JOINT_GOAL:.0f} %)")
    print(f"  heads post hoc: {posthoc:.1f} s; {options.epochs} epochs of {whole:,} examples:")
    print(f"    {training:,.0f} s   {100 * posthoc / training:.2f} %", end="")
    print(f" (goal: at most {100 * POSTHOC_GOAL:.0f} %)")
    return more <= JOINT_GOAL and posthoc <= POSTHOC_GOAL * training


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer examples and rounds")
    quick = parser.parse_args().quick
    require_tensorflow()
    met = [measure(name, quick) for name in CASES]
    sys.exit(0 if all(met) else 7)


if __name__ == "__main__":
    main()
