"""An int8 .tflite as a typed list of layers, its numpy evaluation and its memory plan."""

from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.graph.reader import read_tflite

__all__ = ["Graph", "Layer", "Tensor", "read_tflite"]
