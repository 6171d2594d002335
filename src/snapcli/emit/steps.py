"""The order of work: layers, pooled sums and heads, and how long each buffer lives."""

from dataclasses import dataclass

from snapcli.fixedpoint import ConvS8
from snapcli.graph.graph import Layer
from snapcli.graph.monitor import Body, TapTensors
from snapcli.graph.plan import Buffer


@dataclass(frozen=True)
class LayerStep:
    layer: Layer


@dataclass(frozen=True)
class SumStep:
    """The exact pooled sum of a tensor, right after it was computed."""

    tensor: str


@dataclass(frozen=True)
class HeadStep:
    index: int
    tap: TapTensors


Step = LayerStep | SumStep | HeadStep
SCRATCH = "head_scratch"


def sum_buffer(tensor: str) -> str:
    return f"{tensor}_sum"


def scratch_buffer(index: int) -> str:
    return f"{SCRATCH}_{index}"


def order(body: Body) -> list[Step]:
    pooled = {name for tap in body.taps for name in (tap.before, tap.after)}
    steps: list[Step] = []
    for layer in body.graph.layers:
        steps.append(LayerStep(layer))
        if layer.target in pooled:
            steps.append(SumStep(layer.target))
        steps += [HeadStep(i, t) for i, t in enumerate(body.taps) if t.after == layer.target]
    return steps


def classifier_start(steps: list[Step]) -> int:
    """Index of the first step after the last convolution and all that hangs on it."""
    last = max(
        (
            i
            for i, step in enumerate(steps)
            if not isinstance(step, LayerStep) or isinstance(step.layer.kernel, ConvS8)
        ),
        default=-1,
    )
    return last + 1


def buffers(body: Body, steps: list[Step]) -> tuple[list[Buffer], list[Buffer]]:
    """(activations, buffers of the monitor); the input is the caller's."""
    end = len(steps)
    born: dict[str, int] = {}
    dies: dict[str, int] = {}
    sizes: dict[str, int] = {}
    monitor: set[str] = set()
    for i, step in enumerate(steps):
        if isinstance(step, LayerStep):
            born[step.layer.target] = dies[step.layer.target] = i
            sizes[step.layer.target] = body.graph.tensors[step.layer.target].size_bytes
            dies |= dict.fromkeys(step.layer.sources, i)
        elif isinstance(step, SumStep):
            name = sum_buffer(step.tensor)
            born[name] = dies[name] = dies[step.tensor] = i
            sizes[name] = 4 * body.graph.tensors[step.tensor].channels
            monitor.add(name)
        else:
            head, name = body.heads[step.index], scratch_buffer(step.index)
            born[name] = dies[name] = i
            sizes[name] = 2 * (head.in_channels + head.rank)
            monitor.add(name)
            for tensor in (step.tap.before, step.tap.after):
                dies[sum_buffer(tensor)] = i
    dies[body.logits_tensor] = end
    found = [Buffer(name, sizes[name], born[name], dies[name]) for name in born]
    return [b for b in found if b.name not in monitor], [b for b in found if b.name in monitor]
