"""The bound of the stack, from text that objdump and gcc print, and from what they print here."""

import re
import shutil

import pytest

from snapcli import stack, toolchain
from snapcli.config import CMSIS_NN, REFERENCE, SNAP
from snapcli.emit import build_program, emit_model
from snapcli.emit.profiled import image_files
from snapcli.errors import ConfigError, ToolchainError
from snapcli.measuring.sources import exported_sources
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.pricing.memory import write_texts
from snapcli.stack import EXCEPTION_BYTES, Code, checked_stack, stack_bound
from snapcli.targets import load_target, target_names

from .firmware import tiny_model
from .tiny_monitor import random_inputs, tiny_monitor

pytestmark = pytest.mark.slow

needs_gcc = pytest.mark.skipif(
    shutil.which(toolchain.GCC) is None, reason=f"{toolchain.GCC} is not installed"
)
BOARDS = [name for name in target_names() if load_target(name).port]
RETURN = "bx\tlr"


def listing(**functions: list[str]) -> str:
    """As objdump -t -d: functions of four bytes an instruction, from 0x1000 on, 0x100 apart.
    `@name` becomes the address of that one."""
    starts = {name: 0x1000 + 0x100 * i for i, name in enumerate(functions)}
    symbols, code = [], []
    for name, lines in functions.items():
        start = starts[name]
        symbols.append(f"{start:08x} g     F .text\t{4 * len(lines):08x} {name}")
        code.append(f"{start:08x} <{name}>:")
        for i, line in enumerate(lines):
            line = re.sub(r"@(\w+)", lambda m: f"{starts[m[1]]:x} <{m[1]}>", line)
            code.append(f"    {start + 4 * i:x}:\t4718      \t{line}")
    return "\n".join([*symbols, "", *code, ""])


def bound(frames: str = "", relocations: str = "", **functions: list[str]) -> int:
    """Bytes from the function `first` on, without those of an exception."""
    code = Code(listing(**functions), frames, relocations)
    return stack_bound(code, {"first": 0}).bytes - EXCEPTION_BYTES


@pytest.mark.parametrize(
    ("instruction", "pushed"),
    [
        ("push\t{r4, r5, lr}", 12),
        ("push.w\t{r4}", 4),
        ("stmdb\tsp!, {r4, r5, r6, r7, r8, r9, sl, fp, lr}", 36),
        ("stmdb\tr0!, {r4, r5}", 0),
        ("vpush\t{d8-d15}", 64),
        ("vpush\t{s16-s17}", 8),
        ("vpush\t{d8}", 8),
        ("vstmdb\tsp!, {d8-d9}", 16),
        ("sub\tsp, #92\t@ 0x5c", 92),
        ("sub.w\tsp, sp, #1024\t@ 0x400", 1024),
        ("subw\tsp, sp, #1028\t@ 0x404", 1028),
        ("str.w\tlr, [sp, #-4]!", 4),
        ("strd\tr4, r5, [sp, #-16]!", 16),
        ("add\tsp, #12", 0),
        ("pop\t{r4, r5, r6}", 0),
        ("add.w\tr0, sp, #7", 0),
        ("sub.w\tr0, sp, #8", 0),
        ("str\tr0, [sp, #4]", 0),
    ],
)
def test_what_an_instruction_pushes(instruction: str, pushed: int) -> None:
    assert bound(first=[instruction, RETURN]) == pushed


def test_the_deepest_path_counts() -> None:
    functions = {
        "first": ["push\t{lr}", "bl\t@near", "bl\t@far", "pop\t{pc}"],
        "near": ["sub\tsp, #100", RETURN],
        "far": ["sub\tsp, #8", "b.w\t@end"],
        "end": ["sub\tsp, #96", RETURN],
    }
    assert bound(**functions) == 4 + 8 + 96
    found = stack_bound(Code(listing(**functions), "", ""), {"first": 0})
    assert found.path == ("first", "far", "end")
    with pytest.raises(ConfigError, match=r"may need 144 bytes of stack, 143 are .*far > end"):
        checked_stack_of(functions, 143)
    assert checked_stack_of(functions, 144) == 144


def checked_stack_of(functions: dict[str, list[str]], reserved: int) -> int:
    """With the roots of a real program, all of them this one."""
    roots = {"port_reset": functions["first"], "take_fault": [RETURN], "report": [RETURN]}
    others = {name: lines for name, lines in functions.items() if name != "first"}
    return checked_stack(Code(listing(**roots, **others), "", ""), reserved, "it").bytes


def test_the_compilers_frame_counts_where_it_is_larger() -> None:
    frames = "a.c:1:2:first\t40\tstatic\nb.c:1:2:helper\t8\tstatic\nc.c:1:2:helper\t16\tstatic\n"
    functions = {"first": ["push\t{lr}", "bl\t@helper"], "helper": [RETURN]}
    assert bound(frames, **functions) == 40 + 16


@pytest.mark.parametrize(
    "lines",
    [
        ["push\t{lr}", "cbz\tr0, @first", "bne.n\t@first", "b.n\t@first"],  # a loop
        ["push\t{lr}", "tbb\t[pc, r0]", ".word\t0x12345678"],
        ["push\t{lr}", "bl\t@last"],  # which does not come back
    ],
)
def test_a_function_without_an_end_of_its_own(lines: list[str]) -> None:
    assert bound(first=lines, last=["movs\tr0, #0", RETURN]) == 4


def test_assembly_that_runs_into_the_next_function() -> None:
    assert bound(first=["push\t{lr}"], last=["push\t{r4}", RETURN]) == 8


def test_a_veneer_leads_to_the_function_in_its_word() -> None:
    functions = {
        "first": ["bl\t@veneer", RETURN],
        "veneer": ["ldr.w\tpc, [pc]\t@ (1104 <veneer+0x4>)", ".word\t0x00001201"],
        "last": ["push\t{r4}", RETURN],
    }
    assert bound(**functions) == 4


RELOCATIONS = """
RELOCATION RECORDS FOR [.text.first]:
OFFSET   TYPE              VALUE
00000006 R_ARM_THM_CALL    called
00000070 R_ARM_ABS32       callback
00000074 R_ARM_MOVW_ABS_NC other+0x00000001

RELOCATION RECORDS FOR [.vectors]:
00000004 R_ARM_ABS32       handler
"""


def test_an_indirect_call_may_reach_whatever_has_its_address_taken() -> None:
    functions = {
        "first": ["push\t{lr}", "blx\tr3", "pop\t{pc}"],
        "called": ["sub\tsp, #400", RETURN],
        "callback": ["sub\tsp, #16", RETURN],
        "other": ["sub\tsp, #32", RETURN],
        "handler": ["sub\tsp, #400", RETURN],
    }
    frames = "a.c:1:1:first\t4\tstatic\n"
    assert bound(frames, RELOCATIONS, **functions) == 4 + 32
    with pytest.raises(ToolchainError, match="it is not known what first calls"):
        bound(frames, **functions)
    with pytest.raises(ToolchainError, match="first has an indirect call"):
        bound("", RELOCATIONS, **functions)  # not compiled here: a library's


@pytest.mark.parametrize(
    ("lines", "frames", "why"),
    [
        (["push\t{lr}", "bl\t@first"], "", "first > first calls itself"),
        (["push\t{lr}", "bl\t@last"], "", "first > last > first calls itself"),
        (["sub.w\tsp, sp, r3", RETURN], "", r"first has `sub\.w sp, sp, r3`"),
        (["add\tsp, r3", RETURN], "", r"first has `add sp, r3`"),
        (["mov\tsp, r3", RETURN], "", r"first has `mov sp, r3`"),
        (["msr\tMSP, r3", RETURN], "", r"first has `msr MSP, r3`"),
        ([RETURN], "a.c:1:1:first\t16\tdynamic\n", "the frame of first grows"),
        (["bl\t4 <nowhere>", RETURN], "", ""),
    ],
)
def test_what_has_no_bound_is_an_error(lines: list[str], frames: str, why: str) -> None:
    functions = {"first": lines, "last": ["bl\t@first", RETURN]}
    if not why:
        functions.pop("last")
        lines[0] = "bl\t9000 <nowhere>"
        why = "first goes to 0x9000, where no function is"
    with pytest.raises(ToolchainError, match=why):
        bound(frames, **functions)


def test_a_frame_with_a_known_limit_is_as_good_as_a_fixed_one() -> None:
    assert bound("a.c:1:1:first\t16\tdynamic,bounded\n", first=["mov\tsp, r7", RETURN]) == 16


def test_another_startup_code_is_an_error() -> None:
    with pytest.raises(ToolchainError, match="its startup code"):
        stack_bound(Code(listing(first=[RETURN]), "", ""))


# ---- Real code -------------------------------------------------------------------


MAIN = """
#include "port.h"
#define APART __attribute__((noinline, unused))
void app_fault(const struct port_fault *fault) { (void)fault; }
static volatile uint32_t sink;
static APART void leaf(void)
{
    volatile uint32_t held[FRAME / 4];
    held[0] = sink;
    sink = held[0];
}
static APART uint32_t again(uint32_t n) { return n ? again(n - sink) + sink : 0; }
static APART void growing(uint32_t n)
{
    volatile uint8_t held[n];
    held[0] = 1;
    sink = held[n - 1];
}
static void (*volatile callback)(void) __attribute__((unused)) = leaf;
int main(void) { port_init(); for (;;) { BODY; } }
"""


def real(folder, target: str, body: str, frame: int = 256) -> Code:
    (folder / "main.c").write_text(MAIN.replace("BODY", body))
    built = toolchain.build(
        load_target(target), [folder / "main.c"], [], {"FRAME": str(frame)}, folder / "out"
    )
    return built.code


@needs_gcc
@pytest.mark.parametrize("target", BOARDS)
def test_a_real_frame_is_found_directly_and_through_a_pointer(tmp_path, target) -> None:
    near = stack_bound(real(tmp_path, target, "leaf()"))
    assert near.path[0] == "port_reset"
    assert near.path[-1] == "leaf"
    far = stack_bound(real(tmp_path, target, "callback()"))
    assert far == near
    more = stack_bound(real(tmp_path, target, "leaf()", frame=1256))
    assert more.bytes - near.bytes == 1000


@needs_gcc
def test_a_library_s_frames_are_read_from_its_code(tmp_path) -> None:
    """A division of 64 bits is a function of the compiler's own, which has no .su file."""
    body = "sink = (uint32_t)((uint64_t)sink * sink / ((uint64_t)sink << 7 | 1u))"
    found = stack_bound(real(tmp_path, "qemu-m4", body))
    assert found.path[-1] == "__udivmoddi4"
    assert found.bytes >= EXCEPTION_BYTES + 32


@needs_gcc
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("growing(sink)", "the frame of growing grows"),
        ("sink = again(sink)", "again > again calls itself"),
    ],
)
def test_real_code_without_a_bound(tmp_path, body: str, why: str) -> None:
    with pytest.raises(ToolchainError, match=why):
        stack_bound(real(tmp_path, "qemu-m4", body))


@needs_gcc
@pytest.mark.parametrize("target", BOARDS)
def test_the_compiler_and_the_code_agree_about_every_frame(tmp_path, target) -> None:
    """Of the whole application: our reading of prologues is that of gcc."""
    sources, include_dirs = tiny_model.sources()
    sources += toolchain.app_sources()
    code = toolchain.build(load_target(target), sources, include_dirs, {}, tmp_path / "out").code
    told = stack._frames(code.frames)
    found = stack._functions(code.listing).by_address.values()
    compiled = {f.name: f.pushed for f in found if f.name in told and f.name != "fault_entry"}
    assert len(compiled) > 50
    assert compiled == {name: told[name] for name in compiled}


@needs_gcc
@pytest.mark.parametrize("target", ["qemu-m4", "big-mcu-tcm"])
@pytest.mark.parametrize("kernels_name", [SNAP, REFERENCE, CMSIS_NN])
def test_every_kernel_set_has_a_bound(tmp_path, request, kernels_name, target) -> None:
    folder = request.getfixturevalue("cmsis_nn") if kernels_name == CMSIS_NN else None
    kernels, library = kernel_set(kernels_name, folder)
    monitor = tiny_monitor()
    program = build_program(monitor.body.graph, monitor.body, kernels)
    files = image_files(program, monitor, emit_model(program, monitor, random_inputs(1)))
    write_texts({**files, **kernel_files(library, files)}, tmp_path)
    sources, include_dirs = exported_sources(tmp_path)
    sources += toolchain.app_sources()
    built = toolchain.build(load_target(target), sources, include_dirs, {}, tmp_path / "out")
    bound = stack_bound(built.code)
    assert "snap_model_profile" in bound.path
    assert 400 < bound.bytes < 1000
