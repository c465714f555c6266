"""Laws over ranks: each is recognised when planted, fits are maxima, published values, figures."""

from __future__ import annotations

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import entr
from scipy.stats import nbinom, weibull_min

from rbpkit import paper
from rbpkit.audit import rank_laws
from rbpkit.audit.rank_laws import CANDIDATES, LOGNORMAL, PARAMETERS, fit_law
from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.records import Records
from rbpkit.sections.bootstrap import interval, resample_weights
from rbpkit.sections.s5_2_rank_fits import FORMS, fit_lognormal, lognormal_probability
from rbpkit.summary import Histogram

V = 500
EVERY = np.arange(1, V + 1)


def planted(name: str) -> np.ndarray:
    """p over 1..V of a law of this name, not by the code under test; near what models give."""
    k = EVERY.astype(float)
    if name == "lognormal":
        p = lognormal_probability(EVERY, 0.5, 2.2, V)
    elif name == "power law":
        p = k**-1.3
    elif name == "Zipf-Mandelbrot":
        p = (k + 4) ** -1.8
    elif name == "Weibull":
        p = weibull_min.cdf(k + 0.5, 0.4, scale=20) - weibull_min.cdf(k - 0.5, 0.4, scale=20)
    elif name == "normal":
        p = np.exp(-((k - 150) ** 2) / (2 * 80**2))
    else:
        p = nbinom.pmf(k - 1, 0.3, 0.01)
    return p / p.sum()


def counted(p: np.ndarray, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    dense = rng.multinomial(n, p)
    return EVERY[dense > 0], dense[dense > 0]


def records_of(ranks: np.ndarray, documents: int, corpus: str = "planted") -> Records:
    """Records with these ranks, dealt to documents of equal length."""
    T, length = ranks.size, ranks.size // documents
    index = np.arange(T, dtype=np.int32)
    manifest = Manifest(
        model="planted",
        revision="0",
        family="GPT2",
        S=1000,
        V=V,
        corpus=corpus,
        fingerprint="0",
        documents=documents,
        max_length=length + 1,
        dtype="float32",
        device="cpu",
        threads=1,
        batch_tokens=1,
        seed=0,
        versions=dict.fromkeys(("torch", "transformers", "tokenizers"), "0"),
        tokens=T,
        seconds=0.0,
        sha256="0",
        format=1,
    )
    return Records(
        document=(index // length).astype(np.int32),
        position=(index % length + 1).astype(np.int32),
        target=np.zeros(T, dtype=np.int32),
        n_greater=(ranks - 1).astype(np.int32),
        n_equal=np.zeros(T, dtype=np.int32),
        nll=(np.log(ranks) + 0.5).astype(np.float32),
        manifest=manifest,
    )


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return rank_laws.published_models()


@pytest.mark.parametrize(
    "name", ["lognormal", "Zipf-Mandelbrot", "Weibull", "normal", "negative binomial"]
)
def test_a_planted_law_has_the_highest_held_out_score(name):
    """In 2 of 2 samples of 2 x 20,000 ranks; the two forms of the lognormal count as one."""
    rng = np.random.default_rng(0)
    p, right = planted(name), 0
    for _ in range(2):
        (values, counts), (held, weights) = counted(p, 20_000, rng), counted(p, 20_000, rng)
        scores = {
            one: weights @ fit_law(one, values, values + 1, counts, V, 1).log_p[held - 1]
            for one in CANDIDATES
        }
        right += max(scores, key=scores.get).startswith(name)
    assert right == 2


def test_a_planted_power_law_is_lost_to_no_law_by_more_than_a_parameter():
    """Four candidates contain it as a limit, so held-out they tie with it: no winner to be seen."""
    rng = np.random.default_rng(0)
    (values, counts), (held, weights) = (counted(planted("power law"), 20_000, rng) for _ in "ab")
    scores = {
        one: weights @ fit_law(one, values, values + 1, counts, V, 1).log_p[held - 1]
        for one in CANDIDATES
    }
    lead = pd.Series(scores) - scores["power law"]
    assert lead.max() < 4  # nats in all; one needless parameter moves the score by about 1
    assert lead["Zipf-Mandelbrot"] > -8 and lead["lognormal, discrete"] > -8
    assert lead["negative binomial"] < -50 and lead["normal"] < -50


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("mu", "sigma"), [(-14.29, 5.76), (1.19, 3.69), (3.0, 1.0)])
def test_the_lognormals_are_those_of_rankdist(form, mu, sigma):
    p = lognormal_probability(EVERY, mu, sigma, V, form=form)
    values, counts = counted(p / p.sum(), 50_000, np.random.default_rng(0))
    fit = fit_lognormal(Histogram(values, counts), V, form=form)
    law = fit_law(f"lognormal, {form}", values, values + 1, counts, V, 1)
    score = counts @ law.log_p[values - 1]
    assert fit.log_likelihood - 0.05 <= score <= fit.log_likelihood + 1e-6
    assert law.entropy() == pytest.approx(entr(fit.probability(EVERY)).sum(), abs=1e-3)


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("k_min", [1, 2])
def test_a_fit_is_normalised_and_a_maximum(name, k_min):
    p = planted("Weibull") if name != "normal" else planted("normal")
    values, counts = counted(p, 20_000, np.random.default_rng(0))
    inside = values >= k_min
    values, counts = values[inside], counts[inside]
    law = fit_law(name, values, values + 1, counts, V, k_min)
    assert law.log_p.shape == (V - k_min + 1,)
    assert np.exp(law.log_p).sum() == pytest.approx(1, abs=1e-9)
    assert law.rbp(V, 0.3) == pytest.approx(1) and law.rbp(1, 0.3) > 0
    best, k = counts @ law.log_p[values - k_min], np.arange(k_min, V + 1.0)
    for place in range(PARAMETERS[name]):
        for step in (-0.02, 0.02):
            near = np.array(law.values)
            near[place] += step
            with np.errstate(all="ignore"):
                weight = CANDIDATES[name].log_weight(k, k_min, near)
            log_p = weight - np.logaddexp.reduce(weight)
            assert counts @ log_p[values - k_min] <= best + 0.02


def test_bins_and_exact_ranks_give_one_law():
    values, counts = counted(planted("Weibull"), 50_000, np.random.default_rng(0))
    edges = np.unique(np.round(np.geomspace(1, V + 1, 60)).astype(int))
    mass = np.histogram(values, edges, weights=counts)[0]
    for name in ("Weibull", "lognormal, rounded", "negative binomial"):
        exact = fit_law(name, values, values + 1, counts, V, 1)
        binned = fit_law(name, edges[:-1], edges[1:], mass, V, 1)
        assert np.abs(exact.rbp(EVERY) - binned.rbp(EVERY)).max() < 0.003


def test_what_no_bins_can_be_is_refused():
    with pytest.raises(InputError, match="no candidate"):
        fit_law("cauchy", [1, 2], [2, 3], [1, 1], 10, 1)
    with pytest.raises(InputError, match="positive counts"):
        fit_law("Weibull", [1, 2], [2, 3], [1, 1], 10, 2)


def test_the_tables_of_a_job():
    """Document means in the score, the interval around the difference, errors on the odd half."""
    rng = np.random.default_rng(0)
    records = records_of(rng.choice(EVERY, 20_000, p=planted("Weibull")), 40)
    table = rank_laws.rank_models_table(records)
    assert len(table) == 2 * len(CANDIDATES)
    for k_min, rows in table.groupby("k_min"):
        assert rows["behind"].min() == 0 and (rows["behind_low"] <= rows["behind"]).all()
        assert (rows["behind"] <= rows["behind_high"]).all()
        assert rows.loc[rows["score"].idxmax(), "candidate"] == "Weibull"
        assert rows.set_index("candidate").loc["Weibull", "error"] < 0.02
        assert (
            rows["scored"].iloc[0]
            == (records.rank()[10_000:] >= 0).sum()
            - ((records.document % 2 == 1) & (records.rank() < k_min)).sum()
        )
    again = rank_laws.rank_models_table(records)
    pd.testing.assert_frame_equal(table, again)
    levels = rank_laws.rank_levels_table(records).set_index("candidate")
    assert levels.loc["Weibull", ["error_1", "error_10", "error_100"]].abs().max() < 0.01
    p = planted("Weibull")
    assert levels.loc["Weibull", "entropy"] == pytest.approx(-(p * np.log(p)).sum(), abs=0.02)


def test_the_interval_covers_the_planted_difference():
    """Two given laws, 200 corpora of 40 documents whose tokens are alike: near 95%."""
    rng = np.random.default_rng(0)
    a, b = planted("Weibull"), planted("lognormal")
    gain = np.log(a / b)
    truth, inside = a @ gain, 0
    weights = resample_weights(np.arange(60), 400)
    for _ in range(200):
        ranks = rng.choice(EVERY, (60, 10), p=a)
        alike = np.where(rng.random((60, 10)) < 0.5, ranks[:, :1], ranks)  # half repeat the first
        sums = gain[alike - 1].sum(axis=1)
        low, high = interval(weights @ sums / (60 * 10))
        inside += low <= truth <= high
    assert 0.88 <= inside / 200 <= 0.99


def test_the_published_bins_are_nearer_to_a_weibull(published):
    score = published.set_index(["model", "candidate"])["score"]
    assert len(score) == 28
    assert score["pythia-14m", "lognormal, rounded"] == pytest.approx(-3.4047, abs=2e-4)
    assert score["pythia-12b", "Weibull"] == pytest.approx(-2.7816, abs=2e-4)
    found = rank_laws.lognormal_lead(published, ["model"])
    assert (found["lead"] < 0).all() and set(found["other"]) == {"Weibull"}
    # By less than the half rank by which a continuous law may be rounded otherwise.
    assert (-found["lead"]).max() < rank_laws.rounding_shift().median()


def test_the_lead_is_over_the_best_other_law_of_two_parameters():
    rows = [("m", name, 2, -3.0) for name in LOGNORMAL] + [("m", "Weibull", 2, -2.99)]
    rows += [("m", "normal", 2, -4.0), ("m", "power law", 1, -1.0)]
    names = ["model", "candidate", "parameters", "score"]
    (found,) = rank_laws.lognormal_lead(pd.DataFrame(rows, columns=names), ["model"]).itertuples()
    assert found.lead == pytest.approx(-0.01) and found.other == "Weibull"


@cache
def jobs(name: str, kind) -> pd.DataFrame:
    """A table over two jobs whose ranks are of a planted law, as the driver would write it."""
    rng = np.random.default_rng(0)
    parts = []
    for model in ("a", "b"):
        records = records_of(rng.choice(EVERY, 20_000, p=planted(name)), 40)
        parts.append(kind(records).assign(corpus="c", family="GPT2", model=model, S=1, V=V))
    return pd.concat(parts, ignore_index=True)


def test_the_figure_stands_with_and_without_the_pocket_half(published):
    alone = rank_laws.figure_rank_laws(published, None)
    assert len(alone.axes) == 1
    models = jobs("lognormal", rank_laws.rank_models_table)
    both = rank_laws.figure_rank_laws(published, models)
    assert len(both.axes) == 2
    points = rank_laws.rank_law_points(published, models)
    assert len(points) == 28 + 2 * 14 and np.isfinite(points["value"]).all()
    plt.close("all")


def test_every_published_bin_is_within_V():
    top = paper.rank_density().groupby("model")["bin_hi"].max()
    V_of = paper.models().set_index("model")["vocab_rows"]
    assert (top <= V_of[top.index] + 1).all()
