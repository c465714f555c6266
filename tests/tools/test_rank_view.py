"""The rank view: the ranks of `measure`, bytes that add up, a page that hides nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from rbpkit import Corpus, load_model, measure
from rbpkit.palette import rank_group
from rbpkit.records import slug
from rbpkit.tools.rank_view import look, page, pieces, visible
from rbpkit_pocket import families

CODE = '''def mean(values):
    """Return the arithmetic mean of the given values."""
    return sum(values) / len(values)
'''
ODD = (
    "HTML: <b>&amp;</b> \"quotes\" </pre><script>alert(1)</script><!-- 'x' -->\r\n\ttab\n"
    "nul \x00 esc \x1b bidi \u202e nbsp \xa0 joiner \u200d \ufeff 漢字 🙂 e\u0301 سلام  spaces\n"
)


@pytest.fixture(scope="module")
def model():
    return load_model(families.model_folder("Pythia", 0), device="cpu")


@pytest.mark.parametrize("head", ["linear", "capped", "own logits"])
def test_alternatives_against_plain_softmax(head, model, capped_folder):
    model = model if head == "linear" else load_model(capped_folder, device="cpu")
    if head == "own logits":
        model = replace(model, head=None)
    seen = look(model, CODE, top=7)
    p = model.logits(torch.tensor([[token.id for token in seen.tokens]]))[0].double().softmax(-1)
    for row, token in zip(p, seen.tokens[1:], strict=False):
        ids, _, probabilities = zip(*token.alternatives, strict=True)
        assert probabilities == pytest.approx(row.topk(7).values.tolist(), rel=1e-4)
        assert probabilities == pytest.approx(row[list(ids)].tolist(), rel=1e-4)
        if token.rank <= 7 and not token.n_equal:
            assert ids[token.rank - 1] == token.id


def test_what_is_not_scored_has_no_rank_and_a_long_text_is_cut(model):
    seen = look(model, "one two<|endoftext|>three four five")
    [end] = (at for at, token in enumerate(seen.tokens) if token.piece == b"<|endoftext|>")
    unscored = [at for at, token in enumerate(seen.tokens) if token.rank is None]
    assert unscored == [0, end, end + 1]
    assert page(seen).count('class="t u"') == 3
    cut = look(model, CODE * 10)
    assert len(cut.tokens) == families.POCKET_CONTEXT == 256
    assert "is cut" in page(cut) and "is cut" not in page(seen)


@pytest.mark.parametrize("stride", [0, 30])
@pytest.mark.parametrize("text", [CODE, ODD[-60:]], ids=["code", "odd"])
def test_a_document_of_a_corpus_after_its_prompt_or_in_windows(text, stride, capped_folder):
    model = load_model(capped_folder, device="cpu")
    prompts = None if stride else ("# The mean of some values.\n",) * 2
    corpus = Corpus("two", (CODE, text), prompts=prompts)
    settings = {"max_length": 40 if stride else 100, "stride": stride}
    records = measure(model, corpus, **settings).records
    one = Corpus("one", corpus.documents[1:], prompts=prompts and prompts[1:])
    seen = look(model, one, **settings)
    of_second = records.document == 1
    expected = {"rank": records.rank(), "n_equal": records.n_equal, "id": records.target}
    for name, column in expected.items():
        assert [getattr(token, name) for token in seen.scored] == column[of_second].tolist()
    nll = [token.nll for token in seen.scored]
    assert nll == pytest.approx(records.nll[of_second].tolist(), abs=1e-5)
    assert seen.ce() == pytest.approx(np.mean(nll))
    assert seen.rbp(10) == (records.rank()[of_second] <= 10).mean()


def test_byte_level_pieces_add_up_to_the_text(model):
    assert b"".join(token.piece for token in look(model, ODD).tokens) == ODD.encode()
    assert {bytes([b]) for b in range(256)} <= set(pieces(model.tokenizer, range(families.V)))


def test_pieces_with_byte_fallback():
    vocabulary = {"\u2581the": 0, "\u2581": 1, "<0xE6>": 2, "r\xe9": 3, "<unk>": 4}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    inner.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback()])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")
    found = pieces(tokenizer, [0, 1, 2, 3, 4, 9])
    assert found == [b" the", b" ", b"\xe6", "r\xe9".encode(), b"<unk>", b"<no token 9>"]


def test_the_page_shows_every_token_and_nothing_in_the_text_becomes_markup(model):
    odd = replace(look(model, ODD), text="<script>x</script>", model='"><img src=x>')
    read = BeautifulSoup(page(odd), "html.parser")
    plain = BeautifulSoup(page(look(model, CODE)), "html.parser")
    assert {tag.name for tag in read.find_all()} == {tag.name for tag in plain.find_all()}
    for span, token in zip(read.select("pre > .t"), odd.tokens, strict=True):
        card = span.select_one(".c").extract().text
        assert span.text == visible(token.piece, "\u21b5\n", "\u21e5\t", " ")
        assert span["class"] == ["t", "u" if token.rank is None else f"r{rank_group(token.rank)}"]
        assert f"id {token.id}" in card
        if token.rank is not None:
            assert f"rank {token.rank:,}" in card and f"{token.nll:.3f} nats" in card
            assert all(f"{p:.3g}" in card for _, _, p in token.alternatives)


def test_groups_of_ranks_and_signs_in_tokens():
    ends_of_groups = (1, 2, 5, 6, 10, 11, 100, 101, 1000, 1001, 50_257)
    assert [rank_group(rank) for rank in ends_of_groups] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert visible(b"\n \ta") == "\u21b5\u2423\u21e5a"
    assert visible(b"\xe6\xbc\x00\r" + "\xa0\u202e漢".encode()) == r"\xe6\xbc\x00\r\xa0\u202e漢"


def test_command(rbpkit, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mean.py").write_bytes(b"\xef\xbb\xbf" + CODE.encode())
    asked = ["look", "--model", families.model_folder("Pythia", 0), "--text"]
    status, out, err = rbpkit(*asked, "mean.py", "--device", "cpu")
    assert (status, out) == (0, f"mean.py.{slug(model.name)}.look.html\n"), err
    seen = look(model, Corpus("mean.py", (CODE,)))
    assert Path(out.strip()).read_text(encoding="utf-8") == page(seen)
    assert f"RBP_10 {seen.rbp(10):.4f}" in err
    Path("empty.py").touch()
    for wrong in (("mean.py", "--top", 0), ("empty.py",)):
        status, out, err = rbpkit(*asked, *wrong)
        assert (status, out) == (2, "") and err.count("\n") == 1, err
    asked = ["look", "--corpus", "pocket:humaneval", "--documents", 4, "--max-length", 20]
    asked += ["--model", families.model_folder("Pythia", 0), families.model_folder("OPT", 0)]
    status, out, err = rbpkit(*asked, "--document", 3, "--out", "two.html")
    assert (status, out) == (0, "two.html\n"), err
    headings = BeautifulSoup(Path("two.html").read_text(), "html.parser").find_all("h1")
    assert [one.text.split(" ranked by ")[0] for one in headings] == ["pocket:humaneval-3"] * 2
    for wrong in (["--document", 4], ["--text", "mean.py"]):
        status, out, err = rbpkit(*asked, *wrong)
        assert (status, out) == (2, "") and err.count("\n") == 1, err
