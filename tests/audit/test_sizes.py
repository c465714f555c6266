"""Which size gives the straightest line: planted laws, counted parameters, published numbers."""

from dataclasses import replace

import numpy as np
import pytest

from rbpkit import paper
from rbpkit.audit import sizes
from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law


@pytest.fixture(scope="module")
def published():
    return sizes.published_sizes()


def _pythia(published):
    table = paper.models().query("family == 'Pythia'").sort_values("S")
    at = {s: [published[m].by_measure()[s] for m in table["model"]] for s in sizes.SIZES}
    return tuple(table["model"]), {size: np.array(x, float) for size, x in at.items()}


def _curve(models, S, loss):
    return Curve("Wiki", "Pythia", "RBP_1", models, S, np.exp(-loss))


def test_sizes_are_those_of_the_configurations(published, shipped):
    pytest.importorskip("torch")
    from rbpkit.files.architectures import paper_config, parameter_counts
    from rbpkit.pocket.analysis import all_runs
    from rbpkit.pocket.recipes import config_of

    runs, pocket = all_runs(), sizes.pocket_sizes(shipped)
    assert set(pocket) == {one.manifest.model for one in shipped}
    pairs = [(one, config_of(runs[name].family, runs[name].shape)) for name, one in pocket.items()]
    for hub_id in ("openai-community/gpt2", "facebook/opt-350m", "Qwen/Qwen2.5-7B"):
        pairs.append((published[hub_id.split("/")[1]], paper_config(hub_id)))
    for one, config in pairs:
        counts = parameter_counts(config)
        expected = (*counts[:2], bool(config.tie_word_embeddings))
        assert (one.S, one.embedding, one.tied) == expected, config
        width = getattr(config, "word_embed_proj_dim", config.hidden_size)
        assert one.output == counts.V * width


@pytest.mark.parametrize("planted", ["S", "all"])
def test_an_exact_law_is_recognised(published, planted):
    models, at = _pythia(published)
    loss = 3 * at[planted] ** -0.08
    table = sizes.by_size([_curve(models, at["S"], loss)], published)
    assert table.set_index("size")["R2"].idxmax() == planted
    assert sizes.wins(table).iloc[-1]["S_wins"] == (planted == "S")


@pytest.mark.parametrize(("planted", "other"), [("S", "all"), ("all", "S")])
def test_a_law_is_recognised_at_the_stated_rate(published, planted, other):
    """Scatter as on Wiki, fitted anew in each draw; other seeds than `power` uses."""
    models, at = _pythia(published)
    wiki = paper.points("Wiki", "Pythia", 1)
    sd = fit_power_law(wiki.S, wiki.loss).residual_sd
    x, y = at[planted], at[other]
    stated = sizes.power(_line(x, sd), x, y)
    assert stated > 0.85, "ten Pythias can tell"
    rng, draws = np.random.default_rng(1), 400
    won = 0
    for _ in range(draws):
        loss = 3 * x**-0.08 * np.exp(rng.normal(0, sd, len(models)))
        won += fit_power_law(x, loss).r2 > fit_power_law(y, loss).r2
    error = 4 * np.sqrt(stated * (1 - stated) * (1 / draws + 1 / sizes.DRAWS))
    assert won / draws == pytest.approx(stated, abs=error)


def _line(x, sd):
    """The law 3 x^-0.08 with a residual spread of sd."""
    exact = fit_power_law(x, 3 * x**-0.08)
    return replace(exact, residual_sd=sd)


def test_sizes_that_are_proportional_cannot_be_told():
    x = np.array([1e6, 1e7, 1e8, 1e9])
    law = _line(x, 0.05)
    wiggled = x * np.exp([0.01, -0.01, -0.01, 0.01])  # a hair off, at right angles to the line
    assert sizes.power(law, x, wiggled) == pytest.approx(0.5, abs=0.06)
    with pytest.raises(InputError):
        sizes.power(law, x, wiggled, draws=0)
    with pytest.raises(InputError):
        sizes.power(law, x, wiggled[:3])
