"""Options of `snap calibrate`."""

from dataclasses import dataclass, replace
from typing import ClassVar

from snapcli.config.option import StageOptions, check_limits, option
from snapcli.config.train import WEIGHTS
from snapcli.errors import ConfigError

AUTO, EVIDENCE = "auto", "evidence"
MAPS = (
    *("temperature", "gated", "gated-taps", "class-gated", EVIDENCE),
    *("logistic", "logistic-s", "isotonic", "percentile"),
)
NO_THIRD, ENERGY, MAHALANOBIS = THIRD_INPUTS = ("none", "energy", "mahalanobis")
_WITH_THIRD = (AUTO, "gated", "gated-taps")
# Maps that work without heads, the simplest first.
MAPS_WITHOUT_TAPS = ("temperature", "class-gated", EVIDENCE)
_WITHOUT_HEADS = (AUTO, *MAPS_WITHOUT_TAPS)
HIDDEN_MAX = 64
ALL_TAPS, NO_TAPS = TAPS = ("all", "none")
# Rules of the threshold with the target that each has if none is given.
THRESHOLDS = {
    "coverage": 0.9,
    "budget": 0.1,
    "risk": 0.05,
    "false-alarm": 0.05,
    "f1": 0.0,
    "youden": 0.0,
}
PROMISES = ("risk", "false-alarm")

_MAP, _THRESHOLD, _CONTROLLER = "Score and map", "Threshold", "Controller"


@dataclass(frozen=True)
class FitOptions:
    """How a map is fitted, whichever it is."""

    balanced: bool = True
    class_offsets: bool = True
    hidden: int = 0


@dataclass(frozen=True)
class CalibrateOptions(StageOptions):
    """The rules of the threshold: coverage keeps the target's share of clean dev data, budget
    lets at most that share of all dev data abstain, f1 and youden (which have no target) find
    errors best; risk and false-alarm promise that at most the target's share of accepted clean
    inputs are wrong, or of correct ones refused. A target of 0 stands for the rule's own."""

    stage: ClassVar[str] = "calibrate"

    map: str = option(
        "auto",
        "Map from S to U; auto takes one by dev data, percentile has to be asked for:",
        one_of=(AUTO, *MAPS),
        group=_MAP,
    )
    taps: str = option(
        ALL_TAPS,
        "Heads of the monitor; none: U and F are made of logits and distances alone:",
        one_of=TAPS,
        group=_MAP,
    )
    class_offsets: bool = option(
        True,
        "Do not let class-gated and evidence know which answers are wrong more often: it assumes "
        "the field's mix of classes to be dev's.",
        group=_MAP,
        flag="--no-class-offsets",
        switch=False,
    )
    hidden: int = option(
        0,
        "Units of a hidden layer on top of evidence, 16 for example; U may then fall where "
        "surprise grows.",
        limits=(0, HIDDEN_MAX),
        group=_MAP,
    )
    third: str = option(
        NO_THIRD,
        "Third input of gated and gated-taps (mahalanobis: that of the method mahalanobis-full):",
        one_of=THIRD_INPUTS,
        group=_MAP,
    )
    balanced: bool = option(
        True,
        "Give errors and correct answers equal weight in the fit, or not.",
        group=_MAP,
        flag="--balanced/--no-balanced",
    )
    weights: str = option(
        "inverse-variance", "Weights of the taps in S:", one_of=WEIGHTS, group=_MAP
    )
    alpha: float = option(
        0.5,
        "Weight of max-probability in m; the margin has the rest.",
        limits=(0.0, 1.0),
        group=_MAP,
    )
    threshold: str = option(
        "coverage",
        "Rule of the threshold: coverage, budget, f1, youden; risk or false-alarm, with a promise.",
        one_of=tuple(THRESHOLDS),
        group=_THRESHOLD,
    )
    target: float = option(
        0.0,
        "Share to accept (coverage), to refuse (budget), of errors among the accepted (risk), of "
        "refused among the correct (false-alarm).",
        limits=(0.0, 1.0),
        group=_THRESHOLD,
        shown=", ".join(f"{rule} {share:g}" for rule, share in THRESHOLDS.items() if share),
    )
    foreign: float = option(
        0.01,
        "Share of clean inputs that may be called foreign.",
        limits=(0.0, 1.0),
        group=_THRESHOLD,
    )
    limit: int = option(
        1000,
        "Most examples to score of each corrupted condition and each OOD set.",
        limits=(1, 1_000_000),
        group=_MAP,
        recipe="the data set's",
        flag=None,
    )
    controller: bool = option(
        False,
        "Adjust the threshold after every input to keep a budget, or leave it fixed.",
        group=_CONTROLLER,
        flag="--controller/--static",
    )
    budget: float = option(
        0.1, "Share of a stream that may abstain.", limits=(0.0, 1.0), group=_CONTROLLER
    )
    eta: float = option(
        0.05, "Weight of the newest decision in the rate.", limits=(1e-5, 1.0), group=_CONTROLLER
    )
    kappa: float = option(
        0.01, "Step size of the threshold.", limits=(1e-5, 1.0), group=_CONTROLLER
    )

    def check_together(self) -> None:
        if self.third != NO_THIRD and self.map not in _WITH_THIRD:
            raise ConfigError(
                f"calibrate.third is '{self.third}', but the map {self.map} takes no third input",
                "Take the map gated or gated-taps, or auto.",
            )
        if self.taps == NO_TAPS and self.reads_heads:
            raise ConfigError(
                f"calibrate.taps is 'none', but the map {self.map} reads the heads",
                f"Take one of {', '.join(_WITHOUT_HEADS)}.",
            )
        if self.taps == NO_TAPS and self.third != NO_THIRD:
            raise ConfigError(
                f"calibrate.third is '{self.third}', but no map without heads takes a third input",
                "Leave one of the two out.",
            )
        if self.hidden and self.map not in (AUTO, EVIDENCE):
            raise ConfigError(
                f"calibrate.hidden is {self.hidden}, but the map {self.map} has no hidden layer",
                "Take the map evidence, or auto.",
            )
        if self.target and not THRESHOLDS[self.threshold]:
            raise ConfigError(
                f"the threshold {self.threshold} takes no target", "Leave calibrate.target out."
            )
        if self.target and self.promises:
            name = f"calibrate.target, of threshold {self.threshold},"
            check_limits(name, self.target, (1e-4, 0.99))

    def with_map(self, kind: str) -> "CalibrateOptions":
        """As these but for the map; what that does not take is left out."""
        third = self.third if kind in _WITH_THIRD else NO_THIRD
        taps = self.taps if kind in _WITHOUT_HEADS else ALL_TAPS
        hidden = self.hidden if kind in (AUTO, EVIDENCE) else 0
        return replace(self, map=kind, third=third, taps=taps, hidden=hidden)

    @property
    def reads_heads(self) -> bool:
        """Whether the map is one that is nothing without heads."""
        return self.map not in _WITHOUT_HEADS

    @property
    def fit(self) -> FitOptions:
        return FitOptions(self.balanced, self.class_offsets, self.hidden)

    @property
    def reads_distance(self) -> bool:
        """Whether the map is one that is nothing without distances."""
        return self.third == MAHALANOBIS or self.map == EVIDENCE

    @property
    def wants_distances(self) -> bool:
        """Whether a map of these options may read distances to the classes."""
        return self.reads_distance or self.map == AUTO

    @property
    def promises(self) -> bool:
        """Whether the threshold's rule needs examples that nothing else has seen."""
        return self.threshold in PROMISES

    @property
    def share(self) -> float:
        """The target, or that of the rule."""
        return self.target or THRESHOLDS[self.threshold]
