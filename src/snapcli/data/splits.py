"""Dividing examples into train, dev and test: stratified, the same for every seed of a run."""

import numpy as np

from snapcli.data.dataset import Split
from snapcli.errors import ConfigError

_SEED = 0
_TEST_SHARE = 0.2


def without_share(split: Split, share: float, every_class: bool = True) -> tuple[Split, Split]:
    """(what is left, the share of it), stratified by class; both in an order without a pattern.
    every_class: one with too few examples is an error, otherwise nothing is stratified then."""
    from sklearn.model_selection import train_test_split

    _, first, counts = np.unique(split.y, return_index=True, return_counts=True)
    rare = np.argmin(counts)
    enough = share * counts[rare] >= 1
    if not enough and every_class:
        raise ConfigError(
            f"the class of {split.origins[first[rare]]} has {counts[rare]} examples, too few to "
            f"set {100 * share:.3g} % of them apart",
            "Give every class at least ten examples.",
        )
    rows, classes = np.arange(len(split)), split.y if enough else None
    rest, part = train_test_split(rows, test_size=share, stratify=classes, random_state=_SEED)
    return split.take(rest), split.take(part)


def divided(
    given: dict[str, Split], dev_share: float, every_class: bool = True
) -> tuple[Split, Split, Split]:
    """(train, dev, test) of what a user made of them, or of "all": what is lacking is set apart
    from the training examples, which come in an order without a pattern. dev_share: of all."""
    rest = given.get("train", given.get("all"))
    if rest is None:
        raise ConfigError("the data have no training examples", "Put them into train/.")
    test, dev = given.get("test"), given.get("dev")
    if test is None:
        rest, test = without_share(rest, _TEST_SHARE, every_class)
    if dev is None:
        rest, dev = without_share(rest, dev_share / (1 - _TEST_SHARE), every_class)
    order = np.random.default_rng(_SEED).permutation(len(rest))
    return rest.take(order), dev, test


def named(prefix: str, count: int) -> np.ndarray:
    """Names of examples that have only a position: prefix/0, prefix/1, ..."""
    return np.char.add(f"{prefix}/", np.arange(count).astype(np.str_))
