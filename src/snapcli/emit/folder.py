"""What makes an exported folder stand alone: README.md, Makefile, CMakeLists.txt, an example."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snapcli.emit.model import c_type, input_functions, output_functions
from snapcli.emit.program import Program
from snapcli.emit.text import GENERATED, array
from snapcli.graph.monitor import Monitor
from snapcli.targets import Target

EXAMPLE = "example/main.c"
KERNELS = "kernels"
THIRD_PARTY = f"{KERNELS}/cmsis-nn/Source"


@dataclass(frozen=True)
class LayerRow:
    """A line of the table in README.md."""

    name: str
    operator: str
    shape: tuple[int, ...]
    macs: int
    constant_bytes: int
    output_bytes: int


def layer_rows(program: Program) -> tuple[LayerRow, ...]:
    graph = program.graph
    return tuple(
        LayerRow(
            layer.name,
            layer.operator,
            graph.tensors[layer.target].shape,
            layer.macs,
            program.lowered[layer.name].constant_bytes,
            graph.tensors[layer.target].size_bytes,
        )
        for layer in graph.layers
    )


def example_inputs(program: Program) -> dict[str, np.ndarray]:
    """The made-up inputs of the example: [1, *shape] by name, bytes of one random sequence."""
    state, found = 1, {}
    for name in program.graph.inputs:
        tensor = program.graph.tensors[name]
        values = []
        for _ in range(math.prod(tensor.shape)):
            state = (state * 1664525 + 1013904223) % 2**32
            values.append(state >> 24)
        steps = np.array(values, np.uint8).view(np.int8)
        shaped = steps.reshape(1, *tensor.shape)
        found[name] = shaped if tensor.dtype == "int8" else (shaped / 32).astype(np.float32)
    return found


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
        fields = ("predicted", "score_q16", "uncertainty_q16", "abstain")
        for field in fields:
            want = int(getattr(answer, field)[0])
            checks.append(f'    differs |= check("{field}", result.{field}, {want}u);')
    else:
        run = "    snap_model_run(arena);"
        found = program.graph.run(given, program.results)
        for name, function in zip(program.results, output_functions(program), strict=True):
            suffix = function.removeprefix("snap_model_output")
            values = found[name][0]
            kind = program.graph.tensors[name].dtype
            expected.append(array(f"expected{suffix}", values))
            checks.append(
                f'    differs |= compare_{kind}("output{suffix}",\n        '
                f"{function}(arena), expected{suffix}, {values.size});"
            )
    kinds = sorted({program.graph.tensors[name].dtype for name in program.graph.inputs})
    outputs = sorted({program.graph.tensors[name].dtype for name in program.results})
    helpers = [_FILL[kind] for kind in kinds]
    helpers += [_CHECK] if monitor else [_COMPARE[kind] for kind in outputs]
    lines = "\n".join([*fills, run, *checks])
    parts = [
        f"{GENERATED}/* Runs the model once on a made-up input and compares the result with "
        "snap's integer reference. */",
        '#include <stdio.h>\n\n#include "snap_model.h"\n',
        "static _Alignas(8) uint8_t arena[SNAP_MODEL_ARENA_BYTES];\n",
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


def emit_makefile(target: Target, quiet: Sequence[str]) -> str:
    """quiet: folders of sources that others wrote, compiled without our warnings."""
    return f"""# make           the example for this machine, and runs it
# make target    the example for {target.core} and its size
# In your own firmware: compile snap_model.c, snap_*.c and all of {KERNELS}/.

TARGET_CC ?= arm-none-eabi-gcc
TARGET_SIZE ?= arm-none-eabi-size
TARGET_FLAGS ?= {" ".join(target.cpu_flags)}
CFLAGS ?= -O2
FLAGS := -std=c11 $(CFLAGS) -ffunction-sections -fdata-sections
FLAGS += $(addprefix -I,{" ".join(_INCLUDES)})
OURS := $(wildcard snap_*.c {KERNELS}/*.c) {EXAMPLE}
THEIRS := $(wildcard {" ".join(f"{folder}/*.c" for folder in quiet)})
HEADERS := $(wildcard *.h {KERNELS}/*.h)

.PHONY: run target clean

run: build/host/snap_example
	build/host/snap_example

target: build/target/snap_example.elf
	$(TARGET_SIZE) $<

build/host/snap_example: $(OURS:%.c=build/host/%.o) $(THEIRS:%.c=build/host/%.o)
	$(CC) $(CFLAGS) $^ -o $@

# By semihosting it prints in a debugger or an emulator.
build/target/snap_example.elf: $(OURS:%.c=build/target/%.o) $(THEIRS:%.c=build/target/%.o)
	$(TARGET_CC) $(TARGET_FLAGS) $(CFLAGS) --specs=rdimon.specs -Wl,--gc-sections $^ -o $@

$(OURS:%.c=build/host/%.o) $(OURS:%.c=build/target/%.o): FLAGS += -Wall -Wextra

build/host/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c $< -o $@

build/target/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	$(TARGET_CC) $(TARGET_FLAGS) $(FLAGS) -c $< -o $@

clean:
	rm -rf build
"""


_INCLUDES = (".", KERNELS, f"{KERNELS}/cmsis-nn/Include")


def emit_cmake(quiet: Sequence[str]) -> str:
    theirs = " ".join(f'"{folder}/*.c"' for folder in quiet)
    return f"""# add_subdirectory() this folder and link snap_model.
# On its own it builds the example too.
cmake_minimum_required(VERSION 3.16)
project(snap_model C)

file(GLOB sources CONFIGURE_DEPENDS snap_*.c {KERNELS}/*.c {theirs})
add_library(snap_model STATIC ${{sources}})
target_include_directories(snap_model PUBLIC . PRIVATE {KERNELS} {KERNELS}/cmsis-nn/Include)
set_target_properties(snap_model PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  add_executable(example {EXAMPLE})
  target_link_libraries(example PRIVATE snap_model)
endif()
"""


def emit_readme(
    title: str, program: Program, target: Target, flash: str, flash_bytes: int, model_id: str
) -> str:
    """flash: a sentence on how flash_bytes was found."""
    rows = layer_rows(program)
    table = "\n".join(
        f"| {r.name} | {r.operator} | {'x'.join(map(str, r.shape))} | {r.macs:,} "
        f"| {r.constant_bytes:,} | {r.output_bytes:,} |"
        for r in rows
    )
    plan = program.full
    share = plan.arena_bytes / max(plan.live_bytes, 1)
    return f"""# {title} as C

Generated by `snap export-c` for {target.name} ({target.part}, {target.core}); kernel set
`{program.kernels.name}`; model {model_id}.

| | |
|---|---|
| flash | {flash_bytes:,} B: {flash} |
| RAM | {plan.arena_bytes:,} B: the arena, with input, output and scratch; the stack is yours |
| multiply-accumulates | {program.graph.macs:,} |

## Call it

```c
{_call_lines(program)}
```

The caller owns the arena. A run overwrites its input; feature extraction is the caller's part,
and the comments in snap_model.h say which numbers the model takes and gives.

## Build it

`make` builds the example for this machine and runs it; `make target` builds it with
arm-none-eabi-gcc. With CMake: `add_subdirectory()` this folder and link `snap_model`. Or compile
`snap_*.c` and everything in `{KERNELS}/` with your own firmware, with `.` and `{KERNELS}` (and
`{KERNELS}/cmsis-nn/Include`, if it is there) as include folders. There is no allocation, no global
variable and no input or output in any of it.

## Layers

| layer | operator | output | MACs | constants, B | output, B |
|---|---|---|---|---|---|
{table}
| total | | | {program.graph.macs:,} | {sum(r.constant_bytes for r in rows):,} | |

The largest set of tensors alive at once is {plan.live_bytes:,} B. The arena is {share:.2f} of it,
because an output may run into an input that has been read.

The kernels in `{KERNELS}/` are part of snap-uq, MIT licence; those in `{KERNELS}/cmsis-nn/`, if
any, are Arm's CMSIS-NN, Apache-2.0.
"""


def _call_lines(program: Program) -> str:
    graph, source = program.graph, input_functions(program)[0]
    lines = ['#include "snap_model.h"', ""]
    lines.append("static _Alignas(8) uint8_t arena[SNAP_MODEL_ARENA_BYTES];")
    lines.append(f"memcpy({source}(arena), my_input, {source.upper()}_BYTES);")
    if program.body:
        lines += ["struct snap_model_result result;", "snap_model_run(arena, &result);"]
        lines.append("if (result.abstain) { /* do not trust result.predicted */ }")
        return "\n".join(lines)
    ctype = c_type(graph.tensors[program.results[0]])
    lines += ["snap_model_run(arena);"]
    lines.append(f"const {ctype} *output = {output_functions(program)[0]}(arena);")
    return "\n".join(lines)
