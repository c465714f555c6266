"""The rank view: the integers of `measure`, bytes that add up, a page that hides nothing."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.records import Records
from rbpkit.tools.look import Alternative, look, pieces
from rbpkit.tools.look_page import BUCKETS, PAGES, RAMPS, bucket, page, visible, write_page

CODE = '''def mean(values):
    """Return the arithmetic mean of the given values.

    The sum of the values divided by their number; the list must not be empty.
    """
    total = 0.0
    for value in values:
        total += value
    return total / len(values)
'''
ODD = (
    "HTML: <b>&amp;</b> \"quotes\" </pre><script>alert(1)</script><!-- 'x' -->\r\n\ttab\n"
    "nul \x00 esc \x1b del \x7f nel \x85 bidi \u202e\u2066 nbsp \xa0 joiner \u200d bom \ufeff.\n"
    "漢字 🙂 naïve e\u0301 سلام \u2028 \ue000 \U000e0041 literal \\xe6 \\u200d ◌ ↵ ␣  two spaces\n"
)


@pytest.fixture(scope="module")
def model():
    return load_model(ladders.model_folder("Pythia", 0), device="cpu")


@pytest.fixture(scope="module")
def odd(model):
    return look(model, ODD, name="odd.txt")


# -- ranks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["pocket", "llama_folder", "capped_folder"])
@pytest.mark.parametrize("text", [CODE, ODD * 3], ids=["code", "odd"])
def test_the_integers_are_those_of_measure(folder, text, request, tmp_path):
    folder = (
        ladders.model_folder("Pythia", 0) if folder == "pocket" else request.getfixturevalue(folder)
    )
    model = load_model(folder, device="cpu")
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    done = measure(model, load_corpus(path), tmp_path / "records", max_length=100)
    records = Records.load(done.path)
    seen = look(model, text, max_length=100)
    assert [token.rank for token in seen.scored] == records.rank().tolist()
    assert [token.n_equal for token in seen.scored] == records.n_equal.tolist()
    assert [token.nll for token in seen.scored] == records.nll.tolist()
    assert [token.id for token in seen.scored] == records.target.tolist()
    assert [token.position for token in seen.scored] == records.position.tolist()
    assert seen.ce() == pytest.approx(records.ce(), rel=1e-12)
    assert all(seen.rbp(k) == records.rbp(k) for k in (1, 10, 100))
    assert (seen.S, seen.V) == (records.manifest.S, records.manifest.V)


@pytest.mark.parametrize("folder", ["llama_folder", "capped_folder"])
def test_alternatives_against_plain_softmax(folder, request):
    model = load_model(request.getfixturevalue(folder), device="cpu")
    seen = look(model, CODE, top=7)
    ids = torch.tensor([[token.id for token in seen.tokens]])
    p = model.logits(ids)[0].double().softmax(-1)
    for row, token in zip(p, seen.tokens[1:], strict=False):
        assert token.probability == pytest.approx(row[token.id].item(), rel=1e-4)
        best = row.topk(7).values.tolist()
        assert [other.probability for other in token.alternatives] == pytest.approx(best, rel=1e-4)
        for other in token.alternatives:
            assert other.probability == pytest.approx(row[other.id].item(), rel=1e-4)


def test_a_rank_is_the_place_among_the_alternatives(model):
    seen = look(model, CODE, top=10)
    near = [token for token in seen.scored if token.rank <= 10 and not token.n_equal]
    assert len(near) > 20
    for token in near:
        other = token.alternatives[token.rank - 1]
        assert (other.id, other.piece) == (token.id, token.piece)
        assert other.probability == pytest.approx(token.probability, rel=1e-4)


def test_ties_count_against_the_model(llama_folder):
    model = load_model(llama_folder, device="cpu")
    model.head.weight.zero_()  # every entry of the vocabulary ties with every other
    seen = look(model, CODE)
    assert {(token.rank, token.n_equal) for token in seen.scored} == {(ladders.V, ladders.V - 1)}
    assert "rank 4,096, 4,095 tied" in page(seen)


def test_what_is_not_scored_has_no_rank(model):
    seen = look(model, "one two<|endoftext|>three four five")
    (end,) = (token for token in seen.tokens if token.piece == b"<|endoftext|>")
    unscored = [token.position for token in seen.tokens if token.rank is None]
    assert unscored == [0, end.position, end.position + 1]
    assert page(seen).count('class="t u"') == 3


def test_a_long_text_is_cut_and_that_is_said(model):
    whole = look(model, CODE)
    assert whole.text_tokens == len(whole.tokens) and "is cut" not in page(whole)
    long = look(model, CODE * 10)
    assert len(long.tokens) == long.max_length == ladders.CONTEXT
    assert long.text_tokens == len(model.tokenizer(CODE * 10)["input_ids"]) > 256
    assert f"its first 256 of {long.text_tokens:,} tokens" in page(long)
    assert [t.rank for t in look(model, CODE, max_length=20).tokens] == [
        t.rank for t in whole.tokens[:20]
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"text": " \n"}, "empty"),
        ({"text": "a\ud800b"}, "surrogate"),
        ({"text": "x"}, "two tokens"),
        ({"top": 0}, "top=0"),
        ({"max_length": 1}, "max_length=1"),
    ],
)
def test_bad_arguments(options, says, model):
    with pytest.raises(InputError, match=says):
        look(model, **{"text": CODE, **options})


# -- pieces ----------------------------------------------------------------------------------


def test_byte_level_pieces_add_up_to_the_text(model, odd):
    assert b"".join(token.piece for token in odd.tokens) == ODD.encode()
    every = pieces(model.tokenizer, range(ladders.V))
    assert {bytes([b]) for b in range(256)} <= set(every)


def test_half_characters_name_the_whole_one(odd):
    parts = [token for token in odd.tokens if token.whole is not None]
    assert [t.piece for t in parts if t.whole == "漢"] == [b"\xe6", b"\xbc", b"\xa2"]
    for token in odd.tokens:
        if token.whole is None:
            token.piece.decode("utf-8")  # whole characters only
        else:
            assert token.piece in token.whole.encode() and "\ufffd" not in token.whole


def test_pieces_with_byte_fallback():
    vocabulary = {"\u2581the": 0, "\u2581": 1, "<0xE6>": 2, "re": 3, "<unk>": 4}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    inner.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")
    found = pieces(tokenizer, [0, 1, 2, 3, 4, 9])
    assert found == [b" the", b" ", b"\xe6", b"re", b"<unk>", b"<no token 9>"]


# -- the page --------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Reads a page as a browser would: each token's text with signs undone, its class, its card."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.stack, self.tokens, self.cards, self.tags = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.stack, "tags left open"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "meta":
            return
        kind = dict(attributes).get("class", "")
        self.stack.append((tag, kind))
        if kind.startswith("t "):
            self.tokens.append((kind.removeprefix("t "), b""))
            self.cards.append("")

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag, f"</{tag}> closes another tag"

    def handle_data(self, data):
        kinds = [kind for _, kind in self.stack]
        if "c" in kinds:
            self.cards[-1] += data
        elif any(kind.startswith("t ") for kind in kinds):
            tag, (group, so_far) = self.stack[-1][0], self.tokens[-1]
            data = b"" if tag == "i" else _undone(data) if tag == "u" else data.encode()
            self.tokens[-1] = (group, so_far + data)


def _undone(escapes: str) -> bytes:
    found = re.findall(r"\\(r|x..|u.{4}|U.{8})", escapes)
    codes = [13 if e == "r" else int(e[1:], 16) for e in found]
    # \x names a byte, \u and \U a character.
    parts = zip(found, codes, strict=True)
    return b"".join(bytes([code]) if e[0] in "rx" else chr(code).encode() for e, code in parts)


def test_the_page_says_every_token(odd):
    read = Reader(page(odd))
    assert len(read.tokens) == len(odd.tokens)
    for (group, data), card, token in zip(read.tokens, read.cards, odd.tokens, strict=True):
        assert data == token.piece
        assert group == ("u" if token.rank is None else f"r{bucket(token.rank)}")
        if token.rank is not None:
            assert f"rank {token.rank:,}" in card and f"{token.nll:.3f} nats" in card
            assert f"probability {token.probability:.3g}" in card
            assert all(f"{other.probability:.3g}" in card for other in token.alternatives)
        assert f"id {token.id}" in card
    stops = [a for tag, a in read.tags if a.get("class", "").startswith("t ")]
    assert all(a["tabindex"] == "0" for a in stops), "each token can have the focus"


def test_nothing_in_the_text_becomes_markup(model, odd):
    evil = replace(odd, text="<script>x</script>\u202e.txt", model='"><img src=x>')
    plain = Reader(page(look(model, CODE)))
    for seen in (odd, evil):
        read = Reader(page(seen))
        assert {tag for tag, _ in read.tags} <= {tag for tag, _ in plain.tags} | {"i", "u"}
        assert [tag for tag, _ in read.tags].count("script") == 1
    text = page(evil)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text
    )


def test_the_page_needs_nothing_else(odd):
    text = page(odd)
    read = Reader(text)
    names = {name for _, attributes in read.tags for name in attributes}
    assert not names & {"src", "href", "srcset", "data", "action", "onload", "onclick"}
    head = text[: text.index("<pre>")]
    assert not re.search(r"https?:|url\(|@import|//", head)
    assert "default-src 'none'" in head and "prefers-color-scheme: dark" in head


def test_head_lines(model):
    seen = look(model, CODE, name="mean.py")
    head = re.sub("<[^>]*>", " ", page(seen).split("<pre>")[0].split("<body>")[1])
    for fact in (
        "mean.py ranked by pythia-w32-l2",
        f"{seen.S:,}",
        "4,096",
        f"{len(seen.tokens)}, {len(seen.scored)} scored",
        f"{seen.ce():.4f} nats",
        f"{seen.rbp(1):.4f}",
        f"{seen.rbp(10):.4f}",
    ):
        assert fact in head
    shares = [float(share) for share in re.findall(r"rank [^:]*: ([0-9.]+)%", head)]
    assert len(shares) == len(BUCKETS) and sum(shares) == pytest.approx(100, abs=0.4)
    assert shares[0] == pytest.approx(100 * seen.rbp(1), abs=0.06)


def test_buckets():
    ranks = (1, 2, 5, 6, 10, 11, 100, 101, 1000, 1001, 50_257)
    assert [bucket(rank) for rank in ranks] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize(
    ("piece", "spaces", "shown"),
    [
        (b"\n\n", False, "<i>\u21b5</i>\n<i>\u21b5</i>\n"),
        (b"\n \t", True, "<i>\u21b5</i><i>\u2423</i><i>\u21e5</i>"),
        (b" a<", False, " a&lt;"),
        (b"\xe6\xbc", False, r"<u>\xe6\xbc</u>"),
        (b"\x00\r", False, r"<u>\x00\r</u>"),
        ("\x85\xa0\u202e".encode(), False, r"<u>\u0085\u00a0\u202e</u>"),
        ("\u0301x".encode(), False, "\u25cc\u0301x"),
        (b"", False, ""),
    ],
)
def test_visible(piece, spaces, shown):
    assert visible(piece, spaces=spaces) == shown


def test_512_tokens_stay_under_two_megabytes(odd):
    worst = max(odd.scored, key=lambda token: len(token.piece))
    other = Alternative(50_256, b"\xff" * 16, 1e-10)
    token = replace(worst, piece=b"\xff" * 16, alternatives=(other,) * 5)
    assert 300_000 < len(page(replace(odd, tokens=(token,) * 512)).encode()) < 2_000_000


# -- colours ---------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as the colour-blind see it.
SEEN_BY = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def luminance(colour: str, matrix=SEEN_BY["all cones"]) -> float:
    """Relative luminance of #rrggbb, 0 to 1 (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    seen = [min(1, max(0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), seen, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme):
    surface, panel, ink, faint, _, accent = PAGES[theme]
    for background, on_it in RAMPS[theme]:
        assert contrast(background, on_it) >= 4.5
    assert min(contrast(i, s) for i in (ink, faint) for s in (surface, panel)) >= 4.5
    assert contrast(accent, surface) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", list(SEEN_BY))
def test_groups_differ_in_grey_and_for_the_colour_blind(theme, eyes):
    lightness = [116 * luminance(b, SEEN_BY[eyes]) ** (1 / 3) - 16 for b, _ in RAMPS[theme]]
    steps = [later - one for one, later in pairwise(lightness)]
    assert min(abs(step) for step in steps) >= 7, [round(x) for x in lightness]
    assert len({step > 0 for step in steps}) == 1, "lightness goes one way"


# -- files and the command line --------------------------------------------------------------


def test_a_page_is_written_whole_or_not_at_all(odd, tmp_path, monkeypatch):
    path = write_page(odd, tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == page(odd)
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_page(odd, path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]


@pytest.fixture
def run(rbpkit, monkeypatch, tmp_path):
    """Run `rbpkit look` in a folder of its own -> (status, out, err)."""
    monkeypatch.chdir(tmp_path)
    return partial(rbpkit, "look")


def test_command(run, model):
    Path("mean.py").write_bytes(b"\xef\xbb\xbf" + CODE.encode())
    folder = ladders.model_folder("Pythia", 0)
    status, out, err = run("--model", folder, "--text", "mean.py", "--device", "cpu")
    assert (status, out) == (0, "mean.py.look.html\n"), err
    seen = look(model, CODE, name="mean.py")
    assert Path("mean.py.look.html").read_text(encoding="utf-8") == page(seen)
    assert f"RBP_10 {seen.rbp(10):.4f}" in err and "cut" not in err
    status, out, err = run(
        *("--model", folder, "--text", "mean.py", "--device", "cpu"),
        *("--out", "short.html", "--max-length", 16, "--top", 2, "--dtype", "bfloat16"),
    )
    assert status == 0 and f"16 tokens of {seen.text_tokens}, the rest is cut" in err
    assert Reader(Path("short.html").read_text(encoding="utf-8")).cards[1].count("0.") <= 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"--text": "none.txt"}, "none.txt: cannot be read (No such file"),
        ({"--text": "."}, "cannot be read (Is a directory"),
        ({"--text": "empty.txt"}, "the file is empty"),
        ({"--text": "latin.txt"}, "latin.txt:2: not UTF-8 at byte 8"),
        ({"--text": "one.txt"}, "two tokens to score"),
        ({"--model": "./none"}, "no such folder"),
        ({"--model": "."}, "config.json"),
        ({"--top": 0}, "--top must be at least 1"),
        ({"--top": 51}, "--top must be at most 50"),
        ({"--max-length": 1}, "--max-length must be at least 2"),
        ({"--dtype": "int8"}, "float32"),
        ({"--device": "abacus"}, "abacus"),
        ({"--out": " "}, "--out is empty"),
        ({"--out": "."}, "is a folder"),
        ({"--out": "good.txt"}, "is the text itself"),
        ({"--out": "nowhere/page.html"}, "there is no folder nowhere"),
    ],
)
def test_bad_input_is_one_line(arguments, says, run):
    Path("good.txt").write_text(CODE)
    Path("one.txt").write_text("x")
    Path("empty.txt").write_text("\ufeff \n", encoding="utf-8")
    Path("latin.txt").write_bytes("naive\nna\xefve".encode("latin-1"))
    before = sorted(os.listdir())
    folder = ladders.model_folder("Pythia", 0)
    options = {"--model": folder, "--text": "good.txt", "--device": "cpu", **arguments}
    status, out, err = run(*(word for option in options.items() for word in option))
    assert (status, out) == (2, "") and says in err and err.count("\n") == 1, err
    assert sorted(os.listdir()) == before, "nothing is written"
    assert Path("good.txt").read_text() == CODE
