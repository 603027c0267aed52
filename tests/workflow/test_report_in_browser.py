"""The report in a real browser: filter, sort, open a failure, at three widths, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from ironsweep import report
from synthetic import sweep
from test_report import HOSTILE, sources

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no chromium with chromedriver")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a sweep with two failures."""
    cells, records, golden = sweep(sizes=(1_000, 10_000, 100_000, 200_000, 400_000))
    records[cells[0]["id"]] |= {"status": "crashed", "message": HOSTILE, "log_tail": "last words"}
    records[cells[1]["id"]] |= {"status": "timeout", "message": "took too long"}
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report.render(sources(cells, records, golden)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def started() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture
def browser(started: webdriver.Chrome, page: Path) -> Iterator[webdriver.Chrome]:
    """The page, just opened; at the end nothing was complained about, and nothing was fetched."""
    started.get(page.as_uri())
    yield started
    assert started.get_log("browser") == []
    asked = [entry["message"] for entry in started.get_log("performance") if "requestWillBeSent" in entry["message"]]
    assert not [message for message in asked if '"url":"http' in message]


def rows(browser: webdriver.Chrome) -> list[list[str]]:
    lines = browser.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    return [[cell.text for cell in line.find_elements(By.TAG_NAME, "td")] for line in lines]


def column(browser: webdriver.Chrome, name: str) -> int:
    heads = browser.find_elements(By.CSS_SELECTOR, "#table thead button")
    return [head.text for head in heads].index(name)


def test_filter_by_choice_and_by_words(browser: webdriver.Chrome) -> None:
    Select(browser.find_element(By.NAME, "variant")).select_by_visible_text("cpp_seq")
    Select(browser.find_element(By.NAME, "kernel")).select_by_visible_text("Apps_FIR")
    found = rows(browser)
    assert len(found) == 5 and {row[column(browser, "variant")] for row in found} == {"cpp_seq"}
    assert browser.find_element(By.ID, "place").text == "1 to 5 of 5 cells"
    browser.find_element(By.NAME, "words").send_keys("400000 apps")
    assert rows(browser) == []  # numbers are written with spaces
    browser.find_element(By.NAME, "words").clear()
    browser.find_element(By.NAME, "words").send_keys("nothing like it")
    assert browser.find_element(By.ID, "place").text == "no cell"


def test_sort_both_ways_with_what_has_no_number_at_the_end(browser: webdriver.Chrome) -> None:
    Select(browser.find_element(By.NAME, "kernel")).select_by_visible_text("Stream_TRIAD")
    at = column(browser, "median_s")
    head = browser.find_elements(By.CSS_SELECTOR, "#table thead button")[at]
    for direction in ("ascending", "descending"):
        head.send_keys(Keys.ENTER)  # by keyboard
        assert browser.find_elements(By.CSS_SELECTOR, "#table thead th")[at].get_attribute("aria-sort") == direction
        values = [row[at] for row in rows(browser)]
        assert sorted(values[-2:]) == ["crashed", "timeout"]
        numbers = [float(value) for value in values[:-2]]
        assert len(numbers) == 18 and numbers == sorted(numbers, reverse=direction == "descending")


def test_pages(browser: webdriver.Chrome) -> None:
    assert browser.find_element(By.ID, "place").text == "1 to 100 of 102 cells"
    browser.find_element(By.ID, "next").click()
    assert browser.find_element(By.ID, "place").text == "101 to 102 of 102 cells" and len(rows(browser)) == 2
    assert not browser.find_element(By.ID, "next").is_enabled()


def test_open_a_failure_whose_message_is_only_text(browser: webdriver.Chrome) -> None:
    (failure,) = [
        found for found in browser.find_elements(By.CSS_SELECTOR, "#failures details") if "crashed" in found.text
    ]
    words = failure.find_element(By.TAG_NAME, "pre")
    assert not words.is_displayed()
    failure.find_element(By.TAG_NAME, "summary").click()
    assert words.is_displayed() and words.text == "last words"
    assert HOSTILE in failure.text and not failure.find_elements(By.TAG_NAME, "img")


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_nothing_reaches_beyond_the_window(browser: webdriver.Chrome, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.find_element(By.ID, "table").is_displayed()
