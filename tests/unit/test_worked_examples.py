"""The worked examples in docstrings."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "module",
    ["graph.plan", "emit.overlap", "emit.packing", "score.maps.class_gated", "score.maps.gated"],
)
def test_a_worked_example_works(module: str) -> None:
    result = doctest.testmod(import_module(f"snapcli.{module}"))
    assert result.attempted >= 3
    assert result.failed == 0
