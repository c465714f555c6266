"""The glyphs' pictures and split, and the captioners: training, and what ships."""

import unicodedata
from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib.ft2font")

from transformers import AutoModelForImageTextToText

from rbpkit import load_corpus, load_summaries, measure
from rbpkit.errors import InputError
from rbpkit_pocket import captioners, paths, training
from rbpkit_pocket.glyphs import (
    FREETYPE,
    SIDE,
    SPLITS,
    as_shipped,
    draw,
    load_glyphs,
    make_list,
    measured_glyphs,
    pictures,
    twins_key,
)
from rbpkit_pocket.plugin import GLYPH_CORPORA

SMALL = captioners.GlyphCaptioner(32, 1, 1, 1, steps=6, batch=4)


@pytest.fixture(autouse=True)
def torch_as_it_was():
    deterministic = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(deterministic)


# --- pictures and split ----------------------------------------------------------------------


def test_a_picture_is_seeded_and_has_ink_on_paper():
    one = draw("DejaVuSerif", ord("g"))
    assert one.shape == (SIDE, SIDE) and one.dtype == np.uint8 and not (one % 17).any()
    assert (one == draw("DejaVuSerif", ord("g"))).all()
    assert (one != draw("DejaVuSerif", ord("g"), 1)).any()
    assert one.min() < 120 and np.median(one) > 220
    assert one[16:].min() < 120, "its tail is below the middle"


def test_the_list_is_what_the_rule_makes():
    made = make_list()
    shares = made["split"].value_counts(normalize=True)
    assert 0.08 < shares["test"] < 0.12 and 0.03 < shares["valid"] < 0.07
    for split in SPLITS:
        here = made[made["split"] == split]
        listed = load_glyphs(split)
        assert {int(code, 16) for code in here["code"]} == set(listed["code"])
        assert len(listed) == sum(int(bits, 16).bit_count() for bits in here["fonts"])


@pytest.mark.parametrize("twins", ["oóøｏ𝐨ⓞº", "αάᾳ𝛂", "1¹①１", "éèe"])  # noqa: RUF001
def test_twins_share_a_key_and_so_a_side(twins):
    assert len({twins_key(ord(c)) for c in twins}) == 1


def test_no_character_twin_or_picture_is_on_two_sides():
    assert twins_key(ord("o")) != twins_key(ord("O"))
    keys, drawings = {}, {}
    for split in SPLITS:
        keys[split] = set(load_glyphs(split)["code"].map(twins_key))
        drawings[split] = {picture.tobytes() for picture in pictures(split, 0)}
    for split, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not keys[split] & keys[other] and not drawings[split] & drawings[other]
    table = load_glyphs()
    assert not table.duplicated(["code", "font"]).any()
    assert all(
        unicodedata.name(chr(c)) == n for c, n in zip(table["code"], table["name"], strict=True)
    )


def test_an_unknown_split_is_refused():
    with pytest.raises(InputError, match="no split 'dev'"):
        load_glyphs("dev")


# --- training --------------------------------------------------------------------------------


def test_all_sizes_see_the_same_pictures_once_a_pass():
    passes = [captioners.batch_of(step, 64)[1] for step in (0, 1)]
    assert len(captioners._order(0)) == len(load_glyphs("train")) == len(set(captioners._order(0)))
    assert not np.array_equal(captioners._order(0), captioners._order(1))
    for name in [*passes[0], *passes[1]]:  # an end, and neither it nor a picture before
        assert int(name[-1]) == 0 and (name[:-1] > 1).all()


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


def test_changed_corpora_keep_the_names_and_change_the_pictures():
    names, shown = measured_glyphs("")
    for kind in ("-shuffled", "-blank"):
        others, pictures_ = measured_glyphs(kind)
        assert others == names and (pictures_ != shown).any(axis=(1, 2)).all()
    known, drawn = measured_glyphs("-seen")
    assert set(known) <= set(load_glyphs("train")["name"]) and len(drawn) == len(shown)
    assert not {one.tobytes() for one in drawn} & {one.tobytes() for one in pictures("train", 0)}


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
