"""example/main.c: a program that runs an exported model once and checks the result."""

import math

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.emit.header import input_functions, output_functions
from snapcli.emit.program import Program
from snapcli.emit.text import GENERATED, array
from snapcli.monitor.monitor import DeviceScores, Monitor


def example_inputs(program: Program) -> dict[str, np.ndarray]:
    """The made-up inputs of the example: [1, *shape] by name, bytes of one random sequence."""
    sizes = [math.prod(program.graph.tensors[name].shape) for name in program.graph.inputs]
    states, inputs = _states(sum(sizes)), {}
    for name, part in zip(program.graph.inputs, np.split(states, np.cumsum(sizes)), strict=False):
        tensor = program.graph.tensors[name]
        steps = (part >> 24).astype(np.uint8).view(np.int8).reshape(1, *tensor.shape)
        inputs[name] = steps if tensor.dtype == "int8" else (steps / 32).astype(np.float32)
    return inputs


def _states(count: int) -> np.ndarray:
    """s_n = a s_(n-1) + c mod 2^32 from s_0 = 1: a^n + c (1 + a + ... + a^(n-1))."""
    powers = np.cumprod(np.full(count, 1664525, np.uint32), dtype=np.uint32)
    sums = np.cumsum(np.concatenate([[1], powers[:-1]]), dtype=np.uint32)[:count]
    return powers + np.uint32(1013904223) * sums


def emit_example(program: Program, monitor: Monitor | None) -> str:
    """A program that runs the model once and compares the result with the integer reference."""
    given = example_inputs(program)
    fills, checks, expected = [], [], []
    for name, function in zip(program.graph.inputs, input_functions(program), strict=True):
        kind = program.graph.tensors[name].dtype
        count = math.prod(program.graph.tensors[name].shape)
        fills.append(f"    fill_{kind}({function}(arena), {count}, &state);")
    if monitor:
        answer = monitor.run(given[program.graph.input])
        run = "    struct snap_model_result result;\n    snap_model_run(arena, &result);"
        fields = (
            *("predicted", "score_q16", "uncertainty_q16", "abstain"),
            *("foreign_q16", "foreign"),
        )
        for field in fields:
            want = int(getattr(answer, field)[0])
            checks.append(f'    differs |= check("{field}", result.{field}, {want}u);')
        if monitor.decision.controller:
            want = int(monitor.replay(answer).abstain[0])
            checks += [
                "    struct snapuq_budget_state stream;",
                "    snap_model_start(&snap_model_settings, &stream);",
                '    differs |= check("abstain, controlled",\n'
                "                     (uint32_t)snap_model_decide(&snap_model_settings, &stream,\n"
                f"                                                 &result), {want}u);",
            ]
        checks += _alarm_checks(monitor, answer)
    else:
        run = "    snap_model_run(arena);"
    computed = program.graph.run(given, program.outputs)
    for name, function in zip(program.outputs, output_functions(program), strict=True):
        suffix = function.removeprefix("snap_model_output")
        values = computed[name][0]
        kind = program.graph.tensors[name].dtype
        expected.append(array(f"expected{suffix}", values))
        checks.append(
            f'    differs |= compare_{kind}("output{suffix}",\n        '
            f"{function}(arena), expected{suffix}, {values.size});"
        )
    kinds = sorted({program.graph.tensors[name].dtype for name in program.graph.inputs})
    outputs = sorted({program.graph.tensors[name].dtype for name in program.outputs})
    helpers = [_FILL[kind] for kind in kinds] + [_COMPARE[kind] for kind in outputs]
    helpers += [_CHECK] if monitor else []
    lines = "\n".join([*fills, run, *checks])
    parts = [
        f"{GENERATED}/* Runs the model once on a made-up input and compares the result with "
        "snap's integer reference. */",
        '#include <stdio.h>\n\n#include "snap_model.h"\n',
        "static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];\n",
        *helpers,
        *expected,
        f"""int main(void)
{{
    uint32_t state = 1;
    int differs = 0;
{lines}
    puts(differs ? "differs from the reference" : "equals the reference");
    return differs;
}}
""",
    ]
    return "\n".join(parts)


def _alarm_checks(monitor: Monitor, answer: DeviceScores) -> list[str]:
    """The same result again and again, for longer than a baseline takes."""
    alarm = monitor.alarm
    frames = alarm.parameters.baseline + _WATCHED
    u, f, s = answer.uncertainty_q16, answer.foreign_q16, answer.score_q16
    value = np.full((1, frames), alarm.values(u, f, s, answer.abstain)[0], np.uint32)
    state = fx.alarm_start(alarm.parameters)
    on, _ = fx.alarm_run(alarm.parameters, state, value, np.full((1, frames), u[0], np.uint32))
    wanted = {
        "alarm": ("(uint32_t)alarm", int(on[0, -1])),
        "alarms": ("watched.alarms", int(state.alarms[0])),
        "statistic_q16": ("(uint32_t)watched.statistic_q16", int(state.statistic_q16[0]) % 2**32),
        "right_q24": ("watched.right_q24", int(state.right_q24[0])),
    }
    return [
        "    struct snapuq_alarm_state watched;",
        "    int32_t alarm = 0;",
        "    snap_alarm_start(&watched);",
        f"    for (int i = 0; i < {frames}; i++) {{",
        "        alarm = snap_alarm_step(&watched, &result);",
        "    }",
        *(f'    differs |= check("{n}", {c}, {want}u);' for n, (c, want) in wanted.items()),
    ]


_WATCHED = 100  # frames behind the baseline
_FILL = {
    "int8": """static void fill_int8(int8_t *to, int count, uint32_t *state)
{
    for (int i = 0; i < count; i++) {
        *state = *state * 1664525u + 1013904223u;
        to[i] = (int8_t)(*state >> 24);
    }
}
""",
    "float32": """static void fill_float32(float *to, int count, uint32_t *state)
{
    for (int i = 0; i < count; i++) {
        *state = *state * 1664525u + 1013904223u;
        to[i] = (float)(int8_t)(*state >> 24) / 32.0f;
    }
}
""",
}
_COMPARE = {
    "int8": """static int compare_int8(const char *name, const int8_t *got,
                        const int8_t *want, int count)
{
    int differs = 0;
    printf("%s:", name);
    for (int i = 0; i < count; i++) {
        printf(" %d", got[i]);
        differs |= got[i] != want[i];
    }
    puts("");
    return differs;
}
""",
    "float32": """static int compare_float32(const char *name, const float *got,
                           const float *want, int count)
{
    int differs = 0;
    printf("%s:", name);
    for (int i = 0; i < count; i++) {
        printf(" %g", (double)got[i]);
        differs |= got[i] != want[i];
    }
    puts("");
    return differs;
}
""",
}
_CHECK = """static int check(const char *name, uint32_t got, uint32_t want)
{
    printf("%s: %lu\\n", name, (unsigned long)got);
    return got != want;
}
"""
