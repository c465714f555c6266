"""The law in cross-entropy: planted exponents come back; data without the law fail the margin."""

import numpy as np
import pandas as pd
import pytest

from rbpkit.stats.ce_law import exponents_of, log_errors

S = np.geomspace(2e4, 2e6, 5)
ALPHA_CE = {"GPT2": 0.06, "OPT": 0.08, "fast": 0.14, "slow": 0.04}
EPS = {("prose", 1): 1.3, ("prose", 100): 2.1, ("code", 1): 1.6, ("code", 100): 1.9}


def planted(alpha_of, noise=0.002, seed=0):
    random = np.random.default_rng(seed)
    rows = []
    for corpus, k in EPS:
        for number, (family, alpha_CE) in enumerate(ALPHA_CE.items()):
            common = np.exp(noise * random.normal(size=S.size))  # a model that is good at both
            CE = 3 * (1 + 0.1 * number) * S**-alpha_CE * common
            loss = 2 * S ** -alpha_of(corpus, k, family) * common ** EPS[corpus, k]
            rows += [(corpus, family, k, *row) for row in zip(S, CE, loss, strict=True)]
    return pd.DataFrame(rows, columns=["corpus", "family", "k", "S", "CE", "loss"])


def rms(errors):
    return float(np.sqrt((errors.to_numpy() ** 2).mean()))


def test_planted_products_give_their_exponents_back():
    found = exponents_of(planted(lambda corpus, k, family: EPS[corpus, k] * ALPHA_CE[family]))
    assert len(found) == len(EPS) * len(ALPHA_CE)
    for row in found.itertuples():
        assert row.eps_k == pytest.approx(EPS[row.corpus, row.k], rel=1e-3)
        assert row.alpha_CE == pytest.approx(ALPHA_CE[row.family], abs=0.002)
    errors = {name: log_errors(found, name, ["GPT2", "OPT"]) for name in ("eps_k", "alpha_k")}
    assert list(errors["eps_k"].columns) == ["fast", "slow"]
    assert rms(errors["eps_k"]) < 0.01
    middle = np.sqrt(ALPHA_CE["GPT2"] * ALPHA_CE["OPT"])
    assert errors["alpha_k"]["fast"].mean() == pytest.approx(np.log(0.14 / middle), abs=0.05)
    assert rms(errors["eps_k"]) < rms(errors["alpha_k"]) / 3


def test_exponents_that_do_not_follow_cross_entropy_fail_the_margin():
    found = exponents_of(planted(lambda corpus, k, family: 0.1 * EPS[corpus, k]))
    assert rms(log_errors(found, "alpha_k", ["GPT2", "OPT"])) < 0.01
    assert rms(log_errors(found, "eps_k", ["GPT2", "OPT"])) > 0.15  # refuted, in docs/margins.md
