"""The page of a run in a real browser, opened from disk."""

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapcli.report.contents import Contents, StageRecord
from snapcli.report.page import page
from snapcli.stages.fleet import fleet
from tests.unit.fleet.made_fleet import Made
from tests.unit.report.example import METHODS, NOT_RUN, example
from tests.unit.report.figures import figures, heads
from tests.unit.stages.board_report import report as bench_report

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (dev)")
WIDE, PHONE = 1280, 390
# Nothing of the browser's own goes out to the network.
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # The driver is given: selenium has no reason to look for one.
    service = webdriver.ChromeService(executable_path=driver)
    found = webdriver.Chrome(options=options, service=service)
    yield found
    found.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    contents = Contents(
        run="digits-001",
        model="dscnn-digits",
        dataset="digits",
        missing={"cost": "cost is not there yet. Run: snap cost"},
        evaluation=example(),
        figures=figures(heads(idle=True)),
        without_heads="snap calibrate --run " + 40 * "long-" + "name --taps none",
        benches={"small-mcu": bench_report()},
        made=[
            StageRecord(
                "train", "done", "snap train " + 40 * "--long ", 1, {}, {"a" * 90: "0" * 64}
            )
        ],
        recipe="[train]",
    )
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(page(contents), "utf-8")
    return path.as_uri()


def show(browser: Any, address: str, width: int = WIDE, scheme: str = "light") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < WIDE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(address)


@pytest.fixture
def shown(browser: Any, address: str) -> Iterator[Any]:
    """A fresh page; whatever a test does with it, the console stays empty."""
    show(browser, address)
    browser.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
    yield browser
    assert browser.get_log("browser") == []


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def click(browser: Any, selector: str) -> None:
    element = find(browser, selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    browser.execute_script("arguments[0].click()", element)


FIRST_TABLE = "#tables [data-source=int8] table"


def column(browser: Any, index: int) -> list[str]:
    script = (
        "return [...document.querySelector(arguments[0]).tBodies[0].rows]"
        ".map(row => row.cells[arguments[1]]?.dataset.v ?? row.cells[0].textContent)"
    )
    return list(browser.execute_script(script, FIRST_TABLE, index))


def test_a_click_sorts_a_table(shown: Any) -> None:
    before = column(shown, 0)
    assert before == [*METHODS, *NOT_RUN]
    heading = f"{FIRST_TABLE} thead tr:last-child th:nth-child(3)"
    click(shown, f"{heading} .sort")
    ran = [float(v) for v in column(shown, 2)[: len(METHODS)]]
    # More is better: the best comes first, what was not run last.
    assert ran == sorted(ran, reverse=True)
    assert column(shown, 2)[len(METHODS) :] == list(NOT_RUN)
    assert find(shown, heading).get_attribute("aria-sort") == "descending"
    click(shown, f"{heading} .sort")
    ran = [float(v) for v in column(shown, 2)[: len(METHODS)]]
    assert ran == sorted(ran)
    assert column(shown, 2)[len(METHODS) :] == list(NOT_RUN)
    click(shown, f"{FIRST_TABLE} thead tr:last-child th:first-child .sort")
    assert column(shown, 0) == sorted(before)


def test_a_table_is_copied_as_csv(shown: Any) -> None:
    shown.execute_script(
        "window.copied = ''; navigator.clipboard.writeText = async (t) => { window.copied = t; }"
    )
    click(shown, "#tables [data-source=int8] .table .copy")
    copied = shown.execute_async_script(
        "const look = () => copied ? arguments[0](copied) : setTimeout(look, 20); look()"
    )
    head, *rows = csv.reader(io.StringIO(copied))
    assert head[:5] == [
        "method",
        "accuracy",
        "pooled: AUROC",
        *(f"pooled: AUROC {e}" for e in ("low", "high")),
    ]
    assert {len(row) for row in rows} == {len(head)}
    pooled = next(
        m.errors.pooled.auroc
        for m in example().sources["int8"].methods
        if m.name == "snap" and m.errors
    )
    (snap,) = (row for row in rows if row[0] == "snap")
    assert [float(v) for v in snap[2:5]] == pytest.approx(
        [pooled.value, pooled.low, pooled.high], rel=1e-4
    )


def paper(browser: Any) -> str:
    script = "return getComputedStyle(document.body).backgroundColor"
    return str(browser.execute_script(script))


def test_the_theme_is_switched_and_remembered(shown: Any, address: str) -> None:
    light = paper(shown)
    click(shown, "#theme")
    dark = paper(shown)
    assert dark != light
    show(shown, address)
    assert paper(shown) == dark
    click(shown, "#theme")
    assert paper(shown) == light


def test_the_system_chooses_the_theme_until_somebody_does(shown: Any, address: str) -> None:
    light = paper(shown)
    show(shown, address, scheme="dark")
    dark = paper(shown)
    assert dark != light
    click(shown, "#theme")
    assert paper(shown) == light


def test_sources_are_switched(shown: Any) -> None:
    assert find(shown, "#tables [data-source=int8]").is_displayed()
    click(shown, "[data-show=float]")
    assert not find(shown, "#tables [data-source=int8]").is_displayed()
    assert find(shown, "#tables [data-source=float]").is_displayed()


def test_pointing_at_a_method_dims_the_others(shown: Any) -> None:
    figure = "#selective [data-source=int8] figure"
    click(shown, f"{figure} .legend button[data-method=energy]")
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.dataset.method)"
    assert shown.execute_script(script, f"{figure} .pointed .lit") == ["energy"]


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(
    shown: Any, address: str, width: int, scheme: str
) -> None:
    show(shown, address, width, scheme)
    # What is folded has to fit, too.
    shown.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    script = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert shown.execute_script(script) == [width] * 3


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_fleet_fits_too(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    records = Made(devices=60, days=12, shifted=(3,), day=8).records(0)
    (tmp_path / "all.snpt").write_bytes(records.tobytes())
    fleet([tmp_path / "all.snpt"], tmp_path / "fleet.html")
    show(browser, (tmp_path / "fleet.html").as_uri(), width, scheme)
    script = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert browser.execute_script(script) == [width] * 3
    drifting = "return document.querySelector('#devices tbody tr.ours th').textContent"
    assert browser.execute_script(drifting) == "4"
    assert browser.get_log("browser") == []
