"""The report of a study: all in one page, nothing asked for from elsewhere, nothing unescaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rbpkit.errors import InputError
from rbpkit.study.params import load_params
from rbpkit.study.report import write_report
from rbpkit.study.reproduce import comparison

ROOT = Path(__file__).resolve().parents[2]
KS = (1, 10)


@pytest.fixture(scope="module")
def measured(shipped):
    return [one for one in shipped if one.manifest.family == "Pythia"]


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def made(measured, folder, out, **more) -> str:
    params = load_params(ROOT / "params" / "pocket.yaml")
    table = comparison(measured, KS)
    return write_report(params, measured, table, folder, out, **more).read_text(encoding="utf-8")


def test_one_page_with_every_figure_and_no_request(measured, tmp_path):
    figures = tmp_path / "figures"
    figures.mkdir()
    for name in ("figure_3.png", "figure_4.png"):
        (figures / name).write_bytes((ROOT / "figures" / name).read_bytes())
    (figures / "pocket_table_1.md").write_text("| a | b |\n| --- | --- |\n| 1 | 2 |\n")
    text = made(measured, figures, tmp_path / "out", seconds=12.0)
    page = Page(text)
    images = [attrs for tag, attrs in page.tags if tag == "img"]
    assert [one["alt"] for one in images] == ["figure_3", "figure_4"]
    assert all(one["src"].startswith("data:image/png;base64,") for one in images)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object"}
    assert not re.search(r"(?:src|href)=[\"']?https?:", text)
    words = " ".join(page.words)
    counts = f"{8 * 5} jobs: 8 models, 5 corpora"
    for word in ("pocket table 1", "pythia-w32-l2", "paper_from", counts):
        assert word in words
    assert "the whole run 12 s" in words


def test_what_failed_is_said_and_escaped(measured, tmp_path):
    text = made(measured, tmp_path, tmp_path, failed=["<script>alert(1)</script> on a & b"])
    page = Page(text)
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert "<script>alert(1)</script> on a & b" in " ".join(page.words)


def test_no_figures_no_failures(measured, tmp_path):
    text = made(measured, tmp_path / "none", tmp_path / "out")
    assert "What failed" not in text and "<img" not in text


def test_nothing_measured_is_refused(tmp_path):
    params = load_params(ROOT / "params" / "pocket.yaml")
    with pytest.raises(InputError, match="at least one"):
        write_report(params, [], None, tmp_path, tmp_path)
