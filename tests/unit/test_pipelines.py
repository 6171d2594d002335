"""The recipes that ship: each can be read, and says what the paper says."""

from pathlib import Path
from typing import Any

import pytest

from snapcli.assets import asset_dir
from snapcli.config import DATASETS, Recipe, TrainOptions, load_recipe
from snapcli.errors import UsageError
from snapcli.models import BACKBONES, load_backbone
from snapcli.models.backbone import with_default_taps
from snapcli.origin.recipe import recipe_for
from snapcli.targets import load_target

RECIPES = sorted(asset_dir("pipelines").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_names_things_that_exist(path: Path) -> None:
    recipe = load_recipe(path)
    assert path.stem.removesuffix("-quick") == recipe.train.dataset in DATASETS
    assert recipe.train.backbone in BACKBONES
    options = with_default_taps(recipe.train)
    assert len(load_backbone(recipe.train.backbone).taps(options.taps, options.ranks)) == 2
    assert load_target(recipe.export_c.target).emulator


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "digits"])
def test_the_quick_variant_is_the_shorter_one(name: str) -> None:
    whole, quick = (recipe_for(name, quick=quick).train for quick in (False, True))
    assert whole.dataset == quick.dataset == name
    assert whole.backbone == quick.backbone
    assert quick.epochs < whole.epochs


# Paper, "Optimization and schedules": optimizer, rate, last rate, epochs, batch, weight decay,
# lambda_ss and its ramp.
PAPER = {
    "mnist": ("adam", 1e-3, 1e-5, 50, 256, 1e-4, 5e-3, 5),
    "cifar10": ("sgd", 0.2, 5e-4, 200, 128, 5e-4, 1e-2, 20),
    "tinyimagenet": ("sgd", 0.15, 1e-4, 220, 128, 1e-4, 5e-3, 20),
    "speechcmd": ("adamw", 2e-3, 1e-5, 80, 256, 1e-3, 5e-3, None),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_whole_recipe_is_the_papers(name: str) -> None:
    optimizer, rate, last, epochs, batch, decay, lambda_ss, ramp = PAPER[name]
    train = recipe_for(name, quick=False).train
    assert train.optimizer == optimizer
    assert train.learning_rate == rate
    assert train.learning_rate * train.decay_to == pytest.approx(last, rel=1e-3)
    assert (train.epochs, train.batch_size) == (epochs, batch)
    assert train.weight_decay == decay
    assert train.lambda_ss == lambda_ss
    assert ramp is None or train.ramp == ramp
    assert train.mixup == 0.0
    assert train.label_smoothing == (0.1 if name == "cifar10" else 0.0)


def test_minimal_is_one_tap() -> None:
    def chosen(**given: Any) -> tuple[Any, Any]:
        options = with_default_taps(TrainOptions(**given))
        return options.taps, options.ranks

    assert chosen() == (("M", "P"), ())
    assert chosen(head="minimal") == (("P",), (32,))
    assert chosen(head="minimal", taps=("M",), ranks=(8,)) == (("M",), (8,))
    with pytest.raises(UsageError, match="minimal has one tap, not 2"):
        chosen(head="minimal", taps=("M", "P"))


def test_a_data_set_of_the_users_own_has_the_defaults() -> None:
    assert recipe_for("somewhere/mnist", quick=False) == Recipe()
    for name in ("somewhere/mnist", "digits"):
        with pytest.raises(UsageError, match="no quick recipe"):
            recipe_for(name, quick=True)
