"""Options of the stages as frozen dataclasses, and the recipe that holds one of each.

A recipe is TOML with a table per stage. Every value has a default, an unknown key or a value
of the wrong type or range is an error that names it.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from snapcli.errors import ConfigError, UsageError, suggestion
from snapcli.limits import TEXT_MAX, read_bytes

SNAP, REFERENCE, CMSIS_NN = KERNEL_SETS = ("snap", "reference", "cmsis-nn")
WEIGHTS = ("uniform", "inverse-variance")
MINIMAL = "minimal"
HEADS = ("gaussian", "student-t", "huber", MINIMAL, "lowrank", "mixture")
MEAN, MEAN_DEVIATION = STATISTICS = ("mean", "mean-deviation")
MAPS = (
    *("temperature", "gated", "gated-taps"),
    *("logistic", "logistic-s", "isotonic", "percentile"),
)
NO_THIRD, ENERGY, MAHALANOBIS = THIRD_INPUTS = ("none", "energy", "mahalanobis")
_WITH_THIRD = ("auto", "gated", "gated-taps")
# Whose scores eval judges: the float model's, the integer reference's, a device's.
FLOAT, INT8, DEVICE = SOURCES = ("float", "int8", "device")
ABLATIONS = ("taps", "rank", "head", "quant", "map", "blend", "mode")
JOINT, DETACH, POSTHOC = MODES = ("joint", "detach", "posthoc")
ADAM, ADAMW, SGD = OPTIMIZERS = ("adam", "adamw", "sgd")
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
MAX_TAPS = 5


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        ends = (f"{end:g}" if isinstance(end, float) else str(end) for end in (low, high))
        raise ConfigError(f"{name} is {value}", f"It must lie between {' and '.join(ends)}.")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} is '{value}'", f"It must be one of {', '.join(allowed)}.")


@dataclass(frozen=True)
class TrainOptions:
    """dataset: a name, or the path of a user's own data; data_dir: where published ones lie.
    image_size and channels convert a user's own images (0: as they are), strict makes a broken
    file of theirs an error. augment names variations of the training data, in this order (none
    given: those of the data set).

    backbone: a name, `module:function` or a .keras file; empty for the one that fits the data.
    taps: blocks, letters (E, M, M1, M2, P) or pairs of layers (none given: M and P); ranks: one
    for each tap in the order given, or one for all (none given: the backbone's).

    head: the likelihood, whose parameters are nu and learn_nu (student-t), delta (huber), factors
    (lowrank: columns of B) and components (mixture). minimal is a Gaussian at the tap in front
    of the logits, of rank 32. class_mean: the mean gets a bias per predicted class. statistics:
    what of a block's channels is predicted, their means or means and deviations.

    mode: joint lets the heads shape the backbone, detach does not, posthoc trains them after.
    detach_from: the epoch (from 1) from which joint goes on as detach; 0: never. adaptive moves
    lambda_ss so that its gradient in the backbone is 0.05 to 0.2 of the classifier's. ema: decay
    of the average of the weights that is kept in the end; 0: the last ones. qat: the last share
    of the epochs that is trained with quantization simulated. loss_weights: of the taps in L_ss,
    uniform or inverse-variance on dev.

    learning_rate rises linearly over `warmup` epochs and falls by a cosine to `decay_to` of
    itself; the heads learn `head_rate` times as fast, with Adam. lambda_ss rises over `ramp`
    epochs. Gradients are cut to the norm `clip`. mixup is the alpha of its Beta distribution.
    In the last share `frozen` of the epochs the statistics of batch normalization stand still:
    the heads then fit the activations that inference will compute, and E[e] comes out near 1.
    """

    dataset: str = "digits"
    data_dir: str = ""
    image_size: int = 0
    channels: int = 0
    strict: bool = False
    augment: tuple[str, ...] = ()
    backbone: str = ""
    taps: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    head: str = "gaussian"
    nu: float = 5.0
    learn_nu: bool = False
    delta: float = 1.0
    factors: int = 4
    components: int = 2
    class_mean: bool = False
    statistics: str = MEAN
    mode: str = "joint"
    detach_from: int = 0
    epochs: int = 60
    batch_size: int = 64
    optimizer: str = "adam"
    learning_rate: float = 3e-3
    warmup: int = 0
    decay_to: float = 0.01
    weight_decay: float = 0.0
    clip: float = 1.0
    label_smoothing: float = 0.0
    mixup: float = 0.0
    head_rate: float = 3.0
    lambda_ss: float = 2e-2
    ramp: int = 6
    lambda_reg: float = 1e-4
    adaptive: bool = False
    loss_weights: str = "uniform"
    ema: float = 0.0
    qat: float = 0.0
    frozen: float = 0.3
    seed: int = 13

    def __post_init__(self) -> None:
        if self.image_size:
            _between("train.image_size", self.image_size, 8, 128)
        if self.channels not in (0, 1, 3):
            raise ConfigError(
                f"train.channels is {self.channels}", "It must be 1 (grey), 3 (colour) or 0."
            )
        for rank in self.ranks:
            _between("train.ranks", rank, 1, 256)
        _one_of("train.head", self.head, HEADS)
        _between("train.nu", self.nu, 3.0, 30.0)
        _between("train.delta", self.delta, 0.1, 10.0)
        _between("train.factors", self.factors, 1, 16)
        _between("train.components", self.components, 2, 8)
        _one_of("train.statistics", self.statistics, STATISTICS)
        _between("train.detach_from", self.detach_from, 0, 10_000)
        _one_of("train.loss_weights", self.loss_weights, WEIGHTS)
        _between("train.ema", self.ema, 0.0, 0.99999)
        _between("train.qat", self.qat, 0.0, 1.0)
        _one_of("train.mode", self.mode, MODES)
        _between("train.epochs", self.epochs, 0, 10_000)
        self._check_together()
        _between("train.batch_size", self.batch_size, 1, 65_536)
        _one_of("train.optimizer", self.optimizer, OPTIMIZERS)
        _between("train.learning_rate", self.learning_rate, 1e-8, 10.0)
        _between("train.warmup", self.warmup, 0, 10_000)
        _between("train.decay_to", self.decay_to, 0.0, 1.0)
        _between("train.weight_decay", self.weight_decay, 0.0, 10.0)
        _between("train.clip", self.clip, 1e-6, 1e6)
        _between("train.label_smoothing", self.label_smoothing, 0.0, 0.9)
        _between("train.mixup", self.mixup, 0.0, 10.0)
        _between("train.head_rate", self.head_rate, 0.0, 100.0)
        _between("train.lambda_ss", self.lambda_ss, 0.0, 10.0)
        _between("train.ramp", self.ramp, 0, 10_000)
        _between("train.lambda_reg", self.lambda_reg, 0.0, 10.0)
        _between("train.frozen", self.frozen, 0.0, 1.0)
        _between("train.seed", self.seed, 0, 2**32 - 1)

    def _check_together(self) -> None:
        """What would have no effect is refused."""
        meant_for = {
            "nu": "student-t",
            "learn_nu": "student-t",
            "delta": "huber",
            "factors": "lowrank",
            "components": "mixture",
        }
        for option, head in meant_for.items():
            if self.head != head and getattr(self, option) != getattr(TrainOptions, option):
                raise ConfigError(f"train.{option} is for --head {head}", f"It is {self.head} now.")
        joint = {"adaptive": self.adaptive, "detach_from": self.detach_from > 0}
        for option, given in joint.items():
            if given and self.mode != "joint":
                raise ConfigError(f"train.{option} is for --mode joint", f"It is {self.mode} now.")
        if self.adaptive and not self.lambda_ss:
            raise ConfigError("train.adaptive has no lambda_ss to start from", "Give one above 0.")
        if self.loss_weights != WEIGHTS[0] and self.mode == "posthoc":
            raise ConfigError(
                f"train.loss_weights is {self.loss_weights}", "Post hoc every tap learns by itself."
            )
        finished = self.mode == "posthoc" and self.backbone.endswith((".keras", ".h5"))
        if not self.epochs and (self.qat or not finished):
            raise ConfigError(
                "train.epochs is 0",
                "That is for --mode posthoc on a finished --backbone (.keras), without --qat.",
            )


@dataclass(frozen=True)
class CalibrateOptions:
    """map: one of MAPS, or auto, which tries them on dev; third: another input of the gated maps;
    balanced: their and the logistic maps' slopes are fitted as if errors were as frequent as hits.
    alpha blends max-probability and margin in m. limit: at most this many examples of each
    corrupted condition and each OOD set are scored.

    threshold: coverage keeps `target` of clean dev data, budget lets at most `target` of all
    dev data abstain, f1 and youden (which have no target) find errors best; risk and false-alarm
    promise that at most `target` of accepted clean inputs are wrong, or of correct ones refused.
    A target of 0 stands for the rule's own.

    controller: the threshold moves from input to input so that the share `budget` abstains; eta
    is the weight of the newest decision in the rate, kappa the step of the threshold."""

    map: str = "auto"
    third: str = NO_THIRD
    balanced: bool = True
    weights: str = "inverse-variance"
    alpha: float = 0.5
    threshold: str = "coverage"
    target: float = 0.0
    limit: int = 1000
    controller: bool = False
    budget: float = 0.1
    eta: float = 0.05
    kappa: float = 0.01

    def __post_init__(self) -> None:
        _one_of("calibrate.map", self.map, ("auto", *MAPS))
        _one_of("calibrate.third", self.third, THIRD_INPUTS)
        if self.third != NO_THIRD and self.map not in _WITH_THIRD:
            raise ConfigError(
                f"calibrate.third is '{self.third}', but the map {self.map} takes no third input",
                "Take the map gated or gated-taps, or auto.",
            )
        _one_of("calibrate.weights", self.weights, WEIGHTS)
        _between("calibrate.alpha", self.alpha, 0.0, 1.0)
        _one_of("calibrate.threshold", self.threshold, tuple(THRESHOLDS))
        if self.target and not THRESHOLDS[self.threshold]:
            raise ConfigError(
                f"the threshold {self.threshold} takes no target", "Leave calibrate.target out."
            )
        if self.target and self.threshold in PROMISES:
            name = f"calibrate.target, of threshold {self.threshold},"
            _between(name, self.target, 1e-4, 0.99)
        _between("calibrate.target", self.target, 0.0, 1.0)
        _between("calibrate.limit", self.limit, 1, 1_000_000)
        _between("calibrate.budget", self.budget, 0.0, 1.0)
        _between("calibrate.eta", self.eta, 1e-5, 1.0)
        _between("calibrate.kappa", self.kappa, 1e-5, 1.0)

    def with_map(self, kind: str) -> "CalibrateOptions":
        """As these but for the map; one that takes no third input has none."""
        third = self.third if kind in _WITH_THIRD else NO_THIRD
        return replace(self, map=kind, third=third)

    @property
    def promises(self) -> bool:
        """Whether the threshold's rule needs examples that nothing else has seen."""
        return self.threshold in PROMISES

    @property
    def share(self) -> float:
        """The target, or that of the rule."""
        return self.target or THRESHOLDS[self.threshold]


@dataclass(frozen=True)
class QuantizeOptions:
    """samples: training images that set the activation ranges."""

    samples: int = 500

    def __post_init__(self) -> None:
        _between("quantize.samples", self.samples, 1, 100_000)


@dataclass(frozen=True)
class ExportOptions:
    """kernels: snap is ours for cores with the DSP extension, reference plain C, cmsis-nn Arm's
    kernels where they have them."""

    target: str = "qemu-m4"
    kernels: str = SNAP

    def __post_init__(self) -> None:
        _one_of("export-c.kernels", self.kernels, KERNEL_SETS)


@dataclass(frozen=True)
class VerifyOptions:
    """inputs: how many random ones are compared, if none are given."""

    target: str = "qemu-m4"
    kernels: str = SNAP
    inputs: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("verify.kernels", self.kernels, KERNEL_SETS)
        _between("verify.inputs", self.inputs, 1, 10_000)
        _between("verify.seed", self.seed, 0, 2**32 - 1)


@dataclass(frozen=True)
class TapsOptions:
    """per: what a tap is paid in, flash or instructions. max_flash in KB and max_overhead in
    percent of the backbone's instructions limit what all taps together cost. limit: examples of
    each corrupted dev condition."""

    target: str = "qemu-m4"
    kernels: str = SNAP
    per: str = "flash"
    max_flash: float = 1024.0
    max_overhead: float = 100.0
    limit: int = 500

    def __post_init__(self) -> None:
        _one_of("taps.kernels", self.kernels, KERNEL_SETS)
        _one_of("taps.per", self.per, ("flash", "instructions"))
        _between("taps.max_flash", self.max_flash, 0.0, 1e6)
        _between("taps.max_overhead", self.max_overhead, 0.0, 1e4)
        _between("taps.limit", self.limit, 1, 1_000_000)


@dataclass(frozen=True)
class CostOptions:
    """methods: names or groups of them (none given: all but `snap` with one thing changed).
    targets: those that every method is compiled for."""

    methods: tuple[str, ...] = ()
    targets: tuple[str, ...] = ("small-mcu", "big-mcu")
    kernels: str = SNAP

    def __post_init__(self) -> None:
        _one_of("cost.kernels", self.kernels, KERNEL_SETS)


@dataclass(frozen=True)
class EvalOptions:
    """methods: names, single-pass, trained or all. on: of SOURCES (none given: those that exist).
    limit: examples of each corrupted condition and OOD set (as many as calibrate took).
    replicates: of the bootstrap (1000). streams: how many test streams are played (3). None: as
    in the table that is there, else what stands in brackets. anew: that table is thrown away."""

    methods: tuple[str, ...] = ("single-pass",)
    on: tuple[str, ...] = ()
    limit: int | None = None
    replicates: int | None = None
    streams: int | None = None
    anew: bool = False

    def __post_init__(self) -> None:
        for source in self.on:
            _one_of("eval.on", source, SOURCES)
        if self.limit is not None:
            _between("eval.limit", self.limit, 1, 1_000_000)
        if self.replicates is not None:
            _between("eval.replicates", self.replicates, 10, 100_000)
        if self.streams is not None:
            _between("eval.streams", self.streams, 0, 20)


@dataclass(frozen=True)
class AblateOptions:
    """kind: of ABLATIONS, what is varied. target, kernels: what every row is compiled for. limit,
    replicates, streams: as in EvalOptions."""

    kind: str = ABLATIONS[0]
    target: str = "qemu-m4"
    kernels: str = SNAP
    limit: int = 0
    replicates: int = 1000
    streams: int = 3

    def __post_init__(self) -> None:
        _one_of("ablate.kind", self.kind, ABLATIONS)
        _one_of("ablate.kernels", self.kernels, KERNEL_SETS)
        _between("ablate.limit", self.limit, 0, 1_000_000)
        _between("ablate.replicates", self.replicates, 10, 100_000)
        _between("ablate.streams", self.streams, 0, 20)


@dataclass(frozen=True)
class AttachOptions:
    """model: a finished model, .tflite, .keras, .h5 or a SavedModel; empty for a run that was
    trained. data: a data set's name, a folder, an .npz or `module:function`; data_dir: where
    published ones lie. labels: names of the classes in the order of the model's outputs (with
    commas, or a .txt), or an answer for each example (.csv or .npy); empty where the data say it.
    front_end: how examples become inputs, a name or `module:function`; empty for the one that
    fits. code_dir: the folder that modules of these are imported from.

    taps: auto, or tensors or pairs a:b of them; ranks: one for all taps or one for each (none
    given: 32). augment_dev: our corruptions of the data count as a shift. max_overhead: percent
    of the backbone's instructions that the taps of `auto` may add."""

    model: str = ""
    data: str = ""
    data_dir: str = ""
    labels: str = ""
    front_end: str = ""
    code_dir: str = ""
    taps: tuple[str, ...] = ("auto",)
    ranks: tuple[int, ...] = ()
    augment_dev: bool = False
    max_overhead: float = 2.0
    seed: int = 13

    def __post_init__(self) -> None:
        for rank in self.ranks:
            _between("attach.ranks", rank, 1, 256)
        _between("attach.max_overhead", self.max_overhead, 0.0, 1e4)
        _between("attach.seed", self.seed, 0, 2**32 - 1)


@dataclass(frozen=True)
class BenchOptions:
    """inputs: how many test inputs are sent and timed; warmup runs before them are not timed. An
    emulator counts exactly and slowly, so a board has numbers of its own."""

    inputs: int = 500
    warmup: int = 5
    board_inputs: int = 1000
    board_warmup: int = 100

    def __post_init__(self) -> None:
        for name in ("inputs", "board_inputs"):
            _between(f"bench.{name}", getattr(self, name), 1, 100_000)
        for name in ("warmup", "board_warmup"):
            _between(f"bench.{name}", getattr(self, name), 0, 100_000)


@dataclass(frozen=True)
class Recipe:
    """The stages with their options; flash has none beyond the target. A run begins with attach
    where that names a model, otherwise with train."""

    attach: AttachOptions = field(default_factory=AttachOptions)
    train: TrainOptions = field(default_factory=TrainOptions)
    calibrate: CalibrateOptions = field(default_factory=CalibrateOptions)
    quantize: QuantizeOptions = field(default_factory=QuantizeOptions)
    export_c: ExportOptions = field(default_factory=ExportOptions)
    bench: BenchOptions = field(default_factory=BenchOptions)


Options = TypeVar("Options")
# Older runs have it; that code may run is never part of a recipe.
_GONE = {("attach", "allow_code")}


def override(options: Options, **given: Any) -> Options:
    """The same options with every value of the command line that is not None replaced."""
    changes = {k: v for k, v in given.items() if v is not None}
    try:
        return replace(options, **changes)  # type: ignore[type-var]
    except ConfigError as error:
        raise UsageError(error.message, error.hint) from None


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    """A TOML file, then `stage.option=value` overrides with TOML values."""
    try:
        text = read_bytes(path, TEXT_MAX).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(
            f"cannot read {path}: {reason}", "Give the path of a .toml recipe."
        ) from None
    tables = _parse(text, str(path))
    for item in overrides:
        dotted, sign, value = item.partition("=")
        stage, dot, option = dotted.strip().partition(".")
        if not (sign and dot):
            raise ConfigError(f"cannot read '{item}'", "Write it as stage.option=value.")
        tables.setdefault(stage, {})
        if not isinstance(tables[stage], dict):
            raise ConfigError(f"{stage} of {path} is not a table", f"Write [{stage}].")
        tables[stage][option] = _parse_value(value)
    return recipe_from(tables)


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{origin} is not TOML: {error}", "Mend that line.") from None


def _parse_value(text: str) -> Any:
    """A TOML value; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text.strip()


def recipe_from(tables: Mapping[str, Any]) -> Recipe:
    known = {f.name.replace("_", "-"): f.name for f in fields(Recipe)}
    defaults, parts = Recipe(), {}
    for name, values in tables.items():
        if name not in known:
            raise ConfigError(f"unknown table [{name}]", suggestion(name, known))
        if not isinstance(values, dict):
            raise ConfigError(f"'{name}' is not a table", f"Write [{name}].")
        attribute = known[name]
        options = getattr(defaults, attribute)
        parts[attribute] = replace(options, **_checked(name, options, values))
    return Recipe(**parts)


def _checked(stage: str, options: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    defaults = asdict(options)
    checked = {}
    for key, value in values.items():
        if (stage, key) in _GONE:
            continue
        if key not in defaults:
            raise ConfigError(f"unknown option {stage}.{key}", suggestion(key, defaults))
        expected = type(defaults[key])
        if expected is tuple and isinstance(value, list):
            value = tuple(value)
        if expected is float and type(value) is int and abs(value) < 2**53:
            value = float(value)
        inner = int if key == "ranks" else str
        words = not isinstance(value, tuple) or all(type(v) is inner for v in value)
        if type(value) is not expected or not words:
            kind = {"str": "text", "int": "a whole number", "float": "a number"}
            names = "whole numbers" if inner is int else "names"
            kind |= {"tuple": f"a list of {names}", "bool": "true or false"}
            raise ConfigError(
                f"{stage}.{key} is {value!r}", f"It must be {kind[expected.__name__]}."
            )
        checked[key] = value
    return checked


def dump_recipe(recipe: Recipe) -> str:
    """TOML that load_recipe reads back as the same recipe."""
    lines = []
    unused = ("train", "quantize") if recipe.attach.model else ("attach",)
    for part in fields(Recipe):
        if part.name in unused:
            continue
        lines.append(f"[{part.name.replace('_', '-')}]")
        options = getattr(recipe, part.name)
        lines += [f"{key} = {_toml(value)}" for key, value in asdict(options).items()]
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
