"""The monitor as C, whoever computed the layers: its files, its memory, its calls."""

from snapcli.emit import distance, luts
from snapcli.emit.heads import emit_heads
from snapcli.emit.program import Program
from snapcli.emit.settings import emit_stream
from snapcli.emit.steps import (
    DistanceStep,
    HeadStep,
    SumStep,
    sum_buffer,
)
from snapcli.emit.text import GENERATED
from snapcli.monitor.monitor import Monitor


def monitor_files(program: Program, monitor: Monitor) -> dict[str, str]:
    """Heads and tables, and what the sources share."""
    return {
        "snap_heads.c": emit_heads(program),
        "snap_luts.c": luts.emit_luts(program, monitor),
        "snap_parts.h": _parts(program, monitor),
    }


def monitor_bytes(program: Program, monitor: Monitor) -> int:
    """Constants in flash, but for the settings."""
    heads = sum(head.constant_bytes for head in program.heads)
    far = program.distance.constant_bytes if program.distance else 0
    return heads + far + sum(t.nbytes for t in luts.tables(program, monitor).values())


def monitor_definitions(program: Program, monitor: Monitor) -> str:
    """In front of the function that runs it."""
    far = program.distance.definitions if program.distance else ""
    return f"{far}{emit_stream(monitor)}"


def monitor_pointers(program: Program) -> list[str]:
    """Its buffers, at their places from `base` on, as variables."""
    offsets = program.full.offsets
    lines = []
    for step in program.steps:
        if isinstance(step, SumStep):
            name = sum_buffer(program.pointers[step.tensor])
            lines.append(pointer("int32_t", "const ", name, offsets[sum_buffer(step.tensor)]))
        elif isinstance(step, HeadStep):
            lines += [
                pointer(buffer.ctype, "const ", buffer.name, offsets[buffer.name])
                for buffer in program.heads[step.index].buffers
            ]
        elif isinstance(step, DistanceStep):
            scratch = distance.SCRATCH
            lines.append(pointer("int16_t", "const ", scratch, offsets[scratch]))
            lines.append(f"    {distance.TYPE} {distance.RESULT};")
    return lines


def pointer(ctype: str, const: str, name: str, offset: int) -> str:
    # Through void: nobody but us knows that the offset is aligned.
    through = "" if ctype == "int8_t" else "(void *)"
    return f"    {ctype} *{const}{name} = ({ctype} *){through}(base + {offset});"


def monitor_calls(step: SumStep | HeadStep | DistanceStep, program: Program) -> tuple[str, ...]:
    if isinstance(step, HeadStep):
        return program.heads[step.index].calls
    if isinstance(step, DistanceStep):
        assert program.distance is not None
        return (program.distance.call,)
    tensor, name = program.graph.tensors[step.tensor], program.pointers[step.tensor]
    function = "pool_sum" if step.length == tensor.channels else "pool_moments"
    return (
        f"snapuq_{function}_s8({name}, {tensor.positions}, {tensor.channels}, "
        f"{tensor.zero_point}, {sum_buffer(name)});",
    )


def _parts(program: Program, monitor: Monitor) -> str:
    """What the generated sources share with each other."""
    types = {"uint16": "uint16_t", "uint32": "uint32_t", "int32": "int32_t"}
    lines = [
        f"extern const {types[table.dtype.name]} {name}[{table.size}];"
        for name, table in luts.tables(program, monitor).items()
    ]
    lines += [line for head in program.heads for line in head.declarations]
    joined = "\n".join(lines)
    headers = dict.fromkeys(("snapuq.h", program.kernels.head_header))
    includes = "\n".join(f'#include "{header}"' for header in headers)
    return (
        f"{GENERATED}#ifndef SNAP_PARTS_H\n#define SNAP_PARTS_H\n\n{includes}\n\n"
        f"{joined}\n\n#endif\n"
    )
