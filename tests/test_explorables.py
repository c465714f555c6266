"""The explorables: their pages hold today's data, and rank as the package does."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from bs4 import BeautifulSoup
from conftest import docs_module, refused

from rbpkit import load_model
from rbpkit.tools.rank_view import look
from rbpkit_notebooks import explorables
from rbpkit_pocket.families import POCKET_CONTEXT, model_folder


@pytest.fixture(scope="module")
def maker():
    return docs_module("explorables/make")


def data_of(page: Path) -> dict:
    text = page.read_text(encoding="utf-8")
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(data)


def test_the_ranks_of_the_tokens_are_the_package_s(maker):
    data, texts = data_of(explorables.PAGES / "tokens.html"), maker.texts()
    assert [one["title"] for one in data["texts"]] == [one["title"] for one in texts]
    assert len(data["models"]) == len(data["runs"]) == 10
    model = load_model(model_folder("Pythia", 0), device="cpu")
    for text, shown in zip(texts, data["runs"][0], strict=True):
        ranks = [token.rank for token in look(model, text["text"]).tokens]
        assert [token[1] if len(token) > 1 else None for token in shown] == ranks
        assert "".join(data["pieces"][token[0]] for token in shown) == text["text"]


@pytest.mark.parametrize("name", ["tokens", "law", "knee", "line"])
def test_a_page_is_one_file_with_the_scripts_and_the_data_of_today(maker, name):
    """JupyterLab gives a page nothing but itself."""
    path = explorables.PAGES / f"{name}.html"
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!data:)|@import|url\(["']?(?!#)""", page)
    for source in ("explorable.css", "explorable.js", f"{name}.js"):
        assert (maker.HERE / source).read_text(encoding="utf-8") in page, source
    assert explorables.still_of(name).startswith(b"\x89PNG")
    if name != "tokens":  # whose data every pocket model would have to make again
        made = json.loads(json.dumps(maker.PAGES[name][2]()))
        assert data_of(path) == made, f"python docs/explorables/make.py {name}"


def test_a_batch_gets_the_still_picture_and_a_reader_the_page(monkeypatch):
    shown = []
    monkeypatch.setattr(explorables, "display", shown.append)
    for can_answer in (False, True):
        shell = SimpleNamespace(parent_header={"content": {"allow_stdin": can_answer}})
        monkeypatch.setattr(explorables, "get_ipython", lambda shell=shell: shell)
        explorables.explorable("law")
    still, live = shown
    assert still.data == explorables.still_of("law")
    frame = BeautifulSoup(live.data, "html.parser").iframe
    page = (explorables.PAGES / "law.html").read_text(encoding="utf-8")
    assert frame["srcdoc"] == page


# -- your own text, whose models node runs ---------------------------------------------------


@pytest.fixture(scope="module")
def own(maker, tmp_path_factory) -> Path:
    """A folder with *Your own text*, which is made for the site and never committed."""
    folder = tmp_path_factory.mktemp("own")
    maker.write_own(folder)
    return folder


OWN_TEXTS = {
    "English": "I'm sure they'll say it's DON'T, and 'tis what she'd do. We've 3 of 1,234.5! 'S",
    "code": "def f(x, *y):\n\tif x<=0:\n        return {'a': -1e-5}\n\n\n    # _done_\n" * 3,
    "accents": "Ça coûte 12 €, à Zürich; e\u0301te\u0301. Привет, мир! Ελληνικά, עברית, हिन्दी",
    "numbers": "½ ² Ⅷ ① ٣ 10² x₁ 1st \uff11\uff12 三百",
    "CJK and emoji": "東京は首都です。👩\u200d👧 👍🏽 🇫🇷 ❤\ufe0f \U0001d4b3 𠀋 \u088f\U000105c0",
    "empty": "",
    "two tokens": "a b",
    "longer than the context": "The committee said that it would not agree, and so on. " * 60,
    "spaces": "  a \t b\u00a0c\u3000 d\u2003\u2003e\x85f\ufeffg \ufeff h\x1ci\x1f \n\n n  \n ",
    "ends of lines": "a\r\nb\rc\x0bd\x0ce\u2028f\u2029 \r\n\r\n  g\n",
    "controls": "\x00a\x01\u200bb\u2060\ufffd\ufffe\U0010ffff ~`^",
    "special": "<|endoftext|> a<|endoftext|>b c<|endoftext|><|endoftext|>x< |endoftext|> d<|endof",
}
NEAR = 1e-4  # logits so close may change places when sums are added in another order
READ_ALL = """
const { data, texts } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const tokenizer = makeTokenizer(data.tokenizer);
const finish = (work) => {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
};
const readWith = (network) => texts.map((text) => {
  const reading = finish(readText(tokenizer, network, text, data.context));
  const { ids, ranks, nll, isCut, logitsBefore } = reading;
  const last = ranks.findLastIndex((rank) => rank !== null);
  const first = last < 0 ? [] : firstOf(logitsBefore(last), ids[last], 10);
  return { ids: [...ids], ranks: [...ranks], nll: [...nll], isCut, first };
});
const runs = {};
for (const { name } of data.models) runs[name] = readWith(makeNetwork(WEIGHTS[name]));
console.log(JSON.stringify(runs));
"""


def assert_same_reading(shown: dict, model, text: str, kind: str) -> list[int]:
    """One text as the page and as the package read it -> the distances of their ranks."""
    tokens = look(model, text, top=10).tokens
    logits = model.logits(torch.tensor([shown["ids"]]))[0]
    distances = []
    for place, token in enumerate(tokens):
        rank = shown["ranks"][place]
        assert (rank is None) == (token.rank is None), (kind, place)
        if rank is None:
            continue
        before = logits[place - 1]
        near_ties = int(((before - before[token.id]).abs() < NEAR).sum()) - 1  # without itself
        distances.append(abs(rank - token.rank))
        assert distances[-1] <= near_ties, (model.name, kind, place, rank, token.rank)
        assert shown["nll"][place] == pytest.approx(token.nll, abs=1e-4)
        last = token
    shares = [one["p"] for one in shown["first"]]
    assert shares == pytest.approx([p for _, _, p in last.alternatives], abs=1e-5)
    return distances


@pytest.mark.skipif(not shutil.which("node"), reason="no node on this machine")
def test_the_page_reads_texts_as_the_package_does(maker, own, tmp_path):
    texts = list(OWN_TEXTS.values())
    scripts = [maker.HERE / "own_model.js", *own.glob("own_*.js")]
    program = tmp_path / "read.js"
    program.write_text("".join(path.read_text(encoding="utf-8") for path in scripts) + READ_ALL)
    given = json.dumps({"data": data_of(own / "own.html"), "texts": texts})
    ran = subprocess.run(["node", program], input=given, capture_output=True, text=True, check=True)
    read = json.loads(ran.stdout)
    for size in range(3):
        folder = model_folder("Pythia", size)
        model = load_model(folder, device="cpu")
        distances = []
        for (kind, text), shown in zip(OWN_TEXTS.items(), read[folder.name], strict=True):
            ids = model.tokenizer(text, verbose=False)["input_ids"]
            assert shown["ids"] == ids[:POCKET_CONTEXT], kind
            assert shown["isCut"] == (len(ids) > POCKET_CONTEXT), kind
            if any(rank is not None for rank in shown["ranks"]):
                distances += assert_same_reading(shown, model, text, kind)
                continue
            refused("token", look, model, text)
        moved = sum(distance > 0 for distance in distances)
        assert len(distances) > 600 and moved <= len(distances) / 100
