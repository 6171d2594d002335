"""How a data set is found by name."""

import pytest

from snapcli.data import load_dataset
from snapcli.errors import UsageError


def test_a_data_set_knows_the_name_it_was_found_by() -> None:
    assert load_dataset("digits").name == "digits"


def test_a_typo_is_answered_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="unknown data set 'digts'") as caught:
        load_dataset("digts")
    assert caught.value.hint == "Did you mean digits?"


def test_nonsense_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        load_dataset("imagenet-21k")
    assert caught.value.hint == "Known: digits."
