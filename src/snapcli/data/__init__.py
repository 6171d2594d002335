"""Data sets: images, their corruptions and the out-of-distribution sets beside them."""

from snapcli.data.dataset import Dataset, Split, check_dataset, load_dataset

__all__ = ["Dataset", "Split", "check_dataset", "load_dataset"]
