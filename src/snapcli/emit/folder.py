"""What makes an exported folder stand alone: README.md, Makefile, CMakeLists.txt."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snapcli.config import CMSIS_NN
from snapcli.emit.bounds import bounds
from snapcli.emit.decision import closing_kernels
from snapcli.emit.header import CLOSING, c_type, input_functions, output_functions
from snapcli.emit.model import step_calls
from snapcli.emit.program import Program
from snapcli.emit.steps import LayerStep, stages
from snapcli.emit.text import NOTICE
from snapcli.monitor.monitor import Monitor
from snapcli.targets import Target

EXAMPLE = "example/main.c"
LICENCE = "LICENSE"
KERNELS = "kernels"
THIRD_PARTY = f"{KERNELS}/{CMSIS_NN}/Source"
_CALLED = re.compile(r"\b(\w+)\(")


@dataclass(frozen=True)
class LayerRow:
    """A line of the table in README.md; arena_bytes: of the arena that its step spans; kernel: the
    C function that computes it."""

    name: str
    operator: str
    shape: tuple[int, ...]
    macs: int
    constant_bytes: int
    output_bytes: int
    arena_bytes: int
    kernel: str


@dataclass(frozen=True)
class StepRow:
    """What a device counts on its own: a step and its stage.

    kernel: the C function that computes it, the first where several do: the residuals of a head,
    which its energy follows. macs: multiply-accumulates, 0 for what is no layer. bound:
    instructions per MAC of the kernel's inner loop, None where it is not known.
    """

    name: str
    stage: str
    kernel: str
    macs: int
    bound: float | None


def step_rows(
    program: Program, monitor: Monitor | None, library: Mapping[str, str]
) -> tuple[StepRow, ...]:
    """All that a probe is told of, in that order; none without a monitor, which has no probe.

    library: {path: C text} of the kernels, of which some say how long their inner loops are.
    """
    if monitor is None:
        return ()
    names = [*(step.label for step in program.steps), *CLOSING]
    parts = [*stages(program.steps), *CLOSING.values()]
    kernels = [_called(step_calls(step, program)[0]) for step in program.steps]
    kernels += closing_kernels(monitor)
    macs = [step.layer.macs if isinstance(step, LayerStep) else 0 for step in program.steps]
    macs += [0] * len(CLOSING)
    known = bounds(kernels, library)
    rows = zip(names, parts, kernels, macs, strict=True)
    return tuple(StepRow(*row, known.get(row[2])) for row in rows)


def _called(statement: str) -> str:
    """The outer of the functions that a statement of C calls."""
    call = _CALLED.search(statement)
    assert call, statement
    return call[1]


def layer_rows(program: Program) -> tuple[LayerRow, ...]:
    """In the order of work."""
    return tuple(
        LayerRow(
            step.layer.name,
            step.layer.operator,
            program.graph.tensors[step.target].shape,
            step.layer.macs,
            program.lowered[step.layer.name].constant_bytes,
            program.graph.tensors[step.target].size_bytes,
            program.full.span(i),
            _called(program.lowered[step.layer.name].call),
        )
        for i, step in enumerate(program.steps, start=1)
        if isinstance(step, LayerStep)
    )


def emit_makefile(target: Target, quiet: Sequence[str]) -> str:
    """quiet: folders of sources that others wrote, compiled without our warnings."""
    return f"""# {NOTICE[0]}
# {NOTICE[1]}
#
# make           the example for this machine, and runs it
# make target    the example for {target.core} and its size
# In your own firmware: compile snap_model.c, snap_*.c and all of {KERNELS}/.

TARGET_CC ?= arm-none-eabi-gcc
TARGET_SIZE ?= arm-none-eabi-size
TARGET_FLAGS ?= {" ".join(target.cpu_flags)}
CFLAGS ?= -O2
FLAGS := -std=c11 $(CFLAGS) -ffunction-sections -fdata-sections
FLAGS += $(addprefix -I,{" ".join([".", *_includes(quiet)])})
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


def _includes(quiet: Sequence[str]) -> list[str]:
    return [KERNELS, f"{KERNELS}/{CMSIS_NN}/Include"] if quiet else [KERNELS]


def emit_cmake(quiet: Sequence[str]) -> str:
    theirs = " ".join(f'"{folder}/*.c"' for folder in quiet)
    return f"""# {NOTICE[0]}
# {NOTICE[1]}
#
# add_subdirectory() this folder and link snap_model.
# On its own it builds the example too.
cmake_minimum_required(VERSION 3.16)
project(snap_model C)

file(GLOB sources CONFIGURE_DEPENDS snap_*.c {KERNELS}/*.c {theirs})
add_library(snap_model STATIC ${{sources}})
target_include_directories(snap_model PUBLIC . {" ".join(_includes(quiet))})
set_target_properties(snap_model PROPERTIES
  C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)

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
        f"| {r.constant_bytes:,} | {r.output_bytes:,} | {r.arena_bytes:,} | {r.kernel} |"
        for r in rows
    )
    plan = program.full
    constants = sum(row.constant_bytes for row in rows)
    share = plan.arena_bytes / max(program.live_bytes, 1)
    why = ", because an output may run into an input that has been read" if share < 1 else ""
    arm = program.kernels.name == CMSIS_NN
    licence = f"; those in `{KERNELS}/{CMSIS_NN}/` are Arm's\nCMSIS-NN, Apache-2.0" if arm else ""
    include = f" and\n`{KERNELS}/{CMSIS_NN}/Include`" if arm else ""
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

The caller owns the arena (in C++ it is `alignas(SNAP_MODEL_ARENA_ALIGN) static uint8_t ...`). A
run overwrites its input; feature extraction is the caller's part, and snap_model.h says which
numbers the model takes and gives: real = scale * (q - zero point).
{_stream_section(program)}
## Build it

`make` builds the example for this machine and runs it; `make target` builds it with
arm-none-eabi-gcc. With CMake: `add_subdirectory()` this folder and link `snap_model`. Or compile
`snap_*.c` and everything in `{KERNELS}/` with your own firmware; the include folders are `.`,
`{KERNELS}`{include}. There is no allocation, no global variable and no
input or output in any of it.

## Layers

| layer | operator | output | MACs | flash, B | output, B | RAM in use, B | kernel |
|---|---|---|---|---|---|---|---|
{table}
| total | | | {program.graph.macs:,} | {constants:,} | | {plan.arena_bytes:,} | |

A MAC is a multiplication that is accumulated, or an addition where nothing is multiplied.
{_monitor_line(program)}The largest set of tensors alive at once is {program.live_bytes:,} B; the
arena is {share:.2f} of it{why}.

The code is snap-uq's, MIT licence: LICENSE goes with it{licence}.
"""


def _stream_section(program: Program) -> str:
    """What may be done over many inputs; only a monitor can."""
    if not program.body:
        return ""
    return """
## Over many inputs

```c
snap_alarm_clear(&stream);    /* ends an alarm by hand */
snap_alarm_baseline(&stream); /* learns anew what is normal, from the next inputs */
stream.right_q24;             /* estimated accuracy, 1 << 24 = 100 % */

/* The eight most surprising inputs, to be labelled: one more place than are kept. */
static struct snapuq_kept kept[8];
static int8_t inputs[8 + 1][SNAP_MODEL_INPUT_BYTES];
static struct snapuq_evidence evidence;
snapuq_evidence_start(&evidence, kept, 8); /* once */
memcpy(inputs[evidence.free], snap_model_input(arena), SNAP_MODEL_INPUT_BYTES); /* before a run */
snap_evidence_offer(&evidence, &result, stream.frames); /* behind it; inputs[kept[i].place] */

/* A record of what the stream was like, for snap fleet. */
static struct snapuq_telemetry telemetry;
static uint8_t record[SNAPUQ_TELEMETRY_BYTES];
snapuq_telemetry_start(&telemetry, 0, &stream); /* once; seconds since 1970, 0 without a clock */
if (snap_telemetry_add(&telemetry, &result, &stream)) { /* for each result: it is full */ }
snap_telemetry_record(&telemetry, serial_number, record);
snapuq_telemetry_next(&telemetry, 0);
```
"""


def _monitor_line(program: Program) -> str:
    parts = []
    if program.heads:
        count, size = len(program.heads), sum(head.constant_bytes for head in program.heads)
        parts.append(f"{count} head{'' if count == 1 else 's'} {size:,} B")
    if program.distance:
        parts.append(f"distances to the classes {program.distance.constant_bytes:,} B")
    return f"The monitor's flash: {', '.join(parts)}, its maps and tables.\n" if parts else ""


def _call_lines(program: Program) -> str:
    graph, source = program.graph, input_functions(program)[0]
    lines = ['#include "snap_model.h"', ""]
    lines.append("static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];")
    lines.append(f"memcpy({source}(arena), my_input, {source.upper()}_BYTES);")
    if program.body:
        lines += ["struct snap_model_result result;", "snap_model_run(arena, &result);"]
        lines.append("if (result.abstain) { /* do not trust result.predicted */ }")
        lines.append("if (result.foreign) { /* the input looks foreign */ }")
        lines += ["", "static struct snapuq_alarm_state stream; /* of each stream of inputs */"]
        lines.append("snap_alarm_start(&stream); /* once */")
        lines.append("if (snap_alarm_step(&stream, &result)) { /* accuracy has dropped */ }")
        return "\n".join(lines)
    ctype = c_type(graph.tensors[program.results[0]])
    lines += ["snap_model_run(arena);"]
    lines.append(f"const {ctype} *output = {output_functions(program)[0]}(arena);")
    return "\n".join(lines)
