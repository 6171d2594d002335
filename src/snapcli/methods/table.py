"""The table of methods: the only list of them that there is.

A row says what a method computes and what it needs, how it is made for a network, what it is in
integers, and so how it is priced. eval, cost, ablate, attach, report and `snap methods` read it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NewType

from snapcli.config import HEADS, MAHALANOBIS, MAPS, CalibrateOptions
from snapcli.errors import UsageError, suggestion
from snapcli.methods import forms
from snapcli.methods.logits import Entropy, FreeEnergy, MaxProbability, OdinLite, Temperature
from snapcli.methods.mahalanobis import MahalanobisDiagonal, MahalanobisFull
from snapcli.methods.method import Method, SinglePass, TrainedMethod, Tuning
from snapcli.methods.network import ObservedNetwork, surprisal_by
from snapcli.methods.shaped_features import AshB, AshS, ReAct
from snapcli.methods.snap import DeployedForeign, DeployedSnap, Foreign, Snap, Surprise
from snapcli.methods.trained import (
    deep_ensemble,
    early_exit,
    evidential,
    g_odin,
    hydra,
    mc_dropout,
    qute,
    tiny_deep_ensemble,
)
from snapcli.methods.trained.deep_ensemble import DeepEnsemble
from snapcli.methods.trained.design import Design
from snapcli.methods.trained.early_exit import EarlyExit
from snapcli.methods.trained.evidential import Evidential
from snapcli.methods.trained.g_odin import GOdin
from snapcli.methods.trained.hydra import Hydra
from snapcli.methods.trained.mc_dropout import McDropout
from snapcli.methods.trained.observe import logits, passes, perturbed
from snapcli.methods.trained.qute import Qute
from snapcli.methods.trained.tiny_deep_ensemble import TinyDeepEnsemble

# The score that gains are counted from, ours as the run has it, and U as its device sends it.
REFERENCE, SNAP, DEPLOYED = MaxProbability.name, "snap", "snap-deployed"
FOREIGN = "snap-foreign"
SINGLE, TRAINED = "single-pass", "trained"
# What a method looks at in the run's network, or that it needs another.
OF_LOGITS, OF_FEATURES, OF_TAPS, OF_HEADS = "logits", "features", "taps", "heads"
OF_ITS_OWN = "own network"

OURS = "not published: docs/method.md"
_PAPERS = ("logistic", "logistic-s", "isotonic")

WhyNot = NewType("WhyNot", str)
_LINK = WhyNot("the link sends logits, surprisals, U and F alone")
_NO_HEADS = WhyNot("the run has no such heads, or its int8 graph does not show their taps")
_NO_TAPS = WhyNot("the monitor has no heads")
_NO_DEVICE = WhyNot("the float model has no U of the device")
_NO_LAST = WhyNot("the logits do not come from a fully connected layer")
_NO_KERNEL = "no integer kernel computes it here"
_NO_INT8 = "its network has no int8 form here"


@dataclass(frozen=True)
class Calibration:
    """How a run was calibrated: its options, the map that was taken, and how, if by `auto`."""

    asked: CalibrateOptions
    map: str
    tuning: Tuning | None = None

    @property
    def taken(self) -> CalibrateOptions:
        return self.asked.with_map(self.map)


Make = Callable[[ObservedNetwork, Calibration], Method | WhyNot]


@dataclass(frozen=True, eq=False)
class Row:
    """name: as on the command line. score: what it computes. source: where it was published, if
    it was. needs: logits, features (what the last layer takes), taps (their pooled channels),
    heads, or a network of its own. make: for a network, or why it cannot be had there. form: in
    integers, None where there is none, and why. trains: the network that it needs trained, None
    where the run's does. variant: whether it is `snap` with one thing changed."""

    name: str
    score: str
    source: str
    needs: str
    make: Make
    form: forms.Form | None = None
    no_form: str = ""
    trains: Design | None = None
    variant: bool = False

    @property
    def kind(self) -> str:
        return TRAINED if self.trains else SINGLE


def _plain(method: type[SinglePass], score: str, form: forms.Form) -> Row:
    return Row(method.name, score, method.source, OF_LOGITS, lambda n, c: method(), form)


def _at_taps(
    method: type[MahalanobisDiagonal] | type[MahalanobisFull],
    score: str,
    form: forms.Form | None = None,
) -> Row:
    def make(network: ObservedNetwork, calibration: Calibration) -> Method | WhyNot:
        if not network.shows_activations:
            return _LINK
        return method(network.taps) if network.taps else _NO_TAPS

    return Row(method.name, score, method.source, OF_TAPS, make, form, "" if form else _NO_KERNEL)


def _at_last_layer(
    method: type[ReAct] | type[AshS], score: str, form: forms.Form | None = None
) -> Row:
    def make(network: ObservedNetwork, calibration: Calibration) -> Method | WhyNot:
        if not network.shows_activations:
            return _LINK
        return method(network.last) if network.last else _NO_LAST

    no_form = "" if form else _NO_KERNEL
    return Row(method.name, score, method.source, OF_FEATURES, make, form, no_form)


def _snap(
    name: str,
    score: str,
    options: Callable[[Calibration], CalibrateOptions],
    form: forms.Form = forms.with_own_heads,
    source: str = Snap.source,
    variant: bool = True,
) -> Row:
    """With the run's heads."""

    def make(network: ObservedNetwork, calibration: Calibration) -> Method | WhyNot:
        chosen = options(calibration)
        if not network.has_heads and chosen.reads_heads:
            return _NO_TAPS
        if chosen.reads_distance and not network.shows_activations:
            return _LINK
        tuning = calibration.tuning if chosen == calibration.taken else None
        return Snap(name, chosen, tap=_last_tap(network), tuning=tuning, source=source)

    return Row(name, score, source, OF_HEADS, make, form, variant=variant)


def _with_map(kind: str) -> Row:
    source = Snap.source if kind in _PAPERS else OURS
    score = f"U by the map {kind}"
    return _snap(f"{SNAP}-{kind}", score, lambda c: c.asked.with_map(kind), source=source)


def _with_heads(kind: str) -> Row:
    """The run's own where they are of that kind, else such as were fitted after the training."""
    name = f"{SNAP}-{kind}"

    def make(network: ObservedNetwork, calibration: Calibration) -> Method | WhyNot:
        if kind == network.own_head:
            return as_in_run.make(network, calibration)
        if kind in network.heads:
            return Snap(name, calibration.asked, surprisal_by(kind), _last_tap(network))
        if network.shows_activations:
            return _NO_HEADS
        return WhyNot(f"the device has {network.own_head} heads")

    score = f"U with {kind} heads"
    as_in_run = _snap(name, score, lambda c: c.taken)
    form = forms.with_heads(kind)
    return Row(name, score, Snap.source, OF_HEADS, make, form, variant=True)


def _last_tap(network: ObservedNetwork) -> str:
    return network.taps[-1] if network.taps else ""


def _deployed(network: ObservedNetwork, calibration: Calibration) -> Method | WhyNot:
    return DeployedSnap(DEPLOYED, calibration.taken) if network.is_integer else _NO_DEVICE


def _surprise(network: ObservedNetwork, calibration: Calibration) -> Method | WhyNot:
    return Surprise("snap-s", calibration.taken) if network.has_heads else _NO_TAPS


def _foreign(network: ObservedNetwork, calibration: Calibration) -> Method:
    if network.is_integer:
        return DeployedForeign(FOREIGN, OURS)
    return Foreign(FOREIGN, calibration.taken, tap=_last_tap(network), source=OURS)


def _trained(
    method: type[TrainedMethod], score: str, trains: Design, form: forms.Form | None = None
) -> Row:
    no_form = "" if form else _NO_INT8

    def make(network: ObservedNetwork, calibration: Calibration) -> Method:
        return method()

    return Row(method.name, score, method.source, OF_ITS_OWN, make, form, no_form, trains)


_MEAN = "entropy of the mean softmax of"
ROWS: tuple[Row, ...] = (
    _plain(MaxProbability, "1 - max p", forms.max_probability),
    _plain(Entropy, "entropy of the softmax", forms.entropy),
    _plain(Temperature, "1 - max p of logits / T", forms.scaled),
    _plain(FreeEnergy, "free energy of logits / T", forms.energy),
    _plain(OdinLite, "1 - max p at a large T, no perturbation", forms.scaled),
    _at_taps(MahalanobisDiagonal, "distance to the nearest class, all taps, diagonal covariance"),
    _at_taps(
        MahalanobisFull,
        "distance to the nearest class, last tap, full covariance",
        forms.distance,
    ),
    _at_last_layer(ReAct, "energy with the largest features cut off", forms.clipped),
    _at_last_layer(AshS, "energy with the smallest features 0, the others scaled up"),
    _at_last_layer(AshB, "energy with the smallest features 0, the others alike", forms.pruned),
    _snap(SNAP, "U as the run was calibrated", lambda c: c.taken, forms.deployed, variant=False),
    Row(
        name=DEPLOYED,
        score="U as the device computes it",
        source=Snap.source,
        needs=OF_HEADS,
        make=_deployed,
        form=forms.deployed,
        variant=True,
    ),
    Row(
        name="snap-s",
        score="S itself, without map and confidence",
        source=Surprise.source,
        needs=OF_HEADS,
        make=_surprise,
        no_form="no firmware sends S alone",
        variant=True,
    ),
    Row(
        name=FOREIGN,
        score="F, how foreign the input is; no score of errors",
        source=OURS,
        needs=OF_HEADS,
        make=_foreign,
        no_form="no firmware sends F alone",
        variant=True,
    ),
    *(_with_map(kind) for kind in MAPS if kind != "temperature"),
    *(_with_heads(kind) for kind in HEADS),
    _snap(
        "hybrid",
        "U by the map gated with one more gate: mahalanobis-full",
        lambda c: replace(c.asked.with_map("gated"), third=MAHALANOBIS),
        source=OURS,
        variant=False,
    ),
    _trained(
        Evidential,
        "1 - max p of the Dirichlet that its evidence leads to",
        Design(evidential.build, evidential.EvidentialLesson, logits),
    ),
    _trained(
        McDropout,
        "entropy or mutual information over passes with dropout",
        Design(mc_dropout.build, observe=passes),
    ),
    _trained(
        DeepEnsemble,
        f"{_MEAN} networks trained apart",
        Design(deep_ensemble.build),
        forms.mean_entropy,
    ),
    _trained(
        EarlyExit,
        f"{_MEAN} exits at several depths",
        Design(early_exit.build),
        forms.mean_entropy,
    ),
    _trained(
        Hydra,
        f"{_MEAN} imitations of the ensemble",
        Design(hydra.build, hydra.Imitation),
        forms.mean_entropy,
    ),
    _trained(
        Qute,
        f"{_MEAN} last layers taught by exits",
        Design(qute.build, qute.Assisted, learner=qute.build_training),
        forms.mean_entropy,
    ),
    _trained(
        TinyDeepEnsemble,
        f"{_MEAN} a network with several norms",
        Design(tiny_deep_ensemble.build),
    ),
    _trained(
        GOdin,
        "decomposed confidence h / g of a perturbed input",
        Design(g_odin.build, g_odin.Decomposed, perturbed),
    ),
)
TABLE = {row.name: row for row in ROWS}
GROUPS = {
    "all": tuple(TABLE),
    SINGLE: tuple(row.name for row in ROWS if not row.trains),
    TRAINED: tuple(row.name for row in ROWS if row.trains),
}


def chosen(wanted: Sequence[str]) -> tuple[str, ...]:
    """The names that groups and names stand for, in the order of the table. Max-probability and
    snap are always among them: the others are compared with both."""
    names = {REFERENCE, SNAP}
    if not wanted:
        raise UsageError("--methods names no method", f"Known: {', '.join(GROUPS)}, or names.")
    for name in wanted:
        if name not in GROUPS and name not in TABLE:
            raise UsageError(f"there is no method '{name}'", _hint(name))
        names |= set(GROUPS.get(name, (name,)))
    return tuple(name for name in TABLE if name in names)


def _hint(name: str) -> str:
    several = [known for known in TABLE if known.startswith(f"{name}-")]
    if several:
        return f"There are {' and '.join(several)}."
    close = suggestion(name, (*GROUPS, *TABLE))
    return close if close.startswith("Did") else "snap methods lists them all."


def head_kinds(names: Sequence[str], own: str) -> tuple[str, ...]:
    """The kinds of heads besides the run's own that these methods need."""
    return tuple(kind for kind in HEADS if kind != own and f"{SNAP}-{kind}" in names)


def is_ours(name: str) -> bool:
    return name == SNAP or (name in TABLE and TABLE[name].variant)
