"""An int8 .tflite as a typed list of layers, its numpy evaluation and its memory plan."""

from snapcli.graph.graph import Graph, Kernel, Layer, Tensor
from snapcli.graph.reader import read_tflite

__all__ = ["Graph", "Kernel", "Layer", "Tensor", "read_tflite"]
