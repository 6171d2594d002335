"""The settings block: the same bytes in Python and C, and what may not replace it."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.settings import check_of, layout_of, pack_settings

from ..tiny_monitor import (
    MAPS,
    class_gated_map,
    gated_map,
    random_inputs,
    tiny_alarm,
    tiny_monitor,
)
from .test_emit import FLAGS, LIBRARY, call, emit

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
    pytest.mark.slow,
]

# Reads one block and then inputs; writes its own block, whether the one read fits, and of each
# input U, F, whether it is foreign, the alarm and its statistic, under it.
DRIVER = """
#include <stdio.h>
#include <string.h>
#include "snap_model.h"
#include "snapuq.h"

static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static struct snap_model_settings given;

int main(void)
{
    fwrite(&snap_model_settings, sizeof snap_model_settings, 1, stdout);
    if (fread(&given, sizeof given, 1, stdin) != 1) {
        return 1;
    }
    const int32_t fits = snap_model_settings_fit(&given);
    fwrite(&fits, sizeof fits, 1, stdout);
    struct snapuq_alarm_state state;
    snap_alarm_start_with(&given, &state);
    while (fits && fread(snap_model_input(arena), SNAP_MODEL_INPUT_BYTES, 1, stdin) == 1) {
        struct snap_model_result result;
        snap_model_run_with(arena, &given, &result);
        fwrite(&result.uncertainty_q16, sizeof result.uncertainty_q16, 1, stdout);
        fwrite(&result.foreign_q16, sizeof result.foreign_q16, 1, stdout);
        fwrite(&result.foreign, sizeof result.foreign, 1, stdout);
        const int32_t on = snap_alarm_step_with(&given, &state, &result);
        fwrite(&on, sizeof on, 1, stdout);
        fwrite(&state.statistic_q16, sizeof state.statistic_q16, 1, stdout);
    }
    return 0;
}
"""


class Program:
    """The exported monitor with the driver above."""

    def __init__(self, monitor: Monitor, folder: Path) -> None:
        emitted = emit(monitor)
        for name, text in {**emitted.files, "driver.c": DRIVER}.items():
            (folder / name).write_text(text)
        sources = [str(path) for path in (*folder.glob("*.c"), *(LIBRARY / "src").glob("*.c"))]
        self.path = str(folder / "program")
        call([*FLAGS, *sources, "-o", self.path])
        self.model_id = emitted.model_id
        self.block_bytes = len(pack_settings(monitor, self.model_id))

    def run(self, block: bytes, x: np.ndarray) -> tuple[bytes, bool, np.ndarray]:
        """(its own block, whether the given one fits, U, F, foreign, alarm and statistic of each
        input [n, 5])."""
        answer = call([self.path], block + x.tobytes())
        own, rest = answer[: self.block_bytes], answer[self.block_bytes :]
        found = np.frombuffer(rest[4:], "<u4").reshape(-1, 5)
        return own, bool(int.from_bytes(rest[:4], "little")), found


def other(monitor: Monitor) -> Monitor:
    """The same layout, other numbers everywhere."""
    decision = monitor.decision
    maps = {
        "MapClassGated": class_gated_map(
            *(-20000, 50000, 9000, (70000, -8000, 90000), (40000, -7000, 150000)),
            tables=((-5000, 2000), (900, -3000), (30000, 10000), (1, -2), (-7000, 40000)),
            also=(45000, 30000) if monitor.body.distance else (),
        ),
        "MapLogistic": fx.MapLogistic(-90000, 40000, 90000),
        "MapIsotonic": fx.MapIsotonic(
            60000, np.array([50000], np.uint32), np.array([3, 60000], np.uint32)
        ),
    }
    device_map = maps.get(type(decision.map).__name__)
    if device_map is None:
        gates = tuple((name, 70000, -8000) for name in decision.map.inputs)
        device_map = gated_map(-20000, 50000, *gates)
    if isinstance(decision.map, fx.MapClassGated) and decision.map.hidden:
        layer = fx.Hidden(*(-values for values in vars(decision.map.hidden).values()))
        device_map = replace(device_map, hidden=layer)
    foreign = [(name, 30000, -700000) for name in decision.foreign.inputs]
    return replace(
        monitor,
        alarm=tiny_alarm("F", fx.ALARM_WINDOW, baseline=7, threshold_q16=1 << 16),
        decision=replace(
            decision,
            weight_q16=(50000, 65536 - 50000),
            temperature=0.9,
            alpha_q16=1000,
            map=device_map,
            threshold_q16=123,
            foreign=gated_map(-50000, 12000, *foreign),
            foreign_threshold_q16=777,
            controller=fx.budget_of(0.1, 0.2, 0.3, 123),
        ),
    )


@pytest.mark.parametrize("kind", MAPS)
def test_python_and_c_hold_the_same_bytes_and_a_block_rules(kind: str, tmp_path: Path) -> None:
    monitor = tiny_monitor(kind)
    replaced = other(monitor)
    program, x = Program(monitor, tmp_path), random_inputs(100, seed=3)
    block = pack_settings(replaced, program.model_id, replaces=1)
    own, fits, found = program.run(block, x)
    assert own == pack_settings(monitor, program.model_id)
    assert fits
    expected, before = replaced.run(x), monitor.run(x)
    for column, name in enumerate(("uncertainty_q16", "foreign_q16", "foreign")):
        np.testing.assert_array_equal(found[:, column], getattr(expected, name), err_msg=name)
    alarm = replaced.alarm.parameters
    on, statistic = fx.alarm_run(
        alarm, fx.alarm_start(alarm), expected.foreign_q16[None], expected.uncertainty_q16[None]
    )
    np.testing.assert_array_equal(found[:, 3], on[0])
    np.testing.assert_array_equal(found[:, 4].view(np.int32), statistic[0])
    assert len(np.unique(statistic)) > 10
    assert np.any(expected.uncertainty_q16 != before.uncertainty_q16)
    assert np.any(expected.foreign_q16 != before.foreign_q16)


# Behind the isotonic map, F with one gate and its threshold.
STEP_AT = 72 + 32 * 4 + 33 * 4 + 5 * 4
# Of the alarm, behind step and table of the confidence.
SIGNAL_AT = STEP_AT + 4 + 512
EDGE_AT, GAIN_AT = SIGNAL_AT + 8, SIGNAL_AT + 8 + 15 * 4
THRESHOLD_AT = GAIN_AT + 16 * 4


def watched() -> Monitor:
    return replace(tiny_monitor("isotonic"), alarm=tiny_alarm(baseline=1))


# Offsets of SPEC 3.6; the isotonic map begins at 64, behind the weights of two taps.
@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (0, 0),  # magic
        (4, 4),  # bytes
        (16, 0),  # model id
        (24, 1),  # layout
        (32, 2),  # controlled
        (36, -1),
        (40, 2**24 + 1),
        (44, -(2**31)),
        (48, 2**31 - 1),
        (52, 65537),  # alpha
        (64, 65537),  # gamma
        (68, 33),  # breakpoints
        (68, -1),
        (72 + 32 * 4 + 32 * 4, 65537),  # the last value
        (STEP_AT, 2**22 + 1),
        (STEP_AT, -1),
        (SIGNAL_AT, 4),
        (SIGNAL_AT + 4, 4),  # detector
        (EDGE_AT + 14 * 4, 0),  # not ascending
        (GAIN_AT, 1),
        (GAIN_AT, -(16 << 16) - 1),
        (GAIN_AT + 15 * 4, (16 << 16) + 1),
        (THRESHOLD_AT, 0),  # of a sum
        (THRESHOLD_AT, (1 << 28) + 1),
        (THRESHOLD_AT + 4, -(1 << 28) - 1),  # clear
        (THRESHOLD_AT + 8, (1 << 28) + 1),  # start
        (THRESHOLD_AT + 12, (16 << 16) + 1),  # offset
        (THRESHOLD_AT + 16, -(16 << 16) - 1),  # limit
        (THRESHOLD_AT + 20, 65536),  # baseline
        (THRESHOLD_AT + 24, -1),  # confidence
    ],
)
def test_what_is_out_of_range_does_not_fit(offset: int, value: int, isotonic: Program) -> None:
    block = bytearray(pack_settings(watched(), isotonic.model_id))
    none = np.zeros(0, np.int8)
    assert isotonic.run(bytes(block), none)[1]
    block[offset : offset + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")
    assert not isotonic.run(bytes(block), none)[1]


@pytest.fixture(scope="module")
def isotonic(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(watched(), tmp_path_factory.mktemp("isotonic"))


def test_whatever_fits_runs_without_undefined_behaviour(isotonic: Program) -> None:
    """The sanitizers watch; numbers are random where nothing refuses them."""
    rng = np.random.default_rng(0)
    whole = pack_settings(watched(), isotonic.model_id)
    accepted = 0
    for _ in range(60):
        block = bytearray(whole)
        at = int(rng.integers(7, len(block) // 4)) * 4
        block[at : at + 4] = rng.bytes(4)
        _, fits, found = isotonic.run(bytes(block), random_inputs(3))
        accepted += fits
        assert np.all(found[:, :2] <= 65536)
    assert accepted > 0


def test_the_check_is_that_of_the_content_alone() -> None:
    monitor = tiny_monitor()
    block = pack_settings(monitor, "0123456789abcdef")
    assert check_of(block) == check_of(pack_settings(monitor, "0123456789abcdef", replaces=7))
    assert check_of(block) != check_of(pack_settings(other(monitor), "0123456789abcdef"))
    assert check_of(block) != check_of(pack_settings(monitor, "1123456789abcdef"))
    assert block[4:8] == len(block).to_bytes(4, "little")


def test_maps_of_different_kind_or_input_have_different_layouts() -> None:
    layouts = [layout_of(tiny_monitor(kind)) for kind in MAPS]
    assert len(set(layouts)) == len(MAPS)
    assert layout_of(other(tiny_monitor("isotonic"))) == layout_of(tiny_monitor("isotonic"))
