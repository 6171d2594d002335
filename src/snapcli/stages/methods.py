"""Which methods there are, and which of them a network can be judged by."""

from collections.abc import Callable, Sequence
from functools import partial

from snapcli.baselines.ash import Ash
from snapcli.baselines.energy import Energy
from snapcli.baselines.entropy import Entropy
from snapcli.baselines.mahalanobis import Mahalanobis
from snapcli.baselines.mahalanobis_full import MahalanobisFull
from snapcli.baselines.max_probability import MaxProbability
from snapcli.baselines.method import Method
from snapcli.baselines.odin_lite import OdinLite
from snapcli.baselines.react import ReAct
from snapcli.baselines.snap import Deployed, Hybrid, Snap, Surprise
from snapcli.baselines.temperature import Temperature
from snapcli.config import HEADS, MAPS
from snapcli.errors import UsageError, suggestion
from snapcli.stages.observe import Network, surprisal_by

Make = Callable[[], Method]
REFERENCE = MaxProbability.name
SNAP, DEPLOYED = "snap", "snap-deployed"
_MAPS = tuple(f"{SNAP}-{kind}" for kind in MAPS if kind != "temperature")
_HEADS = tuple(f"{SNAP}-{kind}" for kind in HEADS)
SINGLE_PASS = (
    *(REFERENCE, "entropy", "temperature", "energy", "odin-lite"),
    *("mahalanobis", "mahalanobis-full", "react", "ash"),
    *(SNAP, DEPLOYED, "snap-s", *_MAPS, *_HEADS, "hybrid"),
)
_LINK = "the link sends logits, surprisals and U alone"
_NO_HEADS = "the run has no such heads, or its int8 graph does not show their taps"
_NO_DEVICE = "the float model has no U of the device"
_NO_LAST = "the logits do not come from a fully connected layer"


def head_kinds(names: Sequence[str], own: str) -> tuple[str, ...]:
    """The kinds of heads besides the run's own that these methods need."""
    return tuple(kind for kind in HEADS if kind != own and f"{SNAP}-{kind}" in names)


def single_pass(network: Network) -> dict[str, Make | str]:
    """{name: how to make the method, or why this network cannot be judged by it}."""
    last = network.last
    found: dict[str, Make | str] = {
        REFERENCE: MaxProbability,
        "entropy": Entropy,
        "temperature": Temperature,
        "energy": Energy,
        "odin-lite": OdinLite,
        "mahalanobis": partial(Mahalanobis, network.taps),
        "mahalanobis-full": partial(MahalanobisFull, network.taps),
        "react": partial(ReAct, last) if last else _NO_LAST,
        "ash": partial(Ash, last) if last else _NO_LAST,
        SNAP: partial(Snap, SNAP, "auto"),
        DEPLOYED: partial(Deployed, DEPLOYED, "auto") if network.is_integer else _NO_DEVICE,
        "snap-s": partial(Surprise, "snap-s"),
        "hybrid": partial(Hybrid, network.taps),
    }
    for name in _MAPS:
        found[name] = partial(Snap, name, name.removeprefix(f"{SNAP}-"))
    for name in _HEADS:
        kind = name.removeprefix(f"{SNAP}-")
        if kind == network.own_head:
            found[name] = partial(Snap, name, "auto")
        elif kind in network.heads:
            found[name] = partial(Snap, name, "auto", surprisal_by(kind))
        else:
            found[name] = _NO_HEADS
    return {name: found[name] for name in SINGLE_PASS}


def over_the_link(network: Network) -> dict[str, Make | str]:
    """As single_pass(), of what a device sends."""
    found = single_pass(network)
    for name in ("mahalanobis", "mahalanobis-full", "react", "ash", "hybrid"):
        found[name] = _LINK
    for name in _HEADS:
        if isinstance(found[name], str):
            found[name] = f"the device has {network.own_head} heads"
    return found


def chosen(wanted: Sequence[str], trained: Sequence[str]) -> tuple[str, ...]:
    """The names that `all`, `single-pass` or names stand for, in the order of the table; trained:
    those that need a training of their own. Max-probability and snap are always among them: the
    others are compared with both."""
    known = (*SINGLE_PASS, *trained)
    groups = {"all": known, "single-pass": SINGLE_PASS, "trained": tuple(trained)}
    names = {REFERENCE, SNAP}
    for name in wanted:
        if name not in groups and name not in known:
            raise UsageError(f"there is no method '{name}'", suggestion(name, (*groups, *known)))
        names |= set(groups.get(name, (name,)))
    return tuple(name for name in known if name in names)
