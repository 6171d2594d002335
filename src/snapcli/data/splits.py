"""Dividing examples into train, dev and test: stratified, the same for every seed of a run."""

import numpy as np

from snapcli.data.dataset import Split
from snapcli.errors import ConfigError

_SEED = 0


def without_share(split: Split, share: float) -> tuple[Split, Split]:
    """(what is left, the share of it), stratified by class; both in an order without a pattern."""
    from sklearn.model_selection import train_test_split

    _, first, counts = np.unique(split.y, return_index=True, return_counts=True)
    rare = np.argmin(counts)
    if share * counts[rare] < 1:
        raise ConfigError(
            f"the class of {split.origins[first[rare]]} has {counts[rare]} examples, too few to "
            f"set {100 * share:.3g} % of them apart",
            "Give every class at least ten examples.",
        )
    rest, part = train_test_split(
        np.arange(len(split)), test_size=share, stratify=split.y, random_state=_SEED
    )
    return split.take(rest), split.take(part)


def named(prefix: str, count: int) -> np.ndarray:
    """Names of examples that have only a position: prefix/0, prefix/1, ..."""
    return np.char.add(f"{prefix}/", np.arange(count).astype(np.str_))
