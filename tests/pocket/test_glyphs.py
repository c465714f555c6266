"""The glyphs' pictures and split, and the captioners: training, and what ships."""

import unicodedata
from dataclasses import replace

import pytest
import torch

pytest.importorskip("matplotlib.ft2font")

from transformers import AutoModelForImageTextToText

from rbpkit import load_corpus, load_summaries, measure
from rbpkit.errors import InputError
from rbpkit_pocket import captioners, paths, training
from rbpkit_pocket.glyphs import (
    FREETYPE,
    SPLITS,
    as_shipped,
    load_glyphs,
    pictures,
)
from rbpkit_pocket.plugin import GLYPH_CORPORA

SMALL = captioners.GlyphCaptioner(32, 1, 1, 1, steps=6, batch=4)


@pytest.fixture(autouse=True)
def torch_as_it_was():
    deterministic = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(deterministic)


# --- pictures and split ----------------------------------------------------------------------


def test_no_character_or_picture_is_on_two_sides():
    codes, drawings = {}, {}
    for split in SPLITS:
        codes[split] = set(load_glyphs(split)["code"])
        drawings[split] = {picture.tobytes() for picture in pictures(split, 0)}
    for split, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not codes[split] & codes[other] and not drawings[split] & drawings[other]
    table = load_glyphs()
    assert not table.duplicated(["code", "font"]).any()
    assert all(
        unicodedata.name(chr(c)) == n for c, n in zip(table["code"], table["name"], strict=True)
    )


# --- training --------------------------------------------------------------------------------


def test_a_step_lowers_the_loss_and_the_loss_is_the_models_own():
    model = captioners.initial_captioner(SMALL)
    greys, names = captioners.batch_of(0, 4)
    loss = captioners.loss_of(model, greys, names)
    total = 0.0
    for grey, name in zip(greys, names, strict=True):  # one at a time, by the model's own logits
        pixels = (torch.from_numpy(grey).float().expand(1, 3, -1, -1) / 255 - 0.96) / 0.25
        ids = torch.cat([torch.ones(captioners.PATCHES, dtype=torch.long), name])[None]
        logits = model(input_ids=ids, pixel_values=pixels).logits[0, captioners.PATCHES - 1 : -1]
        total += torch.nn.functional.cross_entropy(logits, name, reduction="sum").item()
    assert loss.item() == pytest.approx(total / sum(map(len, names)), rel=1e-5)
    loss.backward()
    torch.optim.SGD(model.parameters(), 0.1).step()
    assert captioners.loss_of(model, greys, names) < loss


def test_a_run_that_stops_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(captioners, "captioner_ce", lambda model: 0.0)
    monkeypatch.setattr(training, "LOG_EVERY", 2)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)

    def stop(row):
        if row["step"] == 4:  # the checkpoint is that of step 2
            raise KeyboardInterrupt

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    captioners.train_captioner(SMALL, whole)
    with pytest.raises(KeyboardInterrupt):
        captioners.train_captioner(SMALL, parts, watch=stop)
    with pytest.raises(InputError, match="another recipe"):
        captioners.train_captioner(replace(SMALL, rate=0.1), parts)
    captioners.train_captioner(SMALL, parts)
    weights = [one / "model" / "model.safetensors" for one in (whole, parts)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


# --- what ships ------------------------------------------------------------------------------


def test_fingerprint():
    freetype = pytest.importorskip("matplotlib.ft2font").__freetype_version__
    if freetype != FREETYPE:
        pytest.skip(f"FreeType {freetype} may round other pixels than {FREETYPE}")
    assert as_shipped() and load_corpus("pocket:glyphs", documents=2).source["as_shipped"]


def test_captioners_ship_and_give_their_numbers_again():
    sizes = [file.stat().st_size for file in paths.CAPTIONERS.rglob("*") if file.is_file()]
    assert sum(sizes) < 12 * 2**20 and len(captioners.CAPTIONER_SIZES) >= 6
    found = {
        (one.manifest.corpus, one.manifest.model): one
        for one in load_summaries(paths.CAPTIONER_SUMMARIES)
    }
    for one in captioners.CAPTIONER_SIZES:
        network = AutoModelForImageTextToText.from_pretrained(paths.CAPTIONERS / one.name)
        assert type(network).__name__ == "LlavaForConditionalGeneration"
        assert all((corpus, one.name) in found for corpus in map("pocket:{}".format, GLYPH_CORPORA))
    corpus = load_corpus("pocket:glyphs", documents=40)
    again = measure(paths.CAPTIONERS / captioners.CAPTIONER_SIZES[0].name, corpus).summary
    there = found["pocket:glyphs", captioners.CAPTIONER_SIZES[0].name]
    assert again.manifest.S == there.manifest.S
    assert again.document_tokens.tolist() == there.document_tokens[:40].tolist()
    assert again.document_nll == pytest.approx(there.document_nll[:40], rel=1e-3)
