"""The option of the big part: kernels in the ITCM, everything else in the DTCM."""

import struct

import pytest
import unicorn

from snapcli import toolchain
from snapcli.errors import ConfigError
from snapcli.targets import load_target

from ..conftest import need
from ..unit.tiny_monitor import random_inputs
from .board import Commands

PLAIN, TCM = "big-mcu", "big-mcu-tcm"
ITCM_BYTES = 16 << 10


@pytest.mark.parametrize(("name", "least", "most"), [(PLAIN, 0.0, 0.0), (TCM, 0.9, 1.0)])
def test_kernels_run_from_the_itcm_if_wanted(program, name, least, most):
    board = Commands(name, program(name).elf)
    board.exchange()
    blocks: list[tuple[int, int]] = []
    board.part.machine.uc.hook_add(
        unicorn.UC_HOOK_BLOCK, lambda uc, address, size, data: blocks.append((address, size))
    )
    board.infer(random_inputs(1)[0])
    executed = sum(size for _, size in blocks)
    inside = sum(size for address, size in blocks if address < ITCM_BYTES) / executed
    assert least <= inside <= most


def test_the_image_counts_what_is_copied(application):
    built = application(TCM)
    assert built.sections[".itcm"] > 1000
    assert built.flash_bytes == built.bin.stat().st_size
    stack_top, reset = struct.unpack_from("<II", built.bin.read_bytes())
    assert stack_top == 0x20000000 + load_target(TCM).stack_bytes
    assert reset >= 0x08000000  # only kernels are moved


def link(folder, **sources):
    need(compiler=True)
    for name, text in sources.items():
        (folder / f"{name}.c").write_text(text)
    return toolchain.build(load_target(TCM), sorted(folder.glob("*.c")), [], {}, folder / "out")


MAIN = """
#include "port.h"
void app_fault(const struct port_fault *fault) { (void)fault; }
"""


def test_an_arena_larger_than_the_dtcm_is_refused(tmp_path):
    main = f"{MAIN} static volatile char arena[200000]; int main(void) {{ return arena[9]; }}"
    with pytest.raises(ConfigError, match=f"{TCM}: its ram of 131072 bytes overflows"):
        link(tmp_path, main=main)


def test_kernels_larger_than_the_itcm_are_refused(tmp_path):
    kernel = 'void kernel(void); void kernel(void) { __asm volatile(".space 20000"); }'
    main = f"{MAIN} void kernel(void); int main(void) {{ kernel(); return 0; }}"
    with pytest.raises(ConfigError, match=f"{TCM}: its itcm overflows by"):
        link(tmp_path, main=main, snapuq_kernel=kernel)
