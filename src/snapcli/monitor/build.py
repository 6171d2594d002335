"""Fitted heads and an int8 network, put together as the body of a monitor."""

import numpy as np

from snapcli.config import MEAN
from snapcli.graph.graph import Graph
from snapcli.heads.head import Head
from snapcli.heads.quantize import quantize_head
from snapcli.monitor.body import Body, TapTensors
from snapcli.monitor.pooled import pooled

# Training examples that set the ranges inside of the heads.
RANGE_EXAMPLES = 2000


def build_body(graph: Graph, heads: list[Head], train: np.ndarray, statistics: str = MEAN) -> Body:
    """Heads in integers, their ranges set by the pooled sums of the training images."""
    q = graph.quantize(train)
    taps = tuple(TapTensors(graph.outputs[h.before], graph.outputs[h.after]) for h in heads)
    seen = pooled(graph, {tap.before for tap in taps}, statistics, q)
    integer = []
    for tap, head in zip(taps, heads, strict=True):
        before, after = graph.tensors[tap.before], graph.tensors[tap.after]
        integer.append(quantize_head(head, before, after, seen.sums[tap.before]))
    return Body(graph, taps, tuple(integer), statistics)
