"""plan_arena: nothing overlaps, nothing is wasted without need."""

from hypothesis import given
from hypothesis import strategies as st

from snapcli.graph.plan import ALIGNMENT, Buffer, Plan, plan_arena

lives = st.tuples(st.integers(0, 400), st.integers(0, 12), st.integers(0, 5))


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[Buffer], list[Buffer]]:
    sizes = [draw(st.lists(lives, max_size=8)) for _ in range(2)]
    first, second = (
        [Buffer(f"{g}.{i}", size, start, start + length) for i, (size, start, length) in each]
        for g, each in enumerate(map(list, map(enumerate, sizes)))
    )
    return first, second


def together(a: Buffer, b: Buffer) -> bool:
    return a.first <= b.last and b.first <= a.last


def overlap(a: Buffer, b: Buffer, plan: Plan) -> bool:
    start_a, start_b = plan.offsets[a.name], plan.offsets[b.name]
    return start_a < start_b + b.size_bytes and start_b < start_a + a.size_bytes


@given(groups())
def test_buffers_that_live_together_lie_apart_and_aligned(
    pair: tuple[list[Buffer], list[Buffer]],
) -> None:
    plan = plan_arena(*pair)
    buffers = [*pair[0], *pair[1]]
    assert set(plan.offsets) == {b.name for b in buffers}
    for i, a in enumerate(buffers):
        assert plan.offsets[a.name] % ALIGNMENT == 0
        assert plan.offsets[a.name] >= 0
        assert plan.offsets[a.name] + a.size_bytes <= plan.arena_bytes
        for b in buffers[:i]:
            assert not (together(a, b) and overlap(a, b, plan))


@given(groups())
def test_the_arena_lies_between_the_largest_live_set_and_the_sum(
    pair: tuple[list[Buffer], list[Buffer]],
) -> None:
    buffers = [*pair[0], *pair[1]]
    live = [
        sum(b.size_bytes for b in buffers if b.first <= step <= b.last)
        for step in {b.first for b in buffers}
    ]
    arena = plan_arena(*pair).arena_bytes
    assert arena >= max(live, default=0)
    assert arena <= sum(-(-b.size_bytes // ALIGNMENT) * ALIGNMENT for b in buffers)


@given(groups())
def test_a_later_group_never_moves_an_earlier_one(pair: tuple[list[Buffer], list[Buffer]]) -> None:
    alone, both = plan_arena(pair[0]), plan_arena(*pair)
    assert alone.offsets.items() <= both.offsets.items()
    assert alone.arena_bytes <= both.arena_bytes


def test_a_chain_needs_only_its_largest_neighbours() -> None:
    sizes = [64, 256, 128, 32, 8]
    chain = [Buffer(str(i), size, i, i + 1) for i, size in enumerate(sizes)]
    assert plan_arena(chain).arena_bytes == 256 + 128


def test_nothing_needs_no_arena() -> None:
    assert plan_arena([]) == Plan((), {}, 0)


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[Buffer], dict[tuple[str, str], int]]:
    """A chain of tensors, some read again later; each may run into the one before it."""
    sizes = draw(st.lists(st.integers(1, 400), min_size=1, max_size=10))
    extra = [draw(st.integers(0, 3)) for _ in sizes]
    buffers = [
        Buffer(str(i), size, i, i + 1 + more)
        for i, (size, more) in enumerate(zip(sizes, extra, strict=True))
    ]
    slack = {(str(i), str(i - 1)): draw(st.integers(0, sizes[i])) for i in range(1, len(sizes))}
    return buffers, slack


@given(chains())
def test_a_target_runs_into_a_dying_source_with_its_slack_only(
    drawn: tuple[list[Buffer], dict[tuple[str, str], int]],
) -> None:
    buffers, slack = drawn
    plan = plan_arena(buffers, slack=slack)
    for i, a in enumerate(buffers):
        assert plan.offsets[a.name] % ALIGNMENT == 0
        assert 0 <= plan.offsets[a.name] <= plan.arena_bytes - a.size_bytes
        for b in buffers[:i]:
            if together(a, b) and overlap(a, b, plan):
                assert b.last == a.first
                assert plan.offsets[a.name] + slack[a.name, b.name] <= plan.offsets[b.name]
    assert plan.arena_bytes <= plan_arena(buffers).arena_bytes


def test_a_chain_in_place_needs_its_largest_tensor_and_the_slack() -> None:
    chain = [Buffer(str(i), 800, i, i + 1) for i in range(3)]
    slack = {("1", "0"): 96, ("2", "1"): 16}
    assert plan_arena(chain, slack=slack).arena_bytes == 800 + 96 + 16


def test_a_plan_tells_its_timeline_and_its_peak() -> None:
    plan = plan_arena([Buffer("a", 80, 0, 1), Buffer("b", 16, 1, 2), Buffer("c", 8, 2, 3)])
    assert plan.timeline() == [80, 96, 24, 8]
    assert plan.arena_bytes == 96
    assert plan.peak == 1
    assert {b.name for b in plan.alive(1)} == {"a", "b"}
