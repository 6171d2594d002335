"""Which outputs the classes of the data are."""

import pytest

from snapcli.data.user.classes import matched
from snapcli.errors import ConfigError

NAMES = ("Go", "_unknown_", "Stop")


def test_spelling_does_not_matter_and_the_models_names_stay() -> None:
    found = matched(["stop", "GO", "Unknown"], NAMES, 3, "here")
    assert found.names == NAMES
    assert found.index == {"stop": 2, "GO": 0, "Unknown": 1}
    assert found.notes == ()


def test_what_is_no_class_counts_as_unknown_if_there_is_one() -> None:
    found = matched(["bed", "cat", "go", "stop"], NAMES, 3, "here")
    assert found.index == {"bed": 1, "cat": 1, "go": 0, "stop": 2}
    assert found.notes == ("these count as 'unknown': bed, cat",)
    with pytest.raises(ConfigError, match="here has 'goo', which is not a class") as caught:
        matched(["goo", "stop"], ("go", "stop"), 2, "here")
    assert caught.value.hint == "Did you mean go?"


def test_a_class_without_examples_is_told() -> None:
    found = matched(["go"], ("go", "stop", "left"), 3, "here")
    assert found.notes == ("there are no examples of stop, left",)


def test_without_names_the_order_is_assumed_and_told() -> None:
    found = matched(["b", "a"], (), 2, "here")
    assert (found.names, found.index) == (("b", "a"), {"b": 0, "a": 1})
    assert found.notes[0].endswith("--labels changes: b, a")
    for count in (1, 3):
        with pytest.raises(ConfigError, match=f"2 classes, the model answers with {count}"):
            matched(["a", "b"], (), count, "here")


def test_numbers_are_outputs_and_need_no_order() -> None:
    """Sorted as words, 10 would come before 2."""
    found = matched(sorted(str(i) for i in range(12)), (), 12, "here")
    assert found.names == tuple(str(i) for i in range(12))
    assert all(index == int(name) for name, index in found.index.items())
    assert found.notes == ()
    with pytest.raises(ConfigError, match="here has the label 12"):
        matched(["0", "12"], (), 12, "here")
