"""Appendix A, the set-up, as tables: models, corpora, thresholds, token counts, which S.

Besides what the paper states, three things that follow from its numbers: how many tokens were
scored (from the digits of RBP_k), how R2 depends on which sizes are fitted, and what changes when
embeddings are counted in S.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.corpora import HUB_CORPORA
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from rbpkit.curves import Curve
    from rbpkit.sources import Curves

CEILING = 1000 * 511
"""Most tokens that the protocol can score: 1,000 documents of 512 tokens, the first unpredicted."""

AT_LEAST = 500_000
"""Tokens a point, at least, by Appendix A."""

_FOOTNOTE_V = {"Pythia": 50_256, "Qwen": 151_936}
_DECIMALS = 6  # of the RBP values that the authors stored
# Slack for the binary rounding of c / T and of the stored value, far below half a digit (5e-7).
_ROUNDING = 1e-12


def model_table() -> pd.DataFrame:
    """The 24 models, their parameters counted anew from their configs, on the meta device.

    24 rows: family, model, S (non-embedding parameters, counted), S_published (`paper.models()`),
    embedding (token and position embeddings, counted), V (rows of the output matrix, counted),
    V_footnote (footnote 2, missing where we quote nothing). Imports torch.
    """
    from rbpkit.architectures import parameter_counts

    table = paper.models()
    counts = [parameter_counts(hub_id) for hub_id in table["hub_id"]]
    named = table["family"].map(_FOOTNOTE_V).astype("Int64")
    return pd.DataFrame(
        {
            "family": table["family"],
            "model": table["model"],
            "S": [count.S for count in counts],
            "S_published": table["S"],
            "embedding": [count.embedding for count in counts],
            "V": [count.V for count in counts],
            # The footnote's Qwen number is for those up to 7B.
            "V_footnote": named.mask(table["model"] == "Qwen2.5-14B"),
        }
    )


def span_table() -> pd.DataFrame:
    """How far S reaches: family (the last row "all"), models, smallest, largest, decades."""
    table = paper.models()
    groups = [(family, table[table["family"] == family]) for family in paper.FAMILIES]
    rows = [
        (name, len(group), group["S"].min(), group["S"].max())
        for name, group in [*groups, ("all", table)]
    ]
    spans = pd.DataFrame(rows, columns=["family", "models", "smallest", "largest"])
    return spans.assign(decades=np.log10(spans["largest"] / spans["smallest"]))


def corpus_table() -> pd.DataFrame:
    """The six corpora of Appendix A and where they are: one row each.

    Columns: corpus, hub_id, config ("" for none), split, text (the columns, joined by a newline),
    filtered (whether only some rows count), order ("shuffled" with seed 42, or "in order").
    """
    rows = [
        {
            "corpus": name,
            "hub_id": hub.path,
            "config": hub.config or "",
            "split": hub.split,
            "text": " + ".join(hub.fields),
            "filtered": hub.keep is not None,
            "order": "in order" if hub.in_order else "shuffled",
        }
        for name, hub in HUB_CORPORA.items()
    ]
    return pd.DataFrame(rows)


def thresholds() -> dict[str, tuple[int, ...]]:
    """The thresholds k that the paper shows: a figure or table -> its k, ascending."""
    found = {}
    for table in (paper.rbp_by_size(), paper.fit_by_k(), paper.emergence(), paper.rbp_by_k()):
        for figure, shown in table.groupby("figure"):
            found[f"Figure {figure}"] = tuple(sorted(map(int, shown["k"].dropna().unique())))
    printed = paper.table1()["k"].unique()
    found["Table 1"] = tuple(sorted(int(k) for k in printed if k != "CE"))
    return found


def compatible_counts(values: Iterable[float], ceiling: int = CEILING) -> np.ndarray:
    """Token counts T <= ceiling for which every value can be c / T, c whole, rounded to 1e-6.

    values: shares in six decimals. Returns (n,) int64, ascending; empty where none fits. Raises
    InputError for no value, a value outside 0 to 1 or with more decimals, a ceiling below 1.
    """
    *_, (_, left) = _narrowed(values, ceiling)
    return left


def _narrowed(values: Iterable[float], ceiling: int) -> Iterable[tuple[int, np.ndarray]]:
    """How many values were used, and the T left: the first pair is 0 and every T."""
    shares = np.unique(np.asarray(list(values), dtype=np.float64))
    if not shares.size or ceiling < 1:
        raise InputError(f"{shares.size} values, ceiling {ceiling}: give at least one of each")
    decimals = np.abs(shares - shares.round(_DECIMALS)) <= _ROUNDING
    bad = shares[~((shares >= 0) & (shares <= 1) & decimals)]
    if bad.size:
        raise InputError(f"{bad[0]!r} is no share of tokens in {_DECIMALS} decimals")
    left = np.arange(1, ceiling + 1)
    yield 0, left
    half = 0.5 * 10.0**-_DECIMALS + _ROUNDING
    for used, share in enumerate(shares, 1):
        # The nearest whole number of tokens is the only one that can round to this share.
        left = left[np.abs(np.rint(share * left) / left - share) <= half]
        yield used, left


def _published_shares() -> Iterable[tuple[str, str, np.ndarray]]:
    columns = ["dataset", "family", "rbp"]
    every = pd.concat([paper.rbp_by_size()[columns], paper.rbp_by_k()[columns]])
    for corpus, family in itertools.product(paper.PLOTTED_CORPORA, paper.FAMILIES):
        chosen = every[(every["dataset"] == corpus) & (every["family"] == family)]
        yield corpus, family, chosen["rbp"].unique()


def token_table(ceiling: int = CEILING) -> pd.DataFrame:
    """Scored tokens of each (corpus, family), inferred from the digits of the plotted RBP_k.

    16 rows: corpus, family, values (different RBP values used), compatible (how many T up to
    `ceiling` fit them all), smallest (of those), multiples (how many are multiples of it, itself
    included), largest, tokens (`paper.token_counts()`), also_admissible (there; missing: none).
    """
    known = paper.token_counts().set_index(["dataset", "family"])
    rows = []
    for corpus, family, shares in _published_shares():
        fitting = compatible_counts(shares, ceiling)
        if not fitting.size:
            raise InputError(f"{family} on {corpus}: no T up to {ceiling} fits its RBP values")
        rows.append(
            {
                "corpus": corpus,
                "family": family,
                "values": len(shares),
                "compatible": len(fitting),
                "smallest": int(fitting[0]),
                "multiples": int((fitting % fitting[0] == 0).sum()),
                "largest": int(fitting[-1]),
                "tokens": int(known.loc[(corpus, family), "tokens"]),
                "also_admissible": known.loc[(corpus, family), "also_admissible"],
            }
        )
    return pd.DataFrame(rows).astype({"also_admissible": "Int64"})


def narrowing(ceiling: int = CEILING) -> pd.DataFrame:
    """How the T that fit become fewer as RBP values are used, from the smallest value up.

    Columns: corpus, family, used (values, from 0), compatible (T that fit them), smallest.
    """
    rows = [
        (corpus, family, used, len(left), int(left[0]) if len(left) else 0)
        for corpus, family, shares in _published_shares()
        for used, left in _narrowed(shares, ceiling)
    ]
    return pd.DataFrame(rows, columns=["corpus", "family", "used", "compatible", "smallest"])


def r2_by_sizes(curves: Curves, least: int = 5) -> pd.DataFrame:
    """R2 of every line through `least` or more of a curve's models.

    One row a subset: corpus, family, n (sizes fitted), choice ("smallest" or "largest" where the
    n are the curve's n smallest or largest, "all" for all of them, else ""), S_min, S_max, R2.
    Curves with fewer than `least` models give none. Raises InputError for least < 3.
    """
    if least < 3:
        raise InputError(f"least = {least}: a line through fewer than 3 points cannot be wrong")
    types = {"corpus": str, "family": str, "n": int, "choice": str}
    types |= {"S_min": np.int64, "S_max": np.int64, "R2": float}
    rows = []
    for (corpus, family), curve in curves.items():
        models = range(len(curve.S))
        for n in range(least, len(models) + 1):
            ends = {tuple(models[:n]): "smallest", tuple(models[-n:]): "largest"}
            ends[tuple(models)] = "all"
            for chosen in itertools.combinations(models, n):
                at = list(chosen)
                fitted = fit_power_law(curve.S[at], curve.loss[at])
                row = (corpus, family, n, ends.get(chosen, ""), fitted.S_min, fitted.S_max)
                rows.append((*row, fitted.r2))
    return pd.DataFrame(rows, columns=list(types)).astype(types)


def r2_summary(by_sizes: pd.DataFrame, level: float = 0.99) -> pd.DataFrame:
    """`r2_by_sizes` by corpus, family and n: subsets, above (share with R2 > level), quantiles.

    Further columns: lowest, median and highest R2, and R2 of the n smallest and the n largest.
    """
    rows = []
    for (corpus, family, n), group in by_sizes.groupby(["corpus", "family", "n"], sort=False):
        r2 = group["R2"]
        nested = {
            f"n {end}": r2[group["choice"].isin([end, "all"])].iloc[0]
            for end in ("smallest", "largest")
        }
        row = {"corpus": corpus, "family": family, "n": n, "subsets": len(r2)}
        row |= {"above": (r2 > level).mean(), "lowest": r2.min(), "median": r2.median()}
        rows.append(row | {"highest": r2.max()} | nested)
    return pd.DataFrame(rows)


def which_S(curves: Iterable[Curve], left_out: Mapping[str, int]) -> pd.DataFrame:
    """Each curve fitted on S, and on S with the parameters that S leaves out.

    left_out: model -> its embedding parameters; a curve with a model that is not there is passed
    over. One row a curve: corpus, family, alpha, R2 (on S), alpha_total, R2_total.
    """
    rows = []
    for curve in curves:
        if not all(model in left_out for model in curve.models):
            continue
        total = curve.S + np.array([left_out[model] for model in curve.models])
        fits = [fit_power_law(size, curve.loss, labels=curve.models) for size in (curve.S, total)]
        numbers = (number for fitted in fits for number in (fitted.alpha, fitted.r2))
        rows.append((curve.corpus, curve.family, *numbers))
    names = ["corpus", "family", "alpha", "R2", "alpha_total", "R2_total"]
    return pd.DataFrame(rows, columns=names)


def ladder_cards(
    configs: Mapping[tuple[str, str], PretrainedConfig], models_root: Path, runs_root: Path
) -> pd.DataFrame:
    """The pocket models on one table; parameters are counted, from the shipped config if any.

    configs: (family, model name) -> the config it is trained with. models_root: a folder a model,
    in hub layout. runs_root: NAME.csv of the training run. One row a model: family, model,
    shipped, width, layers, heads, S, embedding (parameters that S leaves out of the base model),
    S_and_head (S and the output matrix, tied or not), tied, CE (nats a token on validation text,
    the last of the run; missing where there is no run). Imports torch.
    """
    from transformers import AutoConfig

    from rbpkit.architectures import parameter_counts

    rows = []
    for (family, name), trained in configs.items():
        shipped = (models_root / name / "config.json").is_file()
        config = AutoConfig.from_pretrained(models_root / name) if shipped else trained
        counts = parameter_counts(config)
        rows.append(
            {
                "family": family,
                "model": name,
                "shipped": shipped,
                "width": config.hidden_size,
                "layers": config.num_hidden_layers,
                "heads": config.num_attention_heads,
                "S": counts.S,
                "embedding": counts.embedding,
                "S_and_head": counts.S + counts.V * config.hidden_size,
                "tied": bool(config.tie_word_embeddings),
                "CE": _last_ce(runs_root / f"{name}.csv"),
            }
        )
    return pd.DataFrame(rows)


def _last_ce(run: Path) -> float:
    if not run.is_file():
        return float("nan")
    found = pd.read_csv(run)["valid_ce"].dropna()
    return float(found.iloc[-1]) if len(found) else float("nan")
