"""Tests here change the files of a data set between two loads, which no user's process does."""

import pytest

from snapcli.data import loading


@pytest.fixture(autouse=True)
def _load_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_published", loading._published.__wrapped__)
