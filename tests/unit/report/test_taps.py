"""The picture is well-formed and says what it was given."""

from xml.etree import ElementTree

import numpy as np

from snapcli.report.taps import draw_taps
from snapcli.score.selection import TapCost, TapStep

SVG = "{http://www.w3.org/2000/svg}"


def test_every_figure_is_in_the_picture() -> None:
    names = ["E", "M", "P & co <1>"]
    correlation = np.array([[1, 0.25, -0.5], [0.25, 1, 0.75], [-0.5, 0.75, 1]])
    steps = [
        TapStep("M", 0.71, 0.06, TapCost(1, 2), 0.1),
        TapStep("E", 0.735, 0.025, TapCost(2, 3), 0.1),
    ]
    text = draw_taps(names, correlation, np.array([0.11, 0.22, 0.33]), 0.65, steps, "a run")
    root = ElementTree.fromstring(text)
    words = [t.text for t in root.iter(f"{SVG}text")]
    for expected in ("P & co <1>", "-0.50", "0.75", "0.33", "0.650", "0.710", "+ E", "a run"):
        assert expected in words
    circles = [float(c.attrib["cy"]) for c in root.iter(f"{SVG}circle")]
    assert circles == sorted(circles, reverse=True)  # upwards is better


def test_colour_follows_the_value() -> None:
    def fills(value: float) -> str:
        text = draw_taps(["a"], np.array([[value]]), np.zeros(1), 0.5, [], "")
        rects = list(ElementTree.fromstring(text).iter(f"{SVG}rect"))
        return rects[1].attrib["fill"]

    assert fills(1.0) == "#b2182b"
    assert fills(-1.0) == "#2166ac"
    assert fills(0.0) == "#f7f7f7"
