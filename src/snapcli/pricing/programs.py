"""What a program with a method needs on a target, measured: flash, RAM and instructions.

The same for every method: network, kernels and the end of the method, linked with all that they
reach and nothing else; counted on the emulated twin, where the answers must be those of numpy.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli import toolchain
from snapcli.emit import Program, build_program, emit_model
from snapcli.emit.ends import End, Scored
from snapcli.emit.profiled import image_files
from snapcli.emit.scored import (
    COUNTS,
    ENTRY,
    INPUTS,
    emit_counter,
    emit_scored,
    emit_scored_monitor,
    read_counted,
)
from snapcli.errors import CheckError
from snapcli.graph.graph import Graph
from snapcli.methods.forms import Scorer
from snapcli.monitor.body import Body
from snapcli.monitor.decision import Decision
from snapcli.monitor.monitor import Monitor
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.pricing.memory import write_texts
from snapcli.targets import Target, emulated_twin

_NOISE = 2
_WORD_BYTES = 4


@dataclass(frozen=True)
class Price:
    """flash_bytes: code and constants; arena_bytes: with input, output and scratch; stack_bytes:
    the most that a run used; instructions: of a run, mean over the inputs."""

    flash_bytes: int
    arena_bytes: int
    stack_bytes: int
    instructions: int

    @property
    def ram_bytes(self) -> int:
        return self.arena_bytes + self.stack_bytes


def price_of(
    body: Body,
    decision: Decision,
    target: Target,
    kernels: str,
    inputs: NDArray[np.int8] | None = None,
    cmsis_nn: Path | None = None,
) -> Price:
    """Of a monitor; inputs [n, *input shape]: noise if None, which costs nearly the same."""
    if inputs is None:
        shape = body.graph.tensors[body.graph.input].shape
        inputs = np.random.default_rng(0).integers(-128, 128, (_NOISE, *shape)).astype(np.int8)
    with counter_of(target, kernels, inputs, cmsis_nn) as counter:
        return counter.of_monitor(Monitor(body, decision))


@contextmanager
def counter_of(
    target: Target, kernels: str, inputs: NDArray[np.int8], cmsis_nn: Path | None = None
) -> Iterator["Counter"]:
    """inputs int8 [n, *input shape]: those whose instructions are counted."""
    with tempfile.TemporaryDirectory(prefix="snap-cost-") as name:
        yield Counter(target, kernels, inputs, cmsis_nn, Path(name))


class Counter:
    """Prices for one target; a kernel is compiled once, however many programs call it."""

    def __init__(
        self,
        target: Target,
        kernels: str,
        inputs: NDArray[np.int8],
        cmsis_nn: Path | None,
        folder: Path,
    ) -> None:
        self.target, self.inputs = target, inputs
        self.twin = emulated_twin(target)
        self._kernels, self._library = kernel_set(kernels, cmsis_nn, target.has_dsp)
        self._folder = folder
        self._objects: dict[str, Path] = {}
        self._programs = 0

    def of(self, form: Scorer | Monitor) -> Price:
        return self.of_monitor(form) if isinstance(form, Monitor) else self.of_network(*form)

    def of_network(self, graph: Graph, end: End) -> Price:
        program = build_program(graph, None, self._kernels, end.scratch_bytes)
        files = {**emit_model(program, None, None).files, **emit_scored(program, end)}
        expected = end.reference(_outputs(graph, end, self.inputs))
        return self._priced(program, files, expected)

    def of_monitor(self, monitor: Monitor) -> Price:
        program = build_program(monitor.body.graph, monitor.body, self._kernels)
        emitted = emit_model(program, monitor, self.inputs[:1])
        files = {**image_files(program, monitor, emitted), **emit_scored_monitor()}
        scores = monitor.run(self.inputs)
        expected = scores.predicted, scores.uncertainty_q16.astype(np.int32)
        return self._priced(program, files, expected)

    def _priced(self, program: Program, generated: Mapping[str, str], expected: Scored) -> Price:
        place = self._folder / f"program-{self._programs}"
        self._programs += 1
        write_texts({**generated, "main.c": emit_counter(program)}, place)
        needed = kernel_files(self._library, generated)
        write_texts(needed, self._folder)
        headers = sorted({(self._folder / name).parent for name in needed if name.endswith(".h")})
        includes = [place, *headers]
        fresh = [n for n in needed if n.endswith(".c") and n not in self._objects]
        sources = [self._folder / name for name in fresh]
        built = toolchain.compile_objects(self.target, sources, includes, place / "kernels")
        self._objects |= dict(zip(fresh, built, strict=True))
        own = [place / name for name in generated if name.endswith(".c")]
        objects = toolchain.compile_objects(self.target, own, includes, place / "own")
        objects += [self._objects[name] for name in needed if name.endswith(".c")]
        flash_bytes, static_bytes = toolchain.linked_bytes(self.target, objects, ENTRY, place)
        # No code here has variables of its own; the linker pads a section to words.
        assert static_bytes < _WORD_BYTES
        (place / INPUTS).write_bytes(self.inputs.tobytes())
        command = toolchain.build_semihosted(
            self.twin, [place / "main.c"], includes, place, counted=True, compiled=objects
        )
        toolchain.run_program(command, place)
        counts, stack, scores = read_counted((place / COUNTS).read_bytes())
        _check_same(scores, expected)
        return Price(
            flash_bytes, program.full.arena_bytes, int(stack.max()), round(float(counts.mean()))
        )


def _outputs(graph: Graph, end: End, inputs: NDArray[np.int8]) -> dict[str, NDArray[np.int8]]:
    tensors = {name: graph.outputs[name] for name in end.reads}
    values = graph.run(inputs, set(tensors.values()))
    return {name: values[tensor] for name, tensor in tensors.items()}


def _check_same(computed: Scored, expected: Scored) -> None:
    for what, ours, theirs in zip(("answer", "score"), computed, expected, strict=True):
        if not np.array_equal(ours, theirs):
            raise CheckError(
                f"the {what} in C is {ours.tolist()}, in numpy {theirs.tolist()}",
                "C and the integer reference differ: report this with the run directory.",
            )
