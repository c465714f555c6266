"""The glyphs and their captioners: a split that keeps apart, training that goes on, what ships."""

import pytest
import torch

pytest.importorskip("matplotlib.ft2font")

from rbpkit import load_summaries, measure
from rbpkit_pocket import captioners, paths, training
from rbpkit_pocket.captions import load_captioner, load_captions
from rbpkit_pocket.glyphs import SPLITS, load_glyphs, pictures


def test_no_character_or_picture_is_on_two_sides():
    codes, drawings = {}, {}
    for split in SPLITS:
        codes[split] = set(load_glyphs(split)["code"])
        drawings[split] = {picture.tobytes() for picture in pictures(split, 0)}
    for split, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not codes[split] & codes[other]
        assert not drawings[split] & drawings[other]


@pytest.fixture
def torch_as_it_was():
    deterministic = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(deterministic)


def test_a_run_that_stops_goes_on_to_the_same_weights(tmp_path, monkeypatch, torch_as_it_was):
    monkeypatch.setattr(captioners, "captioner_ce", lambda model: 0.0)
    monkeypatch.setattr(training, "LOG_EVERY", 2)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    small = captioners.GlyphCaptioner(width=32, layers=1, tower=1, heads=1, steps=6, batch=4)

    def stop(row):
        if row["step"] == 4:  # the checkpoint is that of step 2
            raise KeyboardInterrupt

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    captioners.train_captioner(small, whole)
    with pytest.raises(KeyboardInterrupt):
        captioners.train_captioner(small, parts, watch=stop)
    captioners.train_captioner(small, parts)
    weights = [one / "model" / "model.safetensors" for one in (whole, parts)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_a_captioner_that_ships_gives_its_numbers_again():
    name = captioners.CAPTIONER_SIZES[0].name
    summaries = load_summaries(paths.CAPTIONER_SUMMARIES)
    [shipped] = (
        one
        for one in summaries
        if (one.manifest.corpus, one.manifest.model) == ("pocket:glyphs", name)
    )
    captions = load_captions("pocket:glyphs", documents=40)
    again = measure(load_captioner(f"pocket:{name}"), captions).summary
    assert again.manifest.S == shipped.manifest.S
    assert again.document_tokens.tolist() == shipped.document_tokens[:40].tolist()
    assert again.document_nll == pytest.approx(shipped.document_nll[:40], rel=1e-3)
