"""The two ways in which a run comes about, behind one interface: trained here, or attached."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from snapcli.config import FLOAT, SOURCES, CalibrateOptions, Recipe
from snapcli.data import Dataset, load_dataset
from snapcli.data.user.finished import load_given
from snapcli.monitor.alarm import load_alarm
from snapcli.monitor.body import MODEL_FILE, read_graph
from snapcli.monitor.monitor import Monitor, load_monitor
from snapcli.origin.answers import stored_answers, wanted_of, with_answers
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run

_GAUSSIAN = "gaussian"


@dataclass(frozen=True, eq=False)
class Deployment:
    """What a run puts on a device. stages: those that the monitor comes from; folder: where its
    body lies."""

    monitor: Monitor
    stages: tuple[str, ...]
    folder: Path


class Origin(ABC):
    """What follows for a run from where it came.

    has_float: whether there is a float model, which can also be trained further or anew;
    integer_stage: the one that fits the device's decision and reports its figures.
    """

    has_float: ClassVar[bool]
    integer_stage: ClassVar[str]

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def recipe(self) -> Recipe:
        return run_recipe(self.run)

    @property
    def sources(self) -> tuple[str, ...]:
        """Those of config.SOURCES whose scores the run can have."""
        return tuple(source for source in SOURCES if self.has_float or source != FLOAT)

    @property
    def without_heads(self) -> str:
        """The command that calibrates the run again, without its heads."""
        # What is not given comes from the recipe, whose map may be one that reads them.
        other_map = " --map auto" if self.recipe.calibrate.reads_heads else ""
        return f"{self.run.remedy('calibrate')} --taps none{other_map}"

    @property
    @abstractmethod
    def model(self) -> str:
        """The network, as the recipe names it."""

    @property
    @abstractmethod
    def data(self) -> str:
        """The data, as the recipe names them."""

    @property
    @abstractmethod
    def head(self) -> str:
        """The likelihood of its heads."""

    @property
    @abstractmethod
    def float_stages(self) -> tuple[str, ...]:
        """Those that hold the float model and what was fitted to it."""

    @abstractmethod
    def dataset(self, on_progress: OnProgress = silent) -> Dataset:
        """As the run saw them."""

    @abstractmethod
    def deployed(self) -> Deployment:
        """What answers to an input, without an alarm."""

    def on_device(self) -> Deployment:
        """With the alarm that watches the answers, where one was fitted."""
        deployed = self.deployed()
        if self.run.record("alarm") is None:
            return deployed
        alarm = load_alarm(self.run.inputs("alarm"), f"Run: {self.run.remedy('alarm')}")
        return replace(
            deployed,
            monitor=replace(deployed.monitor, alarm=alarm),
            stages=(*deployed.stages, "alarm"),
        )

    @abstractmethod
    def limit(self, asked: CalibrateOptions) -> int:
        """Examples of each corrupted condition that its maps were fitted to."""


class TrainedOrigin(Origin):
    has_float = True
    integer_stage = "quantize"
    float_stages = ("train", "calibrate")

    @property
    def model(self) -> str:
        return self.recipe.train.backbone

    @property
    def data(self) -> str:
        return self.recipe.train.dataset

    @property
    def head(self) -> str:
        return self.recipe.train.head

    def dataset(self, on_progress: OnProgress = silent) -> Dataset:
        return load_dataset(self.recipe.train, on_progress)

    def deployed(self) -> Deployment:
        folder = self.run.inputs("quantize")
        hint = f"Run: {self.run.remedy('quantize')}"
        return Deployment(load_monitor(folder, hint=hint), ("quantize",), folder)

    def limit(self, asked: CalibrateOptions) -> int:
        return asked.limit


class AttachedOrigin(Origin):
    """A finished model of somebody's: int8 alone, its heads fitted after it."""

    has_float = False
    integer_stage = "calibrate"
    float_stages = ()
    head = _GAUSSIAN

    @property
    def model(self) -> str:
        return self.recipe.attach.model

    @property
    def data(self) -> str:
        return self.recipe.attach.data

    def dataset(self, on_progress: OnProgress = silent) -> Dataset:
        """Without labels the model's own answers stand for these."""
        folder = self.run.inputs("attach")
        graph = read_graph(folder / MODEL_FILE, f"Run: {self.run.remedy('attach')}")
        dataset = load_given(self.recipe.attach, wanted_of(graph), on_progress)
        answers = stored_answers(self.run, dataset)
        return dataset if dataset.labelled else with_answers(dataset, answers)

    def deployed(self) -> Deployment:
        """The body of attach, with what calibrate decided."""
        folder, decision = self.run.inputs("attach"), self.run.inputs("calibrate")
        monitor = load_monitor(folder, decision, f"Run: {self.run.remedy('calibrate')}")
        return Deployment(monitor, ("attach", "calibrate"), folder)

    def limit(self, asked: CalibrateOptions) -> int:
        """The conditions are those that attach has scored."""
        return self.recipe.calibrate.limit


def origin_of(run: Run) -> Origin:
    return AttachedOrigin(run) if run.is_attached else TrainedOrigin(run)
