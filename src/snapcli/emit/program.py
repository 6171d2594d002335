"""The network of a graph as steps of C with a place for every buffer."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from snapcli.emit.energies import lower_head
from snapcli.emit.lowering import DistanceSite, HeadSite, KernelSet, Lowered, LoweredHead
from snapcli.emit.names import c_names, energy_name, head_name, table_name
from snapcli.emit.steps import MoveStep, Step, layer_scratch, lives, order, sum_buffer
from snapcli.graph.fusion import fuse_residuals
from snapcli.graph.graph import Graph, Layer
from snapcli.graph.order import smallest_order
from snapcli.graph.plan import Plan, plan_arena
from snapcli.monitor.body import Body

# A move costs time, so one that saves less than this share of the arena is not made.
_WORTH = 0.01
# Moves whose worth is looked at, largest first; fewer in a large network, where each look
# takes long.
_TRIES = 48
_TRIED_LAYERS = 2400


Arrangement = tuple[Plan, Plan, list[Step]]


@dataclass(frozen=True)
class Program:
    """graph: as it is computed, layers fused. results: tensors that the caller reads at the end.

    pointers: the C expression of each tensor's first element. lowered is by layer name, heads
    by tap, distance what maps read of it. plain is the plan without the monitor's
    buffers, full the one with them.
    """

    graph: Graph
    body: Body | None
    results: tuple[str, ...]
    kernels: KernelSet
    pointers: dict[str, str]
    lowered: dict[str, Lowered]
    heads: tuple[LoweredHead, ...]
    distance: Lowered | None
    steps: list[Step]
    plain: Plan
    full: Plan

    @property
    def outputs(self) -> tuple[str, ...]:
        """The results that lie in the arena for the caller; a monitor hands out the logits."""
        return self.results[1:] if self.body else self.results

    @property
    def live_bytes(self) -> int:
        """The largest set of tensors and scratch alive at once: without overlaps no arena can be
        smaller. A tensor that moves counts once."""
        inner = self.full.timeline()[1:-1]
        steps = zip(self.steps, inner, strict=True)
        return max((size for step, size in steps if not isinstance(step, MoveStep)), default=0)


def build_program(
    graph: Graph, body: Body | None, kernels: KernelSet, end_bytes: int = 0
) -> Program:
    """Layers are fused where the kernel set can do that and the arena does not grow by it.

    end_bytes: of the arena, at the offset of END_SCRATCH, for whoever reads the results.
    """
    results = body.results if body else tuple(dict.fromkeys(graph.outputs.values()))
    program = _build(graph, body, results, kernels, end_bytes)
    visible = {*results, *(body.tapped if body else ())}
    fused = fuse_residuals(graph, visible, kernels.fuses)
    if len(fused.layers) < len(graph.layers):
        other = _build(fused, body, results, kernels, end_bytes)
        if other.full.arena_bytes <= program.full.arena_bytes:
            return other
    return program


def build_monitor(body: Body, kernels: KernelSet) -> Program:
    """What comes behind the layers alone: all tensors that it reads are inputs, which the caller
    has elsewhere, so that the arena is that of the monitor's own buffers."""
    # The logits first: no head has to wait then, and a sum dies with its last head.
    sides = [name for tap in body.taps for name in (tap.before, tap.after)]
    sides += [body.distance.tensor] if body.distance else []
    names = tuple(dict.fromkeys((body.logits_tensor, *sides)))
    tensors = {name: body.graph.tensors[name] for name in names}
    graph = Graph(tensors, (), names, {"logits": body.logits_tensor}, {})
    results, pointers = (body.logits_tensor,), c_names(names)
    heads, distance = _monitor_parts(body, pointers, kernels)
    steps = order(graph, (), body, ())
    plan = plan_arena(lives(graph, results, steps, {}, heads, distance).monitor)
    return Program(
        graph, body, results, kernels, pointers, {}, heads, distance, steps, plain=plan, full=plan
    )


def _build(
    graph: Graph,
    body: Body | None,
    results: tuple[str, ...],
    kernels: KernelSet,
    end_bytes: int,
) -> Program:
    named = c_names(graph.tensors)
    pointers = {name: named[graph.stored(name)] for name in graph.tensors}
    lowered = {
        layer.name: kernels.lower(layer, graph, pointers, layer_scratch(pointers[layer.target]))
        for layer in graph.layers
    }
    heads, distance = _monitor_parts(body, pointers, kernels)

    def arrange(layers: tuple[Layer, ...], moves: Collection[str]) -> Arrangement:
        steps = order(graph, layers, body, moves)
        alive = lives(graph, results, steps, lowered, heads, distance, end_bytes)
        plain = plan_arena(alive.network, slack=alive.slack)
        full = plan_arena(alive.network, alive.monitor, slack=alive.slack) if body else plain
        return plain, full, steps

    def joint_bytes(layer: Layer, dying: Collection[str]) -> int:
        """The least that target and dying sources need together."""
        low = lowered[layer.name]
        size = graph.tensors[layer.target].size_bytes
        apart, overlapped = 0, 0
        for name in dying:
            allowed = [
                slack
                for source, slack in zip(layer.sources, low.slack, strict=True)
                if graph.stored(source) == name
            ]
            if None in allowed or overlapped:
                apart += graph.tensors[name].size_bytes
            else:
                overlapped = max(s for s in allowed if s is not None)
                overlapped += graph.tensors[name].size_bytes
        return apart + max(size, overlapped) + low.scratch_bytes

    best = arrange(graph.layers, ())
    chosen = graph.layers
    reordered = smallest_order(graph, results, joint_bytes)
    if reordered != graph.layers:
        other = arrange(reordered, ())
        if other[1].arena_bytes < best[1].arena_bytes:
            best, chosen = other, reordered
    moves = _movable(chosen, graph, lowered)
    if moves:
        best = _with_moves(best, lambda kept: arrange(chosen, kept), moves, graph)
    plain, full, steps = best
    parts = (lowered, heads, distance)
    return Program(graph, body, results, kernels, pointers, *parts, steps, plain=plain, full=full)


def _monitor_parts(
    body: Body | None, pointers: dict[str, str], kernels: KernelSet
) -> tuple[tuple[LoweredHead, ...], Lowered | None]:
    """The heads, and the distance where there is one."""
    if body is None:
        return (), None
    heads = tuple(lower_head(kernels, site) for site in _sites(body, pointers))
    if body.distance is None:
        return heads, None
    name = body.distance.tensor
    site = DistanceSite(
        head=body.distance.parameters,
        total=sum_buffer(pointers[name]),
        bound=_largest_sum(body, name),
        answer=_answer(body, pointers),
    )
    return heads, kernels.lower_distance(site)


def _answer(body: Body, pointers: dict[str, str]) -> str:
    """The predicted class, for what needs it before the end."""
    return f"snapuq_argmax_s8({pointers[body.logits_tensor]}, SNAP_MODEL_CLASSES)"


def _sites(body: Body, pointers: dict[str, str]) -> list[HeadSite]:
    predicted = _answer(body, pointers)
    sites = []
    for i, (tap, head) in enumerate(zip(body.taps, body.heads, strict=True)):
        before, after = pointers[tap.before], pointers[tap.after]
        sites.append(
            HeadSite(
                head,
                i,
                head_name(after),
                energy_name(after),
                table_name(after),
                (sum_buffer(before), sum_buffer(after)),
                (_largest_sum(body, tap.before), _largest_sum(body, tap.after)),
                predicted if head.residual.class_mean.size else "0",
                f"result->surprisal_q16[{i}]",
            )
        )
    return sites


def _largest_sum(body: Body, name: str) -> int:
    """The largest size of a tensor's pooled sums; deviations behind them are no larger."""
    tensor = body.graph.tensors[name]
    return tensor.positions * max(127 - tensor.zero_point, 128 + tensor.zero_point)


def _movable(layers: tuple[Layer, ...], graph: Graph, lowered: dict[str, Lowered]) -> list[str]:
    """Targets that may have to start before their source: a chain of them drifts downwards."""
    return [
        layer.target
        for layer in layers
        if any(lowered[layer.name].slack) and graph.tensors[layer.target].dtype == "int8"
    ]


def _with_moves(
    still: Arrangement,
    arrange: Callable[[Collection[str]], Arrangement],
    candidates: list[str],
    graph: Graph,
) -> Arrangement:
    """The arrangement with as few moves as reach the smallest arena, or nearly so."""
    best = arrange(candidates)
    limit = best[1].arena_bytes * (1 + _WORTH)
    if still[1].arena_bytes <= limit:
        return still
    moves = sorted(candidates, key=lambda name: -graph.tensors[name].size_bytes)
    for name in moves[: max(1, min(_TRIES, _TRIED_LAYERS // len(graph.layers)))]:
        fewer = [other for other in candidates if other != name]
        tried = arrange(fewer)
        if tried[1].arena_bytes <= limit:
            best, candidates = tried, fewer
    return best
