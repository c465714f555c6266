"""What others published: values with their sources, S from public shapes, the blind check."""

import math

import numpy as np
import pandas as pd
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


def S_of_shape(block: str, L: int, d: int, inner: int, kv: int) -> int:
    """Parameters of L blocks and the norms about them, matrix by matrix."""
    norm, mlp = 2 * d, 2 * d * inner + inner + d  # with biases
    if block in ("gpt", "opt-350m", "bloom"):
        # OPT-350M: no last norm, and 512-wide embeddings projected in and out
        rest = {"gpt": norm, "opt-350m": 2 * 512 * d, "bloom": 2 * norm}[block]
        return L * (4 * (d * d + d) + mlp + 2 * norm) + rest
    if block == "gpt-neo":
        return L * (4 * d * d + d + mlp + 2 * norm) + norm
    if block == "gpt-j":  # one norm a block, attention and MLP side by side
        return L * (4 * d * d + mlp + norm) + norm
    if block in ("llama", "qwen"):
        biases = d + 2 * kv if block == "qwen" else 0
        return L * (2 * d * d + 2 * d * kv + biases + 3 * d * inner + 2 * d) + d
    if block == "mamba":  # state 16, convolution over 4
        rank = math.ceil(d / 16)
        mixing = 3 * d * inner + 5 * inner + inner * (rank + 32) + (rank + 1) * inner
        return L * (mixing + 17 * inner + d) + d
    if block == "mamba-2":  # state 128, heads of 64, one group
        heads, convolved = inner // 64, inner + 2 * 128
        mixing = d * (inner + convolved + heads) + 5 * convolved + 3 * heads
        return L * (mixing + inner + inner * d + d) + d
    assert block == "rwkv-4"  # time mixing, channel mixing, two norms
    return L * (4 * d * d + 5 * d + 9 * d * d + 2 * d + 2 * norm) + 2 * norm


def test_S_follows_from_the_public_shapes():
    shapes = load("shapes").set_index("model")
    S = {name: S_of_shape(*row) for name, *row in shapes.itertuples()}
    plain = pd.concat([load("models"), load("pythia")])
    plain = plain.assign(shape=plain.model.str.removesuffix("-deduped"))
    openlm = load("openlm")
    short = openlm.model.str.split("-", n=1).str[1].str.rsplit("-", n=1).str[0]
    openlm = openlm.assign(shape="open_lm-" + short.str.removeprefix("open_lm_"))
    for table in (plain, openlm):
        assert (table.S == table["shape"].map(S)).all()
    assert {*plain["shape"], *openlm["shape"]} == set(shapes.index)


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
