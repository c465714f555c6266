"""How many misses a line needs: the rule of notebook 05, and every line against it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import linregress

from rbpkit import paper
from rbpkit.stats.noise import SMALL_K, misses_needed
from rbpkit_pocket.companions.choices import Study

SERIES = ["source", "corpus", "family"]
COLUMNS = [*SERIES, "model", "S", "tokens", "k", "rbp"]


def rule(study: Study) -> pd.DataFrame:
    """R2 of every falling line, and its models' misses (harmonic mean) over those needed."""
    every_k = pd.concat([_published(), _measured(study)]).astype({"rbp": float})
    rows = []
    for name, series in every_k.groupby(SERIES):
        rbp = series.pivot(index="k", columns=["S", "model", "tokens"], values="rbp").dropna()
        inside = ((rbp > 0) & (rbp < 1)).all(axis=1)
        rbp = rbp[inside & (rbp.nunique(axis=1) > 1)]
        small = rbp.index[rbp.index <= SMALL_K]
        S = rbp.columns.get_level_values("S").to_numpy(float)
        scored = rbp.columns.get_level_values("tokens").to_numpy(float)
        if len(np.unique(S)) < 3 or not len(small):
            continue
        fits = {k: linregress(np.log(S), np.log(-np.log(row))) for k, row in rbp.iterrows()}
        needed = misses_needed(-fits[small.max()].slope, S)
        for k, row in rbp.iterrows():
            if fits[k].slope < 0:  # the rule is for falling lines
                harmonic_mean = len(S) / np.sum(1 / (scored * (1 - row)))
                rows.append((*name, k, fits[k].rvalue ** 2, harmonic_mean / needed))
    return pd.DataFrame(rows, columns=[*SERIES, "k", "R2", "ratio"])


def _published() -> pd.DataFrame:
    windows = paper.emergence().query("N == 1").assign(family="Pythia").rename(columns={"p": "rbp"})
    theirs = pd.concat([paper.rbp_by_size(), paper.rbp_by_k(), windows])
    theirs = theirs.rename(columns={"dataset": "corpus"})
    theirs = theirs.drop_duplicates(["corpus", "family", "model", "k"])
    scored = paper.token_counts().rename(columns={"dataset": "corpus"})
    theirs = theirs.merge(scored[["corpus", "family", "tokens"]], on=["corpus", "family"])
    return theirs.assign(source="published")[COLUMNS]


def _measured(study: Study) -> pd.DataFrame:
    rows = []
    for one in study.shown():
        about = one.manifest
        name = ("pocket", about.corpus, about.family, about.model, about.S, one.tokens)
        rows += [(*name, int(k), one.rbp(int(k))) for k in one.k_grid]
    return pd.DataFrame(rows, columns=COLUMNS)


def poor_lines(rule: pd.DataFrame) -> pd.DataFrame:
    """How many series have a line with an R2 under 0.9, by the misses of the line."""
    edges = [0, 1, 2, 5, np.inf]
    labels = ["under m", "m to 2m", "2m to 5m", "over 5m"]
    misses = pd.cut(rule["ratio"], edges, labels=labels, right=False)
    judged = rule.assign(misses=misses, poor=rule["R2"] < 0.9)
    poor = judged.groupby(["misses", *SERIES], observed=True)["poor"].any()
    counts = poor.groupby("misses", observed=True).agg(["size", "sum"])
    return counts.set_axis(["series", "with an R2 under 0.9"], axis=1)
