"""What others published: values with their sources, S from public shapes, the blind check."""

import numpy as np
import pytest

from rbpkit_notebooks.published_models import load


def test_every_number_has_a_source_with_a_place_and_a_licence():
    sources = load("sources")
    assert sources[["where", "files", "licence"]].notna().all(axis=None)
    assert {*load("models").source, "pythia", "openlm"} == set(sources.source)


PUBLISHED = {
    "gpt3-175b": 0.762,  # arXiv 2005.14165, zero-shot LAMBADA
    "bloom-176b": 0.6720357074,  # bigscience-workshop
    "Cerebras-GPT-13B": 0.696,  # its makers', not the failed run's 0.014
    "Mamba-2.8B": 0.692,  # arXiv 2312.00752, Table 3
    "fairseq-13b": 0.4798095671,  # arXiv 2212.11281
    "pythia-12b": 0.01626916248,  # arXiv 2304.11158
}


def test_published_values():
    shares = load("models").set_index("model")["share"][[*PUBLISHED]]
    assert shares.tolist() == pytest.approx([*PUBLISHED.values()], rel=2e-9)


def test_the_blind_predictions_are_as_they_were_written_down_and_what_became_of_them():
    blind = load("blind")
    predicted = [0.1732, 0.3763, 0.4835, 0.5839, 0.6029, 0.6410, 0.6869, 0.6991]
    assert blind["predicted"].tolist() == predicted
    v1 = load("pythia").query("suite == 'v1' and shots == 0")
    # The end of the training was withheld
    assert v1.tokens.max() < 299_892_736_000 and len(v1) == 8 * 15

    scored = blind.merge(load("pythia_lambada_zero_shot"), on=["model", "S"])
    right = scored.acc * 5153
    assert right.to_numpy() == pytest.approx([951, 1692, 2660, 3175, 3335, 3467, 3631], abs=1e-6)
    assert scored.acc.between(scored.low, scored.high).all()
    error = np.log(np.log(scored.predicted) / np.log(scored.acc))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(0.069, abs=5e-4)
