"""The table of methods: which are asked, how they are made, and why some cannot be."""

from dataclasses import dataclass, replace

import pytest

from snapcli.config import HEADS, CalibrateOptions
from snapcli.errors import UsageError
from snapcli.judging.device_evidence import DeviceNetwork
from snapcli.methods.method import Method, Tuning
from snapcli.methods.network import surprisal_by
from snapcli.methods.shaped_features import LastLayer
from snapcli.methods.snap import DeployedForeign, DeployedSnap, Foreign, Snap
from snapcli.methods.table import (
    DEPLOYED,
    FOREIGN,
    GROUPS,
    REFERENCE,
    ROWS,
    SNAP,
    TABLE,
    Calibration,
    chosen,
    head_kinds,
    is_ours,
)
from tests.unit.made_evidence import TAPS, last_layer, made_evidence

SINGLE_PASS, TRAINED = GROUPS["single-pass"], GROUPS["trained"]
TUNING = Tuning({"map": ["gated"]}, {"map": "gated"}, "AUROC", 0.9)
CALIBRATION = Calibration(CalibrateOptions(alpha=0.3, weights="uniform"), "gated", TUNING)


@dataclass(frozen=True)
class Made:
    taps: tuple[str, ...] = TAPS
    last: LastLayer | None = None
    own_head: str = "gaussian"
    heads: tuple[str, ...] = ()
    has_heads: bool = True
    is_integer: bool = False
    shows_activations: bool = True


WHOLE = Made(last=last_layer(), heads=tuple(HEADS[1:]), is_integer=True)


def made(name: str, network: object = WHOLE, calibration: Calibration = CALIBRATION) -> Method:
    method = TABLE[name].make(network, calibration)  # type: ignore[arg-type]
    assert not isinstance(method, str), method
    return method


def refused(name: str, network: object, calibration: Calibration = CALIBRATION) -> str:
    why = TABLE[name].make(network, calibration)  # type: ignore[arg-type]
    return why if isinstance(why, str) else ""


# ---- Rows -------------------------------------------------------------------


def test_a_name_stands_for_one_method() -> None:
    assert len(TABLE) == len(ROWS)
    # Names that have meant several things are those of none.
    assert not {"mahalanobis", "ash", "base"} & set(TABLE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_says_what_it_is(row) -> None:
    assert row.score
    assert row.source
    assert row.needs
    assert (row.form is None) == bool(row.no_form)
    method = made(row.name)
    assert method.name == row.name
    assert method.source == row.source


def test_no_two_methods_compute_the_same() -> None:
    assert len({row.score for row in ROWS}) == len(ROWS)


# ---- Which are asked --------------------------------------------------------


def test_groups_name_them_all() -> None:
    assert chosen(["single-pass"]) == SINGLE_PASS
    assert REFERENCE in SINGLE_PASS
    assert chosen(["all"]) == (*SINGLE_PASS, *TRAINED) == tuple(TABLE)


@pytest.mark.parametrize("wanted", [("entropy",), ("trained",), ("energy", "deep-ensemble")])
def test_what_others_are_compared_with_is_always_there(wanted: tuple[str, ...]) -> None:
    assert {REFERENCE, SNAP} <= set(chosen(wanted))
    named = {name for name in wanted if name != "trained"}
    assert named <= set(chosen(wanted))
    assert set(chosen(wanted)) <= {REFERENCE, SNAP, *named, *TRAINED}


def test_names_come_in_the_order_of_the_table_and_once() -> None:
    assert chosen(["ash-s", "entropy", "ash-s", "single-pass"]) == SINGLE_PASS


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("entropi", "entropy"), ("mahalanobis", "mahalanobis-full"), ("ash", "ash-"), ("al", "all")],
)
def test_an_unknown_name_is_met_with_a_suggestion(wrong: str, meant: str) -> None:
    with pytest.raises(UsageError) as wronged:
        chosen([wrong])
    assert wrong in wronged.value.message
    assert meant in wronged.value.hint


def test_no_method_at_all_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="names no method"):
        chosen(())


@pytest.mark.parametrize("own", ["gaussian", "huber"])
def test_heads_are_fitted_only_where_somebody_asks(own: str) -> None:
    assert head_kinds(("entropy", "snap"), own) == ()
    assert head_kinds(SINGLE_PASS, own) == tuple(kind for kind in HEADS if kind != own)
    assert head_kinds((f"snap-{own}",), own) == ()


def test_ours_are_snap_and_its_variants() -> None:
    assert is_ours("snap")
    assert is_ours("snap-huber")
    assert not is_ours("hybrid")
    assert not is_ours("max-probability")
    assert not is_ours("snappy")


# ---- What a network can have ------------------------------------------------


def test_without_a_last_layer_features_lead_nowhere() -> None:
    why = {name: refused(name, Made()) for name in SINGLE_PASS}
    assert {n for n, w in why.items() if "fully connected" in w} == {"react", "ash-s", "ash-b"}


def test_other_heads_are_asked_only_where_there_are_some() -> None:
    missing = {name for name in SINGLE_PASS if "heads" in refused(name, Made(heads=("huber",)))}
    assert missing == {f"snap-{kind}" for kind in HEADS if kind not in ("gaussian", "huber")}


def test_a_head_is_judged_by_its_own_surprisals() -> None:
    with pytest.raises(KeyError, match=surprisal_by("huber")):
        made("snap-huber").fit(made_evidence().train, made_evidence().dev)


def test_over_the_link_come_logits_surprisals_and_u() -> None:
    device = DeviceNetwork("student-t")
    there = {name for name in SINGLE_PASS if not refused(name, device)}
    assert {"max-probability", "energy", "snap-s", "snap-gated", "snap-student-t"} <= there
    activations = {"mahalanobis-diagonal", "mahalanobis-full", "react", "ash-s", "ash-b", "hybrid"}
    assert not (activations | {"snap-huber", "snap-gaussian"}) & there
    assert "student-t" in refused("snap-huber", device)
    assert isinstance(made(DEPLOYED, device), DeployedSnap)


def test_no_distance_comes_over_the_link() -> None:
    asked = replace(CALIBRATION.asked, third="mahalanobis")
    with_distance = Calibration(asked, "gated")
    device = DeviceNetwork("gaussian")
    assert "link" in refused(SNAP, device, with_distance)
    assert not refused("snap-logistic", device, with_distance)
    assert not refused(SNAP, device, Calibration(replace(asked, third="energy"), "gated"))


def test_the_float_model_has_no_u_of_the_device() -> None:
    assert refused(DEPLOYED, Made())
    assert not refused(DEPLOYED, Made(is_integer=True))


def test_f_is_that_of_the_device_where_there_is_one() -> None:
    assert isinstance(made(FOREIGN, Made()), Foreign)
    for network in (Made(is_integer=True), DeviceNetwork("gaussian")):
        assert isinstance(made(FOREIGN, network), DeployedForeign)


def test_a_monitor_without_heads_leaves_what_reads_none() -> None:
    network = Made(taps=(), has_heads=False, is_integer=True)
    device = DeviceNetwork("gaussian", has_heads=False)
    evidence = Calibration(CalibrateOptions(taps="none"), "evidence")
    for name in ("snap-s", "snap-gated", "snap-logistic", "snap-percentile", "hybrid"):
        assert "no heads" in refused(name, network, evidence)
        assert refused(name, device, evidence)
    assert "no heads" in refused("mahalanobis-full", network, evidence)
    for name in ("snap-class-gated", "snap-evidence", "snap", FOREIGN, DEPLOYED, "entropy"):
        assert not refused(name, network, evidence), name


# ---- As the run was calibrated ----------------------------------------------


def options(name: str, calibration: Calibration = CALIBRATION) -> CalibrateOptions:
    method = made(name, calibration=calibration)
    assert isinstance(method, Snap)
    return method.options


def test_snap_is_the_run_s() -> None:
    assert options(SNAP) == CALIBRATION.asked.with_map("gated")
    assert made(SNAP).tuning_ == TUNING
    assert options("snap-gaussian") == options(SNAP)


@pytest.mark.parametrize("kind", ["logistic", "isotonic", "gated-taps"])
def test_another_map_changes_the_map_alone(kind: str) -> None:
    assert options(f"snap-{kind}") == replace(options(SNAP), map=kind)
    assert made(f"snap-{kind}").tuning_ is None


def test_other_heads_are_calibrated_as_the_run_was_asked_to() -> None:
    assert options("snap-huber") == CALIBRATION.asked
    by_name = Calibration(replace(CALIBRATION.asked, map="isotonic"), "isotonic")
    assert options("snap-huber", by_name).map == "isotonic"


def test_a_third_input_goes_to_the_maps_that_take_one() -> None:
    third = Calibration(replace(CALIBRATION.asked, third="energy"), "gated-taps")
    found = {name: options(name, third).third for name in ("snap", "snap-gated", "snap-logistic")}
    assert found == {"snap": "energy", "snap-gated": "energy", "snap-logistic": "none"}
    assert options("hybrid", third).third == "mahalanobis"
