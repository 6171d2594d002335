"""Which configurations an ablation compares."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.config import HEADS, MAPS, MEAN_DEVIATION, MINIMAL
from snapcli.errors import UsageError
from snapcli.judging.ablations import (
    OWN_HEADS,
    RAW,
    Configuration,
    RunFacts,
    configurations,
    spread_letters,
)
from snapcli.judging.refit import HeadSpec
from snapcli.models.backbone import Tap

E, M1, M2, P = (Tap(f"b{i}", f"b{i + 1}", 16) for i in range(4))
LETTERS = {"E": E, "M": M1, "M1": M1, "M2": M2, "P": P}
OWN = HeadSpec((M1, P), "gaussian")
KNOWN = RunFacts(
    own=OWN,
    as_trained=True,
    map="gated-taps",
    deployed_map="gated-taps",
    letters=LETTERS,
    widths={"b0": 8, "b1": 8, "b2": 24, "b3": 24, "b4": 64},
    minimal=HeadSpec((replace(P, rank=32),), MINIMAL),
)


def by_name(kind: str, known: RunFacts = KNOWN) -> dict[str, Configuration]:
    found = configurations(kind, known)
    names = {row.name: row for row in found}
    assert len(names) == len(found)
    (reference,) = (row for row in found if row.is_reference)
    assert reference.precision == "int8"
    return names


def taps_of(row: Configuration) -> tuple[Tap, ...]:
    assert row.heads is not None
    return row.heads.taps


def test_taps_are_those_that_the_backbone_has() -> None:
    found = by_name("taps")
    assert list(found) == ["P", "M", "M,P", "E,M,P", "E,M1,M2,P", OWN_HEADS]
    assert found["M,P"].is_reference
    assert taps_of(found["E,M1,M2,P"]) == (E, M1, M2, P)
    assert found[OWN_HEADS].heads is None
    # Five letters that are five blocks.
    five = replace(KNOWN, letters={**LETTERS, "M": Tap("b2", "inner", 16)})
    assert "E,M1,M,M2,P" in by_name("taps", five)


def test_the_run_itself_is_a_row_whatever_its_taps_are() -> None:
    other = replace(KNOWN, own=replace(OWN, taps=(E, P)), as_trained=False)
    found = by_name("taps", other)
    assert found["as in the run"].is_reference
    assert OWN_HEADS not in found


def test_ranks_are_cut_to_the_blocks_and_come_once() -> None:
    found = by_name("rank")
    assert list(found)[:-1] == ["rank 0", "rank 4", "rank 8", "rank 8/16", "rank 8/24"]
    assert [tap.rank for tap in taps_of(found["rank 8/24"])] == [8, 24]
    # Rank 16 is cut at the first tap of the run, too.
    assert found["rank 8/16"].is_reference


def test_heads_of_every_kind() -> None:
    found = by_name("head")
    assert {*HEADS, *(f"{kind}, class mean" for kind in HEADS)} <= set(found)
    assert found["gaussian"].is_reference
    assert taps_of(found["minimal, class mean"]) == KNOWN.minimal.taps  # type: ignore[union-attr]
    wide = found["gaussian, deviations"].heads
    assert wide == replace(OWN, statistics=MEAN_DEVIATION)
    assert MINIMAL not in by_name("head", replace(KNOWN, minimal=None))


def test_maps_share_the_heads_of_the_run() -> None:
    found = by_name("map")
    assert list(found) == [RAW, *MAPS]
    assert all(row.heads is None for row in found.values())
    assert found["gated-taps"].is_reference


def test_a_map_that_does_not_listen_judges_nothing_but_maps() -> None:
    deaf = replace(KNOWN, map="gated", deployed_map="temperature")
    assert by_name("map", deaf)["temperature"].is_reference
    assert by_name("blend", deaf)["gated, S and confidence"].is_reference
    assert {row.map for row in configurations("rank", deaf)} == {"gated"}


def test_precisions_are_of_the_same_heads() -> None:
    found = by_name("quant")
    assert list(found) == ["float32", "float16", "int8"]
    assert found["int8"].is_reference


def test_one_configuration_is_no_ablation() -> None:
    alone = replace(
        KNOWN, own=replace(OWN, taps=(P,)), letters=spread_letters((P,)), as_trained=False
    )
    with pytest.raises(UsageError, match="nothing to compare"):
        configurations("taps", alone)


@given(st.integers(1, 30))
def test_letters_are_spread_by_depth(count: int) -> None:
    candidates = tuple(Tap(f"{i}", f"{i + 1}", 8) for i in range(count))
    found = list(spread_letters(candidates).values())
    depths = [candidates.index(tap) for tap in found]
    assert depths == sorted(depths)
    assert (depths[0], depths[-1]) == (0, count - 1)
    assert len(set(depths)) == min(count, 5)
