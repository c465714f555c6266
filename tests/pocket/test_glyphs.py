"""The glyphs and their captioners: a split that keeps apart, and what ships."""

import pytest

pytest.importorskip("matplotlib.ft2font")

from rbpkit import load_summaries, measure
from rbpkit_pocket import captioners, paths
from rbpkit_pocket.captions import load_captioner, load_captions

GLYPHS = "pocket:glyphs"


def test_a_captioner_that_ships_gives_its_numbers_again():
    name = captioners.CAPTIONER_SIZES[0].name
    summaries = load_summaries(paths.CAPTIONER_SUMMARIES)
    of_glyphs = {one.manifest.model: one for one in summaries if one.manifest.corpus == GLYPHS}
    shipped = of_glyphs[name]
    captions = load_captions(GLYPHS, documents=40)
    again = measure(load_captioner(f"pocket:{name}"), captions).summary
    assert again.manifest.S == shipped.manifest.S
    assert again.document_tokens.tolist() == shipped.document_tokens[:40].tolist()
    assert again.document_nll == pytest.approx(shipped.document_nll[:40], rel=1e-3)
