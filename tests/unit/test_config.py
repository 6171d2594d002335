"""Recipes: what is read, what is refused, what is written."""

import re
from dataclasses import Field, asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.assets import asset_dir
from snapcli.config import (
    THIRD_INPUTS,
    THRESHOLDS,
    AblateOptions,
    AlarmOptions,
    AttachOptions,
    BenchOptions,
    CalibrateOptions,
    CostOptions,
    EvalOptions,
    ExportOptions,
    QuantizeOptions,
    Recipe,
    TapsOptions,
    TrainOptions,
    VerifyOptions,
    dump_recipe,
    load_recipe,
    override,
    recipe_from,
)
from snapcli.config.option import StageOptions, default_text, option_of
from snapcli.errors import ConfigError, UsageError

# Names and paths: what is printable, quotes and backslashes included.
names = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=12)
shares = st.floats(0, 1)
recipes = st.builds(
    Recipe,
    train=st.builds(
        TrainOptions,
        dataset=names,
        backbone=names,
        taps=st.lists(names, max_size=3).map(tuple),
        mode=st.sampled_from(["joint", "detach", "posthoc"]),
        epochs=st.integers(1, 10_000),
        batch_size=st.integers(1, 65_536),
        learning_rate=st.floats(1e-8, 10),
        lambda_ss=st.floats(0, 10),
        ramp=st.integers(0, 10_000),
        lambda_reg=st.floats(0, 10),
        seed=st.integers(0, 2**32 - 1),
    ),
    calibrate=st.builds(
        CalibrateOptions,
        map=st.sampled_from(["auto", "gated", "gated-taps"]),
        third=st.sampled_from(THIRD_INPUTS),
        balanced=st.booleans(),
        weights=st.sampled_from(["uniform", "inverse-variance"]),
        alpha=shares,
        threshold=st.sampled_from(["coverage", "budget"]),
        target=shares,
        controller=st.booleans(),
        budget=shares,
        eta=st.floats(1e-5, 1),
        kappa=st.floats(1e-5, 1),
    ),
    quantize=st.builds(QuantizeOptions, samples=st.integers(1, 100_000)),
    export_c=st.builds(ExportOptions, target=names),
    bench=st.builds(BenchOptions, inputs=st.integers(1, 100_000), warmup=st.integers(0, 100)),
)


ALL = (
    *(TrainOptions, AttachOptions, CalibrateOptions, QuantizeOptions, ExportOptions, BenchOptions),
    *(AlarmOptions, EvalOptions, CostOptions, AblateOptions, TapsOptions, VerifyOptions),
)
EACH = [(options, f) for options in ALL for f in fields(options)]
RANGES = [pytest.param(o, f, id=f"{o.stage}.{f.name}") for o, f in EACH if option_of(f).limits]
CHOICES = [pytest.param(o, f, id=f"{o.stage}.{f.name}") for o, f in EACH if option_of(f).one_of]


def load(text: str, folder: Path, *overrides: str) -> Recipe:
    path = folder / "recipe.toml"
    path.write_text(text)
    return load_recipe(path, overrides)


@given(recipes)
def test_a_recipe_survives_its_file(tmp_path_factory: pytest.TempPathFactory, r: Recipe) -> None:
    assert load(dump_recipe(r), tmp_path_factory.mktemp("recipe")) == r


def test_an_empty_file_is_the_default_recipe(tmp_path: Path) -> None:
    assert load("", tmp_path) == Recipe()


def test_the_shipped_recipes_can_be_read() -> None:
    shipped = sorted(asset_dir("pipelines").glob("*.toml"))
    assert "digits" in [path.stem for path in shipped]
    for path in shipped:
        assert load_recipe(path).train.dataset


def test_what_shipped_recipes_set_differently_says_so_beside_its_default() -> None:
    shipped = [load_recipe(path) for path in asset_dir("pipelines").glob("*.toml")]
    for stage in ("train", "calibrate"):
        for f in fields(getattr(Recipe(), stage)):
            values = {getattr(getattr(recipe, stage), f.name) for recipe in shipped}
            differs = values != {f.default} and f.name not in ("dataset", "seed")
            assert ("data set's recipe" in default_text(f)) == differs, f.name


def test_options_not_named_keep_their_default(tmp_path: Path) -> None:
    found = load("[train]\nepochs = 3\n[export-c]\ntarget = 'big-mcu'\n", tmp_path)
    assert found.train == TrainOptions(epochs=3)
    assert found.export_c == ExportOptions("big-mcu")
    assert found.calibrate == CalibrateOptions()


@pytest.mark.parametrize(
    ("item", "stage", "option", "value"),
    [
        ("train.epochs=7", "train", "epochs", 7),
        ("train.learning_rate=1", "train", "learning_rate", 1.0),
        ("train.taps=['P']", "train", "taps", ("P",)),
        ("train.mode = detach", "train", "mode", "detach"),
        ("train.mode='detach'", "train", "mode", "detach"),
        ("export-c.target=big-mcu", "export_c", "target", "big-mcu"),
    ],
)
def test_an_override_wins(item: str, stage: str, option: str, value: Any, tmp_path: Path) -> None:
    found = load("[train]\nepochs = 3\nmode = 'joint'\n", tmp_path, item)
    assert getattr(getattr(found, stage), option) == value
    assert type(getattr(getattr(found, stage), option)) is type(value)


def test_the_last_override_wins(tmp_path: Path) -> None:
    assert load("", tmp_path, "train.epochs=7", "train.epochs=8").train.epochs == 8


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[train]\nepoch = 3", "unknown option train.epoch", r"Did you mean epochs\?"),
        ("[train]\nxyzzy = 3", "unknown option train.xyzzy", "Known: dataset,"),
        ("[trian]\nepochs = 3", r"unknown table \[trian\]", r"Did you mean train\?"),
        ("[flash]\nfast = true", r"unknown table \[flash\]", "Known: attach, train,"),
        ("train = 3", "'train' is not a table", r"Write \[train\]"),
        ("[train]\nepochs = 'many'", "train.epochs is 'many'", "a whole number"),
        ("[train]\nepochs = 3.0", "train.epochs is 3.0", "a whole number"),
        ("[train]\nepochs = true", "train.epochs is True", "a whole number"),
        ("[train]\nlearning_rate = 'x'", "train.learning_rate is 'x'", "a number"),
        ("[train]\nlearning_rate = true", "train.learning_rate is True", "a number"),
        ("[train]\ndataset = 3", "train.dataset is 3", "text"),
        ("[train]\ntaps = 'M'", "train.taps is 'M'", "a list"),
        ("[train]\ntaps = [1, 2]", r"train\.taps is \(1, 2\)", "a list of names"),
        ("[train]\nepochs = -1", "train.epochs is -1", "between 0 and 10000"),
        ("[train]\nepochs = 0", "train.epochs is 0", "--mode posthoc on a finished --backbone"),
        ("[train]\ndelta = 2.0", "train.delta is for --head huber", "gaussian now"),
        ("[train]\nlearn_nu = true", "train.learn_nu is for --head student-t", "gaussian now"),
        ("[train]\nadaptive = true\nmode = 'detach'", "adaptive is for --mode joint", "detach now"),
        ("[train]\ndetach_from = 3\nmode = 'posthoc'", "for --mode joint", "posthoc now"),
        ("[train]\nadaptive = true\nlambda_ss = 0.0", "no lambda_ss to start from", "above 0"),
        ("[train]\nseed = -1", "train.seed is -1", "between 0 and"),
        ("[train]\nlearning_rate = nan", "train.learning_rate is nan", "between"),
        ("[train]\nlearning_rate = inf", "train.learning_rate is inf", "between"),
        ("[train]\nmode = 'jiont'", "train.mode is 'jiont'", "joint, detach, posthoc"),
        ("[calibrate]\nmap = 'linear'", "calibrate.map is 'linear'", "auto, temperature"),
        ("[calibrate]\nthird = 'fourth'", "calibrate.third is 'fourth'", "none, energy"),
        (
            "[calibrate]\nmap = 'logistic'\nthird = 'energy'",
            "the map logistic takes no third input",
            "gated or gated-taps",
        ),
        ("[calibrate]\nmap = 'gated'\ntaps = 'none'", "the map gated reads the heads", "evidence"),
        (
            "[calibrate]\ntaps = 'none'\nthird = 'energy'",
            "no map without heads takes a third input",
            "Leave one",
        ),
        (
            "[calibrate]\nmap = 'gated'\nhidden = 4",
            "gated has no hidden layer",
            "evidence, or auto",
        ),
        (
            "[calibrate]\nmap = 'evidence'\nhidden = 65",
            "calibrate.hidden is 65",
            "between 0 and 64",
        ),
        ("[calibrate]\nforeign = 1.5", "calibrate.foreign is 1.5", "between 0 and 1"),
        ("[calibrate]\nthreshold = 'f1'\ntarget = 0.3", "f1 takes no target", "out"),
        ("[calibrate]\ntarget = 1.5", "calibrate.target is 1.5", "between 0 and 1"),
        ("[calibrate]\nthreshold = 'risk'\ntarget = 1.0", "of threshold risk, is 1.0", "0.99"),
        ("[calibrate]\nkappa = 0.0", "calibrate.kappa is 0.0", "between 1e-05 and 1"),
        ("[quantize]\nsamples = 0", "quantize.samples is 0", "between 1 and"),
        ("[bench]\nwarmup = -1", "bench.warmup is -1", "between 0 and"),
        ("[train", r"recipe\.toml is not TOML", "Fix that line"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(
    text: str, message: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load(text, tmp_path)
    assert re.search(hint, caught.value.hint or "")


@pytest.mark.parametrize("item", ["train.epochs", "epochs=3", "=", ""])
def test_an_override_has_a_form(item: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load("", tmp_path, item)
    assert caught.value.hint == "Write it as stage.option=value."


def test_an_override_of_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"train of .* is not a table"):
        load("train = 3", tmp_path, "train.epochs=4")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*No such file"):
        load_recipe(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match=r"cannot read .*directory"):
        load_recipe(tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "firmware.bin"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ConfigError, match="it is not text"):
        load_recipe(path)


def test_override_replaces_what_was_given() -> None:
    options = CalibrateOptions()
    assert override(options, map=None, target=0.5) == replace(options, target=0.5)
    # It comes from the command line, so it is a matter of usage.
    with pytest.raises(UsageError, match=r"calibrate\.target"):
        override(options, target=2.0)


def test_a_threshold_without_a_target_has_that_of_its_rule() -> None:
    shares = {rule: CalibrateOptions(threshold=rule).share for rule in THRESHOLDS}
    assert shares == THRESHOLDS
    assert CalibrateOptions(threshold="risk", target=0.2).share == 0.2
    assert {rule for rule in THRESHOLDS if CalibrateOptions(threshold=rule).promises} == {
        "risk",
        "false-alarm",
    }


@pytest.mark.parametrize(("options", "f"), RANGES)
def test_no_option_lies_outside_of_its_range(options: type[StageOptions], f: "Field[Any]") -> None:
    told = option_of(f)
    assert told.limits
    low, high = told.limits
    several = isinstance(f.default, tuple)
    outside = [high * 1.01 + 1, float("nan")]
    outside += [low - 1] if low - 1 != told.unset else [low - 2]
    for value in outside:
        with pytest.raises(ConfigError, match=rf"{options.stage}\.{f.name} is") as caught:
            options(**{f.name: (low, value) if several else value})
        assert "between" in (caught.value.hint or "")


@pytest.mark.parametrize(("options", "f"), CHOICES)
def test_no_option_is_another_than_its_choices(
    options: type[StageOptions], f: "Field[Any]"
) -> None:
    wrong: Any = ("sideways",) if isinstance(f.default, tuple) else "sideways"
    with pytest.raises(ConfigError, match=f"{f.name} is 'sideways'") as caught:
        options(**{f.name: wrong})
    assert ", ".join(option_of(f).one_of) in (caught.value.hint or "")


def test_a_value_that_stands_for_none_given_is_no_matter_of_range() -> None:
    assert TrainOptions(image_size=0).image_size == 0
    assert EvalOptions(limit=None).limit is None


def test_every_default_passes_its_own_checks() -> None:
    tables = {f.name.replace("_", "-"): asdict(getattr(Recipe(), f.name)) for f in fields(Recipe)}
    tables["train"]["taps"] = list(tables["train"]["taps"])
    assert recipe_from(tables) == Recipe()
