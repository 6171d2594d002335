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
