"""Markup cannot be broken by what it says, and a path goes where its points are."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.report.markup import path, prose, tag, text

places = st.floats(-2000, 2000)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_any_words_come_back(words: str) -> None:
    element = ElementTree.fromstring(tag("p", text(words), data_tip=words))
    assert (element.text or "") == words
    # An attribute's line ends and tabs are blanks to any reader of XML.
    assert element.attrib["data-tip"] == re.sub(r"[\t\n\r]", " ", words)


def test_commands_among_words() -> None:
    assert prose("Run: `a <b>`, or `c`.") == "Run: <code>a &lt;b&gt;</code>, or <code>c</code>."


def test_names_of_attributes() -> None:
    assert tag("a", class_="x", aria_label="y", hidden=None) == '<a class="x" aria-label="y"></a>'


@given(st.lists(st.tuples(places, places), min_size=1, max_size=50), st.integers(0, 2))
def test_a_path_does_not_drift(points: list[tuple[float, float]], digits: int) -> None:
    """Steps are taken between rounded places, so errors do not add up."""
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path(points, digits))]
    x = y = 0.0
    for (dx, dy), (px, py) in zip(
        zip(numbers[::2], numbers[1::2], strict=True), points, strict=True
    ):
        x, y = x + dx, y + dy
        assert x == pytest.approx(px, abs=0.5001 * 10**-digits + 1e-9)
        assert y == pytest.approx(py, abs=0.5001 * 10**-digits + 1e-9)
