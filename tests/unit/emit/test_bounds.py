"""What the C says of its inner loops, and which kernels it holds for."""

import pytest

from snapcli.emit.bounds import InnerLoop, bounds, inner_loop
from snapcli.kernels import snapnn_files, snapuq_files

LOOP = """/* Tile: one.
 * Inner loop: {} instructions for {} MACs, all told.
 */
void {}(void)
{{
}}
"""
LIBRARY = {
    "tile.c": LOOP.format(107, 128, "tile"),
    "row.c": LOOP.format(3, 2, "row"),
    "positions.c": "void positions(void)\n{\n    tile();\n    row();\n}\n",
    "conv.c": "void conv(void)\n{\n    positions();\n}\n",
    "dense.c": "void dense(void)\n{\n    row();\n}\n",
    "plain.c": "/* Inner loop: unknown. */\nvoid plain(void)\n{\n}\n",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LIBRARY["tile.c"], InnerLoop(107, 128)),
        ("/* Inner loop: 98 instructions\n * for 36 MACs. */", InnerLoop(98, 36)),
        ("/* Inner loop: about 98 instructions for 36 MACs. */", None),
        ("#include <a.h>\n/* Inner loop: 98 instructions for 36 MACs. */", None),
        ("/* One. */\n/* Inner loop: 98 instructions for 36 MACs. */", None),
        ("", None),
    ],
)
def test_the_head_of_a_file_counts(text: str, expected: InnerLoop | None) -> None:
    assert inner_loop(text) == expected


def test_a_kernel_has_the_bound_of_its_quickest_loop() -> None:
    found = bounds(["conv", "dense", "plain", "nowhere", "conv"], LIBRARY)
    assert found == {"conv": 107 / 128, "dense": 1.5}
    assert bounds(["conv"], {}) == {}


def test_our_packed_convolutions_have_bounds() -> None:
    names = ("conv", "pointwise", "conv_add", "depthwise3x3", "fully_connected")
    kernels = [f"snapnn_{name}_s8" for name in names]
    found = bounds([*kernels, "snapuq_conv_s8"], snapuq_files() | snapnn_files())
    assert set(found) == set(kernels)
    # Two MACs an instruction is all that the DSP extension has.
    assert all(0.5 < bound < 4 for bound in found.values())
