"""Which methods are asked, and why some cannot be."""

from dataclasses import dataclass

import pytest

from snapcli.baselines.last_layer import LastLayer
from snapcli.baselines.snap import Deployed
from snapcli.config import HEADS
from snapcli.errors import UsageError
from snapcli.stages.device_evidence import DeviceNetwork
from snapcli.stages.methods import (
    DEPLOYED,
    REFERENCE,
    SINGLE_PASS,
    SNAP,
    chosen,
    head_kinds,
    over_the_link,
    single_pass,
)
from snapcli.stages.observe import surprisal_by
from tests.unit.made_evidence import TAPS, last_layer, made_evidence

TRAINED = ("evidential", "deep-ensemble")


@dataclass(frozen=True)
class Made:
    taps: tuple[str, ...] = TAPS
    last: LastLayer | None = None
    own_head: str = "gaussian"
    heads: tuple[str, ...] = ()
    is_integer: bool = False


def test_single_pass_names_them_all_and_no_trained_one() -> None:
    assert chosen(["single-pass"], TRAINED) == SINGLE_PASS
    assert REFERENCE in SINGLE_PASS
    assert chosen(["all"], TRAINED) == (*SINGLE_PASS, *TRAINED)


@pytest.mark.parametrize("wanted", [(), ("entropy",), ("trained",), ("energy", "deep-ensemble")])
def test_what_others_are_compared_with_is_always_there(wanted: tuple[str, ...]) -> None:
    assert {REFERENCE, SNAP} <= set(chosen(wanted, TRAINED))
    named = {name for name in wanted if name != "trained"}
    assert named <= set(chosen(wanted, TRAINED))
    assert set(chosen(wanted, TRAINED)) <= {REFERENCE, SNAP, *named, *TRAINED}


def test_names_come_in_the_order_of_the_table_and_once() -> None:
    found = chosen(["ash", "entropy", "ash", "single-pass"], TRAINED)
    assert found == SINGLE_PASS


@pytest.mark.parametrize(
    ("wrong", "meant"), [("entropi", "entropy"), ("mahalanobi", "mahalanobis"), ("al", "all")]
)
def test_an_unknown_name_is_met_with_a_suggestion(wrong: str, meant: str) -> None:
    with pytest.raises(UsageError) as refused:
        chosen([wrong], TRAINED)
    assert wrong in refused.value.message
    assert meant in refused.value.hint


def test_every_method_can_be_made_and_has_its_name() -> None:
    found = single_pass(Made(last=last_layer(), heads=tuple(HEADS[1:]), is_integer=True))
    assert tuple(found) == SINGLE_PASS
    for name, make in found.items():
        assert not isinstance(make, str)
        assert make().name == name


def test_without_a_last_layer_features_lead_nowhere() -> None:
    found = single_pass(Made())
    assert {name for name in ("react", "ash") if isinstance(found[name], str)} == {"react", "ash"}


def test_other_heads_are_asked_only_where_there_are_some() -> None:
    found = single_pass(Made(heads=("huber",)))
    why = {name: make for name, make in found.items() if isinstance(make, str)}
    assert {f"snap-{kind}" for kind in HEADS if kind not in ("gaussian", "huber")} <= set(why)
    assert "snap-huber" not in why
    assert "snap-gaussian" not in why


def test_a_head_is_judged_by_its_own_surprisals() -> None:
    make = single_pass(Made(heads=("huber",)))["snap-huber"]
    assert not isinstance(make, str)
    with pytest.raises(KeyError, match=surprisal_by("huber")):
        make().fit(made_evidence().train, made_evidence().dev)


@pytest.mark.parametrize("own", ["gaussian", "huber"])
def test_heads_are_fitted_only_where_somebody_asks(own: str) -> None:
    assert head_kinds(("entropy", "snap"), own) == ()
    assert head_kinds(SINGLE_PASS, own) == tuple(kind for kind in HEADS if kind != own)
    assert head_kinds((f"snap-{own}",), own) == ()


def test_over_the_link_come_logits_surprisals_and_u() -> None:
    found = over_the_link(DeviceNetwork("student-t"))
    assert tuple(found) == SINGLE_PASS
    there = {name for name, make in found.items() if not isinstance(make, str)}
    assert {"max-probability", "energy", "snap-s", "snap-gated", "snap-student-t"} <= there
    assert not {"mahalanobis", "react", "ash", "hybrid", "snap-huber", "snap-gaussian"} & there
    assert "student-t" in str(found["snap-huber"])
    make = found[DEPLOYED]
    assert not isinstance(make, str)
    assert isinstance(make(), Deployed)


def test_the_float_model_has_no_u_of_the_device() -> None:
    assert isinstance(single_pass(Made())[DEPLOYED], str)
    assert not isinstance(single_pass(Made(is_integer=True))[DEPLOYED], str)
