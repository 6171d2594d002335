"""The table of an ablation comes back from its file as it was."""

import math
from dataclasses import asdict
from pathlib import Path

import pytest

from snapcli.errors import ArtifactError
from snapcli.metrics.bootstrap import Interval
from snapcli.results.ablate import AblateTable, Column, ablate_table
from snapcli.runs import write_json

COLUMNS = (Column("rank"), Column("gain", "higher"), Column("flash, B", "lower"))


def test_a_cell_is_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rank.json"
    rows = (
        {"rank": "8 *", "gain": None, "flash, B": 4321},
        {"rank": "16", "gain": Interval(0.25, 0.125, math.nan), "flash, B": None},
    )
    table = AblateTable("Ranks", COLUMNS, rows)
    write_json(path, asdict(table))
    # As text: nan is not equal to itself.
    assert repr(ablate_table(path)) == repr(table)


def test_an_interval_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rank.json"
    table = AblateTable("Ranks", COLUMNS[:1], ({"rank": {"value": 1.0}},))
    write_json(path, asdict(table))
    with pytest.raises(ArtifactError, match=r"rank\.json cannot be read: it has no low"):
        ablate_table(path)
