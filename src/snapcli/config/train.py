"""Options of `snap train`."""

from dataclasses import dataclass
from typing import Any, ClassVar

from snapcli.config.option import SEED_MAX, StageOptions, option
from snapcli.errors import ConfigError

# Those that have a module in data/sets/.
DATASETS = ("digits", "mnist", "cifar10", "speechcmd", "tinyimagenet")
WEIGHTS = ("uniform", "inverse-variance")
MINIMAL = "minimal"
HEADS = ("gaussian", "student-t", "huber", MINIMAL, "lowrank", "mixture")
MEAN, MEAN_DEVIATION = STATISTICS = ("mean", "mean-deviation")
JOINT, DETACH, POSTHOC = MODES = ("joint", "detach", "posthoc")
ADAM, ADAMW, SGD = OPTIMIZERS = ("adam", "adamw", "sgd")
MAX_TAPS = 5
# Paper: the final 20 % of the epochs.
_QAT_SHARE = 0.2

DATA_GROUP, HEADS_GROUP = "Data", "Heads"
_NETWORK, _LOSS, _TRAINING = "Network", "Loss of the heads", "Training"
_RECIPE = "the data set's"


def data_dir_option() -> Any:
    return option(
        "",
        "Folder that holds published data sets.",
        group=DATA_GROUP,
        shown="SNAP_DATA_DIR, the cache or a download",
        folder=True,
    )


def ranks_option(shown: str) -> Any:
    return option(
        (),
        "Ranks of the projections: one for all taps or one for each, separated by commas.",
        limits=(1, 256),
        group=HEADS_GROUP,
        shown=shown,
    )


@dataclass(frozen=True)
class TrainOptions(StageOptions):
    """A head of kind minimal is a Gaussian at the tap in front of the logits, of rank 32."""

    stage: ClassVar[str] = "train"

    dataset: str = option(
        "digits",
        f"{', '.join(DATASETS)}; or your own: a folder of classes (images or .wav), or an .npz.",
        group=DATA_GROUP,
    )
    data_dir: str = data_dir_option()
    image_size: int = option(
        0,
        "Side in pixels that your own images are resized to.",
        limits=(8, 128),
        unset=0,
        group=DATA_GROUP,
        shown="as they are",
    )
    channels: int = option(
        0, "1 (grey) or 3 (colour), for your own images.", group=DATA_GROUP, shown="as they are"
    )
    strict: bool = option(False, "Stop at a broken file instead of skipping it.", group=DATA_GROUP)
    augment: tuple[str, ...] = option(
        (),
        "Augmentations of the training data, in order, separated by commas; or none.",
        group=DATA_GROUP,
        shown="those of the data set's recipe",
    )
    backbone: str = option(
        "",
        "One of `snap models`, module:function or a .keras file.",
        group=_NETWORK,
        shown="one that fits the data",
        recipe=_RECIPE,
    )
    taps: tuple[str, ...] = option(
        (),
        "Where the heads are: letters (E, M, M1, M2, P), block names or pairs layer_a:layer_b, "
        "with commas.",
        group=HEADS_GROUP,
        shown="M,P",
    )
    ranks: tuple[int, ...] = ranks_option("the backbone's")
    head: str = option("gaussian", "Likelihood of the heads:", one_of=HEADS, group=HEADS_GROUP)
    nu: float = option(
        5.0,
        "degrees of freedom.",
        limits=(3.0, 30.0),
        only_with=("head", "student-t"),
        group=HEADS_GROUP,
    )
    learn_nu: bool = option(
        False, "learn nu, one for all taps.", only_with=("head", "student-t"), group=HEADS_GROUP
    )
    delta: float = option(
        1.0,
        "where the loss becomes linear, in standard deviations.",
        limits=(0.1, 10.0),
        only_with=("head", "huber"),
        group=HEADS_GROUP,
    )
    factors: int = option(
        4,
        "columns of the matrix that correlates the channels, e.g. 4 or 8.",
        limits=(1, 16),
        only_with=("head", "lowrank"),
        group=HEADS_GROUP,
    )
    components: int = option(
        2, "Gaussians per tap.", limits=(2, 8), only_with=("head", "mixture"), group=HEADS_GROUP
    )
    class_mean: bool = option(
        False, "Give the mean a bias for each predicted class.", group=HEADS_GROUP
    )
    statistics: str = option(
        MEAN,
        "Statistics of a block's channels that the heads predict:",
        one_of=STATISTICS,
        group=HEADS_GROUP,
    )
    mode: str = option(
        JOINT,
        "joint: the heads shape the backbone; detach: they do not; posthoc: they are trained "
        "after it.",
        one_of=MODES,
        group=_LOSS,
    )
    detach_from: int = option(
        0,
        "switch to detach at this epoch, counted from 1.",
        limits=(0, 10_000),
        only_with=("mode", JOINT),
        group=_LOSS,
        shown="never",
    )
    epochs: int = option(
        60,
        "Passes over the training data; 0: the .keras backbone stays as it is.",
        limits=(0, 10_000),
        group=_TRAINING,
        recipe=_RECIPE,
    )
    batch_size: int = option(
        64, "Examples per step.", limits=(1, 65_536), group=_TRAINING, recipe=_RECIPE
    )
    optimizer: str = option(
        ADAM, "Optimizer of the backbone:", one_of=OPTIMIZERS, group=_TRAINING, recipe=_RECIPE
    )
    learning_rate: float = option(
        3e-3,
        "Peak learning rate of the backbone.",
        limits=(1e-8, 10.0),
        group=_TRAINING,
        recipe=_RECIPE,
    )
    warmup: int = option(
        0,
        "Epochs of linear warm-up of the learning rate; a cosine decay follows.",
        limits=(0, 10_000),
        group=_TRAINING,
        recipe=_RECIPE,
        flag=None,
    )
    decay_to: float = option(
        0.01,
        "Final learning rate, as a share of the peak.",
        limits=(0.0, 1.0),
        group=_TRAINING,
        recipe=_RECIPE,
        flag=None,
    )
    weight_decay: float = option(
        0.0,
        "Weight decay of the backbone's kernels.",
        limits=(0.0, 10.0),
        group=_TRAINING,
        recipe=_RECIPE,
        flag=None,
    )
    clip: float = option(
        1.0,
        "Largest norm of a gradient; longer ones are clipped.",
        limits=(1e-6, 1e6),
        group=_TRAINING,
        flag=None,
    )
    label_smoothing: float = option(
        0.0,
        "Share of a label that is spread over all classes.",
        limits=(0.0, 0.9),
        group=_TRAINING,
        recipe=_RECIPE,
        flag=None,
    )
    mixup: float = option(
        0.0,
        "Alpha of mixup's Beta distribution; 0: no mixup.",
        limits=(0.0, 10.0),
        group=_TRAINING,
        flag=None,
    )
    head_rate: float = option(
        3.0,
        "Learning rate of the heads, as a multiple of the backbone's; they learn with Adam.",
        limits=(0.0, 100.0),
        group=_TRAINING,
        recipe=_RECIPE,
        flag=None,
    )
    lambda_ss: float = option(
        2e-2, "Weight of the heads' loss.", limits=(0.0, 10.0), group=_LOSS, recipe=_RECIPE
    )
    ramp: int = option(
        6,
        "Epochs over which lambda_ss rises to its value.",
        limits=(0, 10_000),
        group=_LOSS,
        recipe=_RECIPE,
    )
    lambda_reg: float = option(
        1e-4,
        "Weight of the penalty that regularizes the heads.",
        limits=(0.0, 10.0),
        group=_LOSS,
        flag=None,
    )
    adaptive: bool = option(
        False,
        "lambda_ss follows the gradients: its own in the backbone stays at 0.05 to 0.2 of the "
        "classifier's.",
        only_with=("mode", JOINT),
        group=_LOSS,
    )
    loss_weights: str = option(
        "uniform", "Weights of the taps, equal or from clean dev data:", one_of=WEIGHTS, group=_LOSS
    )
    ema: float = option(
        0.0,
        "Keep a moving average of the weights with this decay, e.g. 0.999.",
        limits=(0.0, 0.99999),
        group=_TRAINING,
        shown="the last weights",
    )
    qat: float = option(
        0.0,
        f"Simulate int8 in a last share of the epochs: {_QAT_SHARE} as a flag, any in a recipe.",
        limits=(0.0, 1.0),
        group=_TRAINING,
        shown="off",
        switch=_QAT_SHARE,
    )
    frozen: float = option(
        0.3,
        "Last share of the epochs in which batch statistics stand still: the heads then fit the "
        "activations of inference, and E[e] is near 1.",
        limits=(0.0, 1.0),
        group=_TRAINING,
        recipe=_RECIPE,
        flag=None,
    )
    seed: int = option(13, "Seed of all random numbers.", limits=(0, SEED_MAX), group=_TRAINING)

    def check_together(self) -> None:
        """What would have no effect is refused."""
        if self.channels not in (0, 1, 3):
            raise ConfigError(
                f"train.channels is {self.channels}", "It must be 1 (grey), 3 (colour) or 0."
            )
        if self.adaptive and not self.lambda_ss:
            raise ConfigError("train.adaptive has no lambda_ss to start from", "Give one above 0.")
        if self.loss_weights != WEIGHTS[0] and self.mode == POSTHOC:
            raise ConfigError(
                f"train.loss_weights is {self.loss_weights}", "Post hoc every tap learns by itself."
            )
        finished = self.mode == POSTHOC and self.backbone.endswith((".keras", ".h5"))
        if not self.epochs and (self.qat or not finished):
            raise ConfigError(
                "train.epochs is 0",
                "That is for --mode posthoc on a finished --backbone (.keras), without --qat.",
            )
