"""What others published: values with their sources."""

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
