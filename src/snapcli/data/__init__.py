"""Data sets: examples, their corruptions and the out-of-distribution sets beside them."""

from snapcli.data.dataset import Dataset, Split
from snapcli.data.loading import check_dataset, load_dataset

__all__ = ["Dataset", "Split", "check_dataset", "load_dataset"]
