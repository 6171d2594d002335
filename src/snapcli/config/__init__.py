"""Options of the stages as frozen dataclasses, and the recipe that holds one of each."""

# ruff: noqa: F401 - these are the names that others import from here
from snapcli.config.alarm import (
    AUTO_DETECTOR,
    DETECTORS,
    NO_DETECTOR,
    SIGNALS,
    SUMS,
    AlarmOptions,
)
from snapcli.config.attach import AttachOptions
from snapcli.config.calibrate import (
    ALL_TAPS,
    AUTO,
    ENERGY,
    EVIDENCE,
    HIDDEN_MAX,
    MAHALANOBIS,
    MAPS,
    MAPS_WITHOUT_TAPS,
    NO_TAPS,
    NO_THIRD,
    PROMISES,
    THIRD_INPUTS,
    THRESHOLDS,
    CalibrateOptions,
    FitOptions,
)
from snapcli.config.device import (
    CMSIS_NN,
    KERNEL_SETS,
    REFERENCE,
    SNAP,
    BenchOptions,
    ExportOptions,
    QuantizeOptions,
    VerifyOptions,
)
from snapcli.config.judging import (
    ABLATIONS,
    DEVICE,
    FLOAT,
    INT8,
    SOURCES,
    AblateOptions,
    CostOptions,
    EvalOptions,
    TapsOptions,
)
from snapcli.config.recipe import Recipe, dump_recipe, load_recipe, override, recipe_from
from snapcli.config.train import (
    ADAM,
    ADAMW,
    DATASETS,
    DETACH,
    HEADS,
    JOINT,
    MAX_TAPS,
    MEAN,
    MEAN_DEVIATION,
    MINIMAL,
    MODES,
    OPTIMIZERS,
    POSTHOC,
    SGD,
    STATISTICS,
    WEIGHTS,
    TrainOptions,
)
