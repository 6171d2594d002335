"""How a data set is found by name or path."""

import pytest

from snapcli.config import TrainOptions
from snapcli.data import check_dataset, load_dataset
from snapcli.errors import UsageError


def test_a_data_set_knows_the_name_it_was_found_by() -> None:
    assert load_dataset(TrainOptions(dataset="digits")).name == "digits"


def test_a_typo_is_answered_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="unknown data set 'digts'") as caught:
        load_dataset(TrainOptions(dataset="digts"))
    assert caught.value.hint == "Did you mean digits?"


def test_nonsense_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        check_dataset("librispeech-960h")
    hint = caught.value.hint or ""
    assert hint == "Known: digits, mnist, cifar10, speechcmd, tinyimagenet, PATH."


@pytest.mark.parametrize("path", ["photos/", "no/such/folder", "mine.npz"])
def test_a_path_that_is_not_there_is_named(path: str) -> None:
    with pytest.raises(UsageError, match=f"there is no {path}"):
        check_dataset(path)


def test_a_published_set_is_loaded_once() -> None:
    first = load_dataset(TrainOptions())
    assert load_dataset(TrainOptions(epochs=1)) is first
    assert load_dataset(TrainOptions(augment=("none",))) is not first
