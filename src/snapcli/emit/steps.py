"""The order of work: layers, moves, pooled sums and heads, and how long each buffer lives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from snapcli.emit.distance import SCRATCH
from snapcli.emit.lowering import Lowered, LoweredHead
from snapcli.fixedpoint import ConvAddS8, ConvS8
from snapcli.graph.graph import Graph, Layer
from snapcli.graph.plan import Buffer
from snapcli.monitor.body import Body, TapTensors


@dataclass(frozen=True)
class LayerStep:
    layer: Layer

    @property
    def label(self) -> str:
        return f"{self.layer.name} {self.layer.operator}"

    @property
    def target(self) -> str:
        return self.layer.target


@dataclass(frozen=True)
class MoveStep:
    """A tensor leaves the place where its layer had to write it."""

    target: str

    @property
    def label(self) -> str:
        return f"{self.target} moves"


@dataclass(frozen=True)
class SumStep:
    """The exact pooled sums of a tensor, `length` of them, right after it was computed."""

    tensor: str
    length: int

    @property
    def label(self) -> str:
        return f"{self.tensor} pooled"


@dataclass(frozen=True)
class HeadStep:
    """As soon as all is there that the head looks at; logits: the tensor whose largest element
    it waits for, if any."""

    index: int
    tap: TapTensors
    logits: str | None = None

    @property
    def label(self) -> str:
        return f"{self.tap.after} head"


@dataclass(frozen=True)
class DistanceStep:
    """The distances of a pooled tensor to the classes, as soon as the logits are there, too."""

    tensor: str
    logits: str

    @property
    def label(self) -> str:
        return f"{self.tensor} distance"


Step = LayerStep | MoveStep | SumStep | HeadStep | DistanceStep
# No tensor has a space in its name.
END_SCRATCH = "end scratch"


def sum_buffer(tensor: str) -> str:
    return f"{tensor}_sum"


def layer_scratch(layer: str) -> str:
    return f"{layer}_scratch"


def moved(tensor: str) -> str:
    """The buffer of a tensor after its move; no tensor has a space in its name."""
    return f"{tensor} moved"


def order(
    graph: Graph, layers: Sequence[Layer], body: Body | None, moves: Collection[str]
) -> list[Step]:
    """moves: tensors that move when they are complete."""
    waiting: list[tuple[Step, set[str]]] = []
    if body:
        waiting = [*_heads(graph, body), *_distance(graph, body)]
    steps: list[Step] = []
    done: set[str] = set()

    def complete(tensor: str) -> None:
        """The monitor's steps that become possible with it."""
        done.add(tensor)
        if body and tensor in body.tapped:
            steps.append(SumStep(tensor, body.pooled_length(tensor)))
        ready = [step for step, needs in waiting if needs <= done]
        waiting[:] = [(step, needs) for step, needs in waiting if step not in ready]
        steps.extend(ready)

    for name in graph.inputs:
        complete(name)
    for layer in layers:
        steps.append(LayerStep(layer))
        if layer.target in moves:
            steps.append(MoveStep(layer.target))
        complete(layer.target)
    return steps


def _distance(graph: Graph, body: Body) -> list[tuple[Step, set[str]]]:
    """The distances, with the tensors that must be complete before them."""
    if not body.distance:
        return []
    tensor, logits = body.distance.tensor, graph.stored(body.logits_tensor)
    return [(DistanceStep(tensor, logits), {tensor, logits})]


def _heads(graph: Graph, body: Body) -> list[tuple[Step, set[str]]]:
    """Each head with the tensors that must be complete before it."""
    waiting: list[tuple[Step, set[str]]] = []
    for i, (tap, head) in enumerate(zip(body.taps, body.heads, strict=True)):
        by_class = head.residual.class_mean.size > 0
        logits = graph.stored(body.logits_tensor) if by_class else None
        needs = {tap.before, tap.after, logits} if logits else {tap.before, tap.after}
        waiting.append((HeadStep(i, tap, logits), needs))
    return waiting


def classifier_start(steps: list[Step]) -> int:
    """Index of the first step after the last convolution and all that hangs on it, but for heads
    that wait for the classifier."""
    last = max(
        (
            i
            for i, step in enumerate(steps)
            if isinstance(step, SumStep)
            or (isinstance(step, HeadStep) and step.logits is None)
            or (isinstance(step, LayerStep) and isinstance(step.layer.kernel, ConvS8 | ConvAddS8))
        ),
        default=-1,
    )
    return last + 1


def stages(steps: list[Step]) -> list[str]:
    """backbone, heads, distance or classifier, for each step; what heads and distance share is the
    heads'."""
    start = classifier_start(steps)
    heads = {
        tensor
        for step in steps
        if isinstance(step, HeadStep)
        for tensor in (step.tap.before, step.tap.after)
    }

    def stage(i: int, step: Step) -> str:
        match step:
            case LayerStep() | MoveStep():
                return "backbone" if i < start else "classifier"
            case HeadStep():
                return "heads"
            case SumStep(tensor=tensor) if tensor in heads:
                return "heads"
        return "distance"

    return [stage(i, step) for i, step in enumerate(steps)]


@dataclass(frozen=True)
class Lives:
    """Buffers of the network and those that only the monitor needs, and what may overlap.

    Step 0 is the caller's, who writes the inputs; steps[i] is step i + 1; at the end the
    caller reads the outputs.
    """

    network: list[Buffer]
    monitor: list[Buffer]
    slack: dict[tuple[str, str], int]


def lives(
    graph: Graph,
    results: Collection[str],
    steps: Sequence[Step],
    lowered: Mapping[str, Lowered],
    heads: Sequence[LoweredHead],
    distance: Lowered | None = None,
    end_bytes: int = 0,
) -> Lives:
    """results: tensors that the caller reads at the end, where it uses end_bytes beside them."""
    born: dict[str, int] = {}
    dies: dict[str, int] = {}
    sizes: dict[str, int] = {}
    monitor: set[str] = set()
    slack: dict[tuple[str, str], int] = {}
    place = {name: name for name in graph.tensors}  # the buffer a tensor is in now

    def create(name: str, size: int, at: int) -> None:
        born[name] = dies[name] = at
        sizes[name] = size

    for name in graph.inputs:
        create(name, graph.tensors[name].size_bytes, 0)
    for i, step in enumerate(steps, start=1):
        if isinstance(step, LayerStep):
            layer, low = step.layer, lowered[step.layer.name]
            create(layer.target, graph.tensors[layer.target].size_bytes, i)
            sources = [place[graph.stored(source)] for source in layer.sources]
            for source in set(sources) - set(graph.constants):
                dies[source] = i
                # A source may be there twice: what either of its readers needs, counts.
                allowed = [s for name, s in zip(sources, low.slack, strict=True) if name == source]
                if None not in allowed:
                    slack[layer.target, source] = max(s for s in allowed if s is not None)
            if low.scratch_bytes:
                create(layer_scratch(layer.name), low.scratch_bytes, i)
        elif isinstance(step, MoveStep):
            after = place[step.target] = moved(step.target)
            size = sizes[step.target]
            create(after, size, i)
            dies[step.target] = i
            slack[after, step.target] = -size  # a move may overlap as it likes
        elif isinstance(step, SumStep):
            name = sum_buffer(step.tensor)
            create(name, 4 * step.length, i)
            dies[place[graph.stored(step.tensor)]] = i
            monitor.add(name)
        elif isinstance(step, DistanceStep):
            assert distance is not None
            create(SCRATCH, distance.scratch_bytes, i)
            monitor.add(SCRATCH)
            dies[sum_buffer(step.tensor)] = i
            dies[place[step.logits]] = i
        else:
            for buffer in heads[step.index].buffers:
                create(buffer.name, buffer.size_bytes, i)
                monitor.add(buffer.name)
            for tensor in (step.tap.before, step.tap.after):
                dies[sum_buffer(tensor)] = i
            if step.logits:
                dies[place[step.logits]] = i
    for name in results:
        dies[place[graph.stored(name)]] = len(steps) + 1
    if end_bytes:
        create(END_SCRATCH, end_bytes, len(steps) + 1)
    buffers = [Buffer(name, sizes[name], born[name], dies[name]) for name in born]
    return Lives(
        [b for b in buffers if b.name not in monitor],
        [b for b in buffers if b.name in monitor],
        slack,
    )
