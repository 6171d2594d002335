"""How far a reference kernel's output may run into its input.

Every kernel here writes its output from the first byte to the last and reads its input in that
order too. So the output may start `slack` bytes before the input and overwrite what has been
read: slack is the most by which the end of what is written runs ahead of the first byte that
is still to be read. None: the kernel does not allow it.

Worked example: a 3x3 depthwise layer of one channel over 4x4 positions, padded by one. The output
at row 2, column 2 has the index 10; the input at row 1, column 1, index 5, is still needed for it.
So what is written runs ahead by a row and a position:

>>> out = np.arange(16)
>>> needed = np.maximum(out // 4 - 1, 0) * 4 + np.maximum(out % 4 - 1, 0)
>>> int(np.max(out - needed))
5
"""

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Layer

_IN_PLACE = fx.LutS8 | fx.ClipS8 | fx.AshS8 | fx.SoftmaxS8 | fx.MeanS8 | fx.QuantizeF32S8


def slack(layer: Layer) -> tuple[int | None, ...]:
    """Bytes, per source of the layer."""
    kernel = layer.kernel
    if isinstance(kernel, fx.ConvS8):
        if layer.operator == "DEPTHWISE_CONV_2D" and kernel.in_c == kernel.out_c:
            return (_window(kernel, kernel.in_c, kernel.out_c, same_channel=True),)
        return (_window(kernel, kernel.in_c, kernel.out_c, same_channel=False),)
    if isinstance(kernel, fx.ConvAddS8):
        return (_window(kernel.conv, kernel.conv.in_c, kernel.conv.out_c, same_channel=False), 0)
    if isinstance(kernel, fx.PoolS8):
        return (_window(kernel, kernel.channels, kernel.channels, same_channel=True),)
    if isinstance(kernel, fx.FullyConnectedS8):
        rows = np.arange(kernel.rows)
        return (int(np.max((rows + 1) * kernel.outputs - rows * kernel.inputs)),)
    if isinstance(kernel, fx.AddS8 | fx.MulS8):
        lengths = (kernel.in1_length, kernel.in2_length)
        return tuple(0 if length == kernel.length else None for length in lengths)
    if isinstance(kernel, _IN_PLACE):
        return (0,)
    if isinstance(kernel, fx.DequantizeS8F32):
        return (3 * kernel.length,)
    return (None,) * len(layer.sources)


def _window(kernel: fx.ConvS8 | fx.PoolS8, in_c: int, out_c: int, same_channel: bool) -> int:
    """For kernels that look at a window of the input for each position of the output.

    same_channel: a channel is written after the last read of that channel alone, and no other
    channel needs it; then the write may hit the window's own first position.
    """
    top = np.maximum(np.arange(kernel.out_h) * kernel.stride_h - kernel.pad_top, 0)
    left = np.maximum(np.arange(kernel.out_w) * kernel.stride_w - kernel.pad_left, 0)
    first = ((top[:, np.newaxis] * kernel.in_w + left) * in_c).ravel()
    # What a later position still needs must not be overwritten either.
    needed = np.minimum.accumulate(first[::-1])[::-1]
    written = np.arange(len(first)) * out_c + (0 if same_channel else out_c)
    return int(np.max(written - needed))
