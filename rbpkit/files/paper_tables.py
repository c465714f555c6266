"""The shipped CSV files of the paper's numbers: the columns of each, their types, and reading."""

from __future__ import annotations

from importlib import resources

import pandas as pd

from rbpkit.errors import InputError

_POINT = "figure dataset k family model S rbp"
_COLUMNS = {
    "models": "family model hub_id S embedding_params vocab_rows",
    "rbp_by_size": _POINT,
    "rbp_by_k": _POINT,
    "fit_by_k": "figure quantity dataset k value",
    "emergence": "figure dataset k N model S p",
    "emergence_fits": "figure k alpha_printed r2_printed",
    "ce_and_rbp1": "figure kind dataset series model S value",
    "ce_and_rbp1_fits": "figure kind series slope_printed r2_printed",
    "lognormal_params": "figure model S mu sigma",
    "rank_density": "figure model bin_lo bin_hi mass",
    "table1": "dataset k family r2 slope",
    "table_k_law": "family model dataset r2 slope",
    "token_counts": "dataset family tokens also_admissible",
    "gpt2_wiki_metrics": "model S k ce p_N1 p_N5 p_N10 p_N50 p_N100",
}
# A column means the same in every file, so its type goes by its name; what is left is float64.
_TEXT = frozenset("figure dataset family model hub_id quantity kind series".split())
_COUNT = frozenset("S k N embedding_params vocab_rows bin_lo bin_hi tokens".split())
_EXCEPTIONS = {
    ("table1", "k"): "str",  # one of the seven rows of a block is "CE"
    ("fit_by_k", "k"): "Int64",  # missing where the quantity is of CE, which has no k
    ("token_counts", "also_admissible"): "Int64",  # missing where one count alone fits
}


def read_table(name: str) -> pd.DataFrame:
    """A fresh table; InputError for a file that is missing or has other columns than listed."""
    columns = _COLUMNS[name].split()
    types = {column: _EXCEPTIONS.get((name, column), _type(column)) for column in columns}
    source = resources.files("rbpkit") / "data" / "paper" / f"{name}.csv"
    try:
        with source.open(encoding="utf-8") as file:
            table = pd.read_csv(file, dtype=types)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {source}: {error}; install rbpkit again") from error
    if list(table.columns) != columns:
        raise InputError(
            f"{source} has the columns {', '.join(table.columns)},"
            f" not {', '.join(columns)}; install rbpkit again"
        )
    return table


def _type(column: str) -> str:
    if column in _TEXT:
        return "str"
    return "int64" if column in _COUNT else "float64"
