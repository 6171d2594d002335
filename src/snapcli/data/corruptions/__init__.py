"""Image corruptions with severities 1 to 5: the common 15, MNIST-C's 15 and the digits' own."""

from snapcli.data.corruptions.common import COMMON
from snapcli.data.corruptions.mnist import MNIST
from snapcli.data.corruptions.types import Corruption, Images

__all__ = ["COMMON", "MNIST", "Corruption", "Images"]
