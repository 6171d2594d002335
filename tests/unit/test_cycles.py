"""The timing rules of benchmarks/cycles.py, on the examples that Arm's manual gives."""

import pytest
from benchmarks.cycles import NOTHING, Instruction


def cycles(text: str) -> int:
    """Of instructions that run one behind the other."""
    total, before = 0, NOTHING
    for line in text.split("; "):
        name, _, operands = line.partition(" ")
        one = Instruction(name, operands)
        total, before = total + one.cycles(before), one
    return total


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ldr r0, [r1]; ldr r1, [r2]", 3),
        ("ldr r0, [r1, r2]; str r0, [r3, #20]", 3),
        ("ldr r0, [r1, r2]; str r1, [r3, r2]", 3),
        ("ldr r0, [r1, r5]; ldr r1, [r2]; ldr r2, [r3, #4]", 4),
        ("ldr r0, [r1]; ldr r2, [r0]", 4),
        ("str r0, [r1, r2]; ldr r3, [r4]", 4),
        ("ldmia r0!, {r1, r2, r3}", 4),
        ("stmia sp!, {r4, r5, r6, r7, r8, r9, sl, fp}", 9),
        ("ldrd r0, r1, [r2], #8", 3),
        ("ldr r0, [r1]; ldrd r2, r3, [r4]", 5),
        ("add r1, r2, r3; ldrsb r0, [r1, #1]", 4),
        ("smull r2, r3, r0, r1; str r0, [r3, #4]", 3),
        ("cmp r1, #3; ldr r0, [r1]", 3),
        ("bic r1, r1, #3; ldr r0, [r1]", 4),
        ("smlad r4, ip, r2, r4; smmlar r4, r4, r5, r6; sxtb16 r2, r2, ror #8; ssat r1, #8, r1", 4),
        ("push {r4, lr}; sdiv r0, r0, r1", 10),
    ],
)
def test_cycles(text: str, wanted: int) -> None:
    assert cycles(text) == wanted


def test_floating_point_has_no_figure() -> None:
    with pytest.raises(ValueError, match="vadd"):
        cycles("vadd s0, s1, s2")
