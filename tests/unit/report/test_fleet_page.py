"""The page of a fleet: whole, alone, small, and it says what drifts."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.report.fleet_page import fleet_page, lead
from snapcli.results.fleet import FleetReport
from snapcli.stages.fleet import fleet

from ..fleet.made_fleet import Made, joined
from .test_page import Tree

EVERYBODY = tuple(range(70))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    """Two of 70 devices drift, later all of them; then comes another build."""
    folder = tmp_path_factory.mktemp("fleet")
    first = Made(devices=70, days=12, shifted=(3, 9), day=8)
    then = Made(devices=70, days=2, first=12, shifted=EVERYBODY, by=0.6)
    other = Made(devices=6, days=6, first=9, check=1, number=100)
    records = joined(0, first, then, other)
    (folder / "all.snpt").write_bytes(records.tobytes() + b"SNPT" + bytes(130))
    return fleet([folder / "all.snpt"], folder / "fleet.html")


def test_it_is_well_formed_and_stands_alone(report: FleetReport) -> None:
    text = fleet_page(report)
    tree = Tree(text)
    assert len(tree.ids) == len(set(tree.ids))
    assert all(r.startswith("#") or r == "data:," for r in tree.references)
    assert {r[1:] for r in tree.references if r.startswith("#")} <= set(tree.ids)
    assert not re.search(r"https?://|url\(|@import|\bfetch\(", text)
    assert "nan" not in " ".join(tree.words).split()


def test_it_says_what_drifts(report: FleetReport) -> None:
    assert lead(report) == (
        "2 of 76 devices drift, the first since 2026-01-09. "
        "2 of 20 days differ from the first week, the first of them 2026-01-13."
    )
    words = " ".join(Tree(fleet_page(report)).words)
    for said in (
        "Device 4: U",
        "Device 10: F",
        "U and F",
        "2026-01-09",
        "26 other",
        "another version",
    ):
        assert said in words, said


def test_it_stays_small(report: FleetReport) -> None:
    assert len(fleet_page(report).encode()) < 250_000
    rows = report.devices.rows * 12
    many = replace(report, devices=replace(report.devices, rows=rows, count=100_000))
    page = fleet_page(many)
    assert len(page) - len(fleet_page(report)) < 100
    assert "99,950 other devices not shown" in page


def test_what_nobody_can_say_is_not_said(tmp_path: Path) -> None:
    records = Made(devices=2, days=2, clock=False).records(0)
    (tmp_path / "two.snpt").write_bytes(records.tobytes())
    report = fleet([tmp_path / "two.snpt"], tmp_path / "fleet.html")
    assert lead(report).startswith("Nothing can be compared yet")
    assert np.isnan(report.devices.rows[0].drift.limit).all()
    Tree(fleet_page(report))
