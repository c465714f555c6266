"""The explorables: their pages hold today's data, need nothing from elsewhere, and move."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from rbpkit.tools.rank_view import look
from rbpkit_pocket.families import model_folder

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "explorables"
NAMES = ("tokens", "law", "knee", "line")
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def maker():
    """docs/explorables/make.py, which is in no package."""
    found = importlib.util.spec_from_file_location("explorables_make", FOLDER / "make.py")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def data_of(name: str) -> dict:
    page = (FOLDER / f"{name}.html").read_text(encoding="utf-8")
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(data)


@pytest.mark.parametrize("name", ["law", "knee", "line"])
def test_a_page_holds_the_data_of_today(maker, name):
    made = json.loads(json.dumps(maker.PAGES[name][3]()))
    assert data_of(name) == made, f"python docs/explorables/make.py {name}"


def test_the_ranks_of_the_tokens_are_the_package_s(maker):
    from rbpkit import load_model

    data, texts = data_of("tokens"), maker.texts()
    assert [one["title"] for one in data["texts"]] == [one["title"] for one in texts]
    assert len(data["models"]) == len(data["runs"]) == 10
    model = load_model(model_folder("Pythia", 0), device="cpu")
    for text, shown in zip(texts, data["runs"][0], strict=True):
        ranks = [token.rank for token in look(model, text["text"]).tokens]
        assert [token.get("rank") for token in shown] == ranks
        assert "".join(token["piece"] for token in shown) == text["text"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_light_and_loads_only_what_lies_beside_it(name):
    page = (FOLDER / f"{name}.html").read_text(encoding="utf-8")
    loads = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"', page)
    files = [FOLDER / address for address in loads]
    assert all(path.is_file() for path in files), loads
    scripts = [path for path in files if path.suffix != ".png"]
    assert len(page.encode()) + sum(path.stat().st_size for path in scripts) < MOST_BYTES
    assert "alt=" in page


def test_what_is_vendored_comes_with_its_licence():
    licences = (FOLDER / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    for path in (FOLDER / "vendor").glob("*.js"):
        version = re.search(r"v(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8")[:300])[1]
        assert version in licences
    assert licences.count("Permission to use, copy, modify") == 2


# -- in a browser ----------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
WIDTHS = (1400, 390)


@pytest.fixture(scope="module", params=WIDTHS)
def browser(request, tmp_path_factory):
    """Headless Chromium, as wide as a screen or as a telephone."""
    pytest.importorskip("selenium", reason="pip install selenium: pages are moved in a browser")
    if not (CHROMIUM and DRIVER):
        pytest.skip("no chromium and chromedriver on this machine")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    quiet = ("no-first-run", "disable-background-networking", "disable-component-update")
    for flag in ("headless=new", "no-sandbox", "disable-gpu", *quiet):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    size = {"width": request.param, "height": 1000, "pixelRatio": 1}
    options.add_experimental_option("mobileEmulation", {"deviceMetrics": size})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Opened:
    """A page in the browser: its controls by name, and what it says."""

    def __init__(self, driver, name: str):
        self.driver = driver
        driver.get((FOLDER / f"{name}.html").as_uri())

    def all(self, selector: str):
        return self.driver.find_elements("css selector", selector)

    @property
    def said(self) -> str:
        return self.all(".said")[0].text

    def press(self, name: str, times: int = 1) -> None:
        from selenium.webdriver import Keys

        for _ in range(times):
            self.all(f'[name="{name}"]')[0].send_keys(Keys.ARROW_RIGHT)

    def choose(self, name: str, value: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.all(f'select[name="{name}"]')[0]).select_by_value(value)

    def close(self) -> None:
        """Nothing was logged, and nothing is wider than the screen."""
        assert self.driver.get_log("browser") == []
        wide, screen = self.driver.execute_script(
            "return [document.documentElement.scrollWidth, window.innerWidth]"
        )
        assert wide <= screen


def test_the_text_is_coloured_anew_by_a_larger_model(browser):
    page = Opened(browser, "tokens")
    before = page.said
    page.press("model", times=7)
    assert page.said != before
    first = data_of("tokens")["runs"][7][0]
    hits = sum(token.get("rank") == 1 for token in first)
    assert page.said.startswith(f"{hits} of {sum('rank' in token for token in first)}")
    page.all(".tokens span")[5].click()
    assert page.all(".queue tr.true td")[0].text == str(first[5]["rank"])
    page.choose("text", "3")
    assert "Paris" in page.all(".tokens")[0].text
    page.close()


def test_a_dragged_line_tells_its_miss_and_then_the_fitted_one(browser):
    from selenium.webdriver import ActionChains

    page = Opened(browser, "law")
    before = page.said
    ActionChains(browser).drag_and_drop_by_offset(page.all("circle.handle")[0], 0, -60).perform()
    dragged = page.said
    assert dragged != before and "R²" not in dragged
    page.press("right", times=3)
    assert page.said != dragged
    page.choose("family", "GPT2")
    page.choose("corpus", "Wiki")
    page.choose("k", "10")
    page.all('button[name="reveal"]')[0].click()
    assert "R²" in page.said
    page.close()


def test_the_knee_moves_and_rises_as_slowly(browser):
    page = Opened(browser, "knee")
    rise = re.search(r"takes ([\d.]+) decades", page.said)[1]
    where = re.search(r"succeed at (.*?) parameters", page.said)[1]
    page.press("N", times=3)
    assert re.search(r"takes ([\d.]+) decades", page.said)[1] == rise
    assert re.search(r"succeed at (.*?) parameters", page.said)[1] != where
    page.press("k")
    assert re.search(r"takes ([\d.]+) decades", page.said)[1] != rise
    page.close()


def test_in_cross_entropy_the_points_lie_on_one_line(browser):
    from selenium.webdriver.support.wait import WebDriverWait

    page = Opened(browser, "line")
    page.choose("corpus", "pocket:prose")
    page.choose("k", "10")
    by_size = float(re.search(r"by ([\d.]+)%", page.said)[1])
    page.all('button[name="cross-entropy"]')[0].click()
    WebDriverWait(browser, 10).until(lambda _: "cross-entropy" in page.said)
    by_ce = float(re.search(r"by ([\d.]+)%", page.said)[1])
    assert by_size > 15 and by_ce < 2
    page.close()
