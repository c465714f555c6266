"""Appendix A as tables: what is counted, what the digits tell, and what the figures draw."""

import itertools
import json

import matplotlib
import numpy as np
import pandas as pd
import pytest

from rbpkit import figures, figures_setup, paper, pocket, setup_tables, sources
from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.pocket_configs import config_of

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def pythia() -> sources.Curves:
    curves = sources.published_curves(1)
    return {key: curve for key, curve in curves.items() if key[1] == "Pythia"}


@pytest.fixture(scope="module")
def by_sizes(pythia) -> pd.DataFrame:
    return setup_tables.r2_by_sizes(pythia)


@pytest.fixture(scope="module")
def cards() -> pd.DataFrame:
    configs = {("Pythia", name): config_of("Pythia", shape) for name, shape in _shapes("Pythia")}
    configs |= {("Qwen", name): config_of("Qwen", shape) for name, shape in _shapes("Qwen")}
    root = pocket.models_root()
    return setup_tables.ladder_cards(configs, root, root.parent / "runs")


def _shapes(family):
    return [(pocket.name_of(family, shape), shape) for shape in pocket.LADDERS[family]]


def shares(T, counts):
    return [round(count / T, 6) for count in counts]


# -- models, corpora, thresholds -------------------------------------------------------------


def test_counted_models_are_the_published_ones():
    table = setup_tables.model_table()
    pd.testing.assert_series_equal(table["S"], table["S_published"], check_names=False)
    published = paper.models()
    assert table["V"].tolist() == published["vocab_rows"].tolist()
    assert table["embedding"].tolist() == published["embedding_params"].tolist()
    # Footnote 2: 50,256 for Pythia, 151,936 for Qwen up to 7B; nothing is quoted of the others.
    quoted = table.groupby("family")["V_footnote"].agg(["count", "min", "max"])
    assert quoted["count"].to_dict() == {"GPT2": 0, "OPT": 0, "Pythia": 10, "Qwen": 4}
    assert quoted.loc["Pythia", "min"] == quoted.loc["Pythia", "max"] == 50_256
    assert quoted.loc["Qwen", "min"] == quoted.loc["Qwen", "max"] == 151_936


def test_S_spans_four_decades():
    spans = setup_tables.span_table().set_index("family")
    assert spans.loc["all", "models"] == 24
    assert spans.loc["all", "decades"] == pytest.approx(4.05, abs=0.005)
    assert spans.loc["all", "smallest"] == spans["smallest"].min() == 1_189_888


def test_corpora_and_thresholds():
    assert setup_tables.corpus_table()["corpus"].tolist() == list(paper.CORPORA)
    found = setup_tables.thresholds()
    assert found["Figure 3"] == (1,)
    assert found["Figure 4"] == (10, 50, 100)
    assert found["Figure 5"] == (20_000, 30_000)
    assert found["Table 1"] == (1, 10, 100, 500, 2500, 10_000)


# -- token counts from digits ----------------------------------------------------------------


def test_compatible_counts_are_those_of_a_naive_search():
    values = shares(317, [3, 50, 120, 211, 300])
    naive = [
        T
        for T in range(1, 2001)
        if all(any(round(c / T, 6) == value for c in range(T + 1)) for value in values)
    ]
    assert setup_tables.compatible_counts(values, 2000).tolist() == naive
    assert 317 in naive and 634 in naive


@pytest.mark.parametrize("T", [24_141, 317_414, 501_486])
def test_a_known_count_is_recovered(T):
    counts = np.random.default_rng(0).integers(T // 10, T, 60)
    found = setup_tables.compatible_counts(shares(T, counts))
    # Beside T there can be its multiples, and the mirror image of T or of a multiple.
    known = {m * T for m in range(1, 22)} | {1_000_000 - m * T for m in range(1, 42)}
    assert T in found and set(found.tolist()) <= known


def test_values_of_two_counts_fit_none():
    counts = np.arange(5_000, 9_000, 97)
    values = shares(24_141, counts) + shares(33_233, counts)
    assert setup_tables.compatible_counts(values, 100_000).size == 0


def test_token_table_is_the_shipped_one():
    table = setup_tables.token_table().set_index(["corpus", "family"])
    shipped = paper.token_counts().set_index(["dataset", "family"])
    assert len(table) == 16
    legal = table.loc["AusLegal"]
    # All of AusLegal is ambiguous by its digits alone, by a mirror image.
    assert (legal["compatible"] == 2).all() and (legal["smallest"] + legal["largest"] == 1e6).all()
    for key, row in table.iterrows():
        tokens, also = shipped.loc[key, ["tokens", "also_admissible"]]
        assert row["tokens"] == tokens
        if key[0] == "AusLegal":
            assert tokens in (row["smallest"], row["largest"])
            assert pd.isna(also) or {tokens, also} == {row["smallest"], row["largest"]}
        else:
            assert tokens == row["smallest"]
    assert (table.loc["Wiki", "compatible"] == 1).all()
    assert set(table.index[table["tokens"] >= setup_tables.AT_LEAST].get_level_values(0)) == {
        "AusLegal"
    }


@pytest.mark.parametrize(
    ("values", "ceiling", "said"),
    [
        ([], 100, "0 values"),
        ([0.5], 0, "ceiling 0"),
        ([0.1234567], 100, "6 decimals"),
        ([0.5, 1.5], 100, "1.5"),
        ([0.5, float("nan")], 100, "nan"),
    ],
)
def test_bad_values_are_refused(values, ceiling, said):
    with pytest.raises(InputError, match=said):
        setup_tables.compatible_counts(values, ceiling)


# -- lines by the number of sizes ------------------------------------------------------------


def test_every_choice_of_five_or_more(by_sizes):
    sizes = by_sizes.query("corpus == 'Wiki'").groupby("n").size().to_dict()
    assert sizes == {5: 252, 6: 210, 7: 120, 8: 45, 9: 10, 10: 1}
    ends = by_sizes.query("corpus == 'Wiki'").groupby("choice").size().to_dict()
    assert ends == {"": 627, "smallest": 5, "largest": 5, "all": 1}


def test_r2_is_that_of_numpy(pythia, by_sizes):
    curve = pythia["Wiki", "Pythia"]
    x, y = np.log(curve.S), np.log(curve.loss)
    expected = [
        np.corrcoef(x[list(chosen)], y[list(chosen)])[0, 1] ** 2
        for n in range(5, 11)
        for chosen in itertools.combinations(range(10), n)
    ]
    np.testing.assert_allclose(by_sizes.query("corpus == 'Wiki'")["R2"], expected, atol=1e-9)


def test_line_of_all_ten_is_table_1s(by_sizes):
    printed = paper.table1().query("k == '1' and family == 'Pythia'").set_index("dataset")["r2"]
    every = by_sizes.query("choice == 'all'").set_index("corpus")["R2"]
    assert len(every) == 4
    assert (every - printed.loc[every.index]).abs().max() <= 0.0006


def test_summary_counts_what_passes(by_sizes):
    summary = setup_tables.r2_summary(by_sizes).set_index(["corpus", "n"])
    assert summary.loc[("HumanEval", 10), "above"] == 0
    assert summary.loc[("Wiki", 10), "above"] == 1
    wiki = by_sizes.query("corpus == 'Wiki' and n == 9")
    row = summary.loc[("Wiki", 9)]
    assert row["above"] == pytest.approx((wiki["R2"] > 0.99).mean())
    assert row["n smallest"] == wiki.query("choice == 'smallest'")["R2"].item()
    assert row["n largest"] == wiki.query("choice == 'largest'")["R2"].item()


def test_few_models_give_no_line_and_none_is_no_error():
    few = Curve("c", "f", "RBP_1", ("a", "b", "c"), np.array([1e3, 1e4, 1e5]), np.full(3, 0.5))
    empty = setup_tables.r2_by_sizes({("c", "f"): few})
    assert not len(empty) and not len(setup_tables.r2_summary(empty))
    with pytest.raises(InputError, match="3 points"):
        setup_tables.r2_by_sizes({}, least=2)
    with pytest.raises(InputError, match="nothing to draw"):
        figures_setup.r2_panels(empty.assign(source="measured"))


# -- which S ---------------------------------------------------------------------------------


def test_S_is_the_paper_s_and_the_total_is_not():
    left_out = paper.models().set_index("model")["embedding_params"].to_dict()
    fits = setup_tables.which_S(sources.published_curves(1).values(), left_out)
    printed = paper.table1().query("k == '1'").rename(columns={"dataset": "corpus"})
    fits = fits.merge(printed, on=["corpus", "family"])
    assert len(fits) == 16
    assert (fits["alpha"] + fits["slope"]).abs().max() <= 0.0006
    assert (fits["alpha_total"] + fits["slope"]).abs().min() > 0.003
    wiki = fits.set_index(["corpus", "family"]).loc[("Wiki", "Pythia")]
    assert wiki["alpha_total"] == pytest.approx(0.097, abs=0.0006)
    assert wiki["R2_total"] == pytest.approx(0.974, abs=0.0006)


def test_total_recovers_a_law_in_the_total():
    S, embedding = np.array([1e5, 1e6, 1e7, 1e8]), np.array([4e5, 8e5, 2e6, 9e6])
    names = ("a", "b", "c", "d")
    rbp = np.exp(-20 * (S + embedding) ** -0.2)
    curve = Curve("c", "f", "RBP_1", names, S, rbp)
    row = setup_tables.which_S([curve], dict(zip(names, embedding, strict=True))).iloc[0]
    assert row["alpha_total"] == pytest.approx(0.2) and row["R2_total"] == pytest.approx(1)
    assert not len(setup_tables.which_S([curve], {"a": 1}))


# -- the pocket ladders ----------------------------------------------------------------------


def test_cards_of_shipped_and_planned_models(cards):
    pythia = cards.query("family == 'Pythia'")
    assert pythia["shipped"].all() and (pythia["CE"] > 0).all() and not pythia["tied"].any()
    assert pythia["S"].iloc[0] == 25_472 and pythia["S"].is_monotonic_increasing
    assert (pythia["S_and_head"] - pythia["S"] == pocket.V * pythia["width"]).all()
    for one, (name, shape) in zip(cards[6:].itertuples(), _shapes("Qwen"), strict=True):
        assert (one.model, one.width, one.layers) == (name, shape.width, shape.layers)
        assert one.tied != bool(shape.untied)


def test_a_shipped_config_goes_before_the_planned_one(tmp_path):
    config = config_of("Pythia", pocket.Shape(64, 1, 2))
    config.save_pretrained(tmp_path / "there")
    assert json.loads((tmp_path / "there" / "config.json").read_text())["hidden_size"] == 64
    planned = config_of("Pythia", pocket.Shape(32, 1, 1))
    cards = setup_tables.ladder_cards(
        {("Pythia", "there"): planned, ("Pythia", "not"): planned}, tmp_path, tmp_path
    )
    assert cards["shipped"].tolist() == [True, False]
    assert cards["width"].tolist() == [64, 32] and cards["CE"].isna().all()


def test_ce_is_the_last_of_the_run(tmp_path):
    (tmp_path / "one.csv").write_text("step,valid_ce\n1,5.0\n2,4.5\n3,\n")
    config = config_of("Pythia", pocket.Shape(32, 1, 1))
    cards = setup_tables.ladder_cards({("Pythia", "one"): config}, tmp_path, tmp_path)
    assert cards["CE"].tolist() == [4.5]


# -- the figures' points ---------------------------------------------------------------------


def test_figure_A1_csv_holds_every_model(cards, tmp_path):
    points = figures_setup.ladder_points(paper.models(), cards)
    figures.save(figures_setup.ladders(points), points, str(tmp_path), "figure_A1")
    drawn = pd.read_csv(tmp_path / "figure_A1.csv").query("source == 'paper'")
    published = paper.models()
    assert drawn["model"].tolist() == published["model"].tolist()
    assert drawn["S"].tolist() == published["S"].tolist()


def test_figure_A2_csv_holds_table_1s_cells(by_sizes, tmp_path):
    both = by_sizes.assign(source="published")
    # A second source with two families, one of them unknown to the paper.
    ours = [by_sizes.query("n > 8").assign(source="measured", family=f) for f in ("OPT", "Mine")]
    figure = figures_setup.r2_panels(pd.concat([both, *ours]))
    figures.save(figure, both, str(tmp_path), "figure_A2")
    drawn = pd.read_csv(tmp_path / "figure_A2.csv").query("choice == 'all'").set_index("corpus")
    printed = paper.table1().query("k == '1' and family == 'Pythia'").set_index("dataset")["r2"]
    assert len(drawn) == 4
    assert (drawn["R2"] - printed.loc[drawn.index]).abs().max() <= 0.0006


def test_figure_A3_csv_ends_at_the_token_table(tmp_path):
    steps = setup_tables.narrowing()
    figures.save(figures_setup.narrowing_panels(steps), steps, str(tmp_path), "figure_A3")
    drawn = pd.read_csv(tmp_path / "figure_A3.csv").groupby(["corpus", "family"])
    table = setup_tables.token_table().set_index(["corpus", "family"])
    assert (drawn["compatible"].last() == table["compatible"].sort_index()).all()
    assert (drawn["smallest"].last() == table["smallest"].sort_index()).all()
    assert (drawn["compatible"].first() == setup_tables.CEILING).all()
