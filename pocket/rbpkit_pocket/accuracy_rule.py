"""Accuracies from losses: the registered rule, which `rbpkit predict --pairs` calls.

`predict_pairs` takes anyone's table of losses and accuracies and predicts the accuracies that are
missing. Its rule was fixed before the truth of 334 withheld accuracies was known
(`docs/margins.md`, the entry "accuracies that others published, predicted from cross-entropy"), so
what notebook 16 says of its errors holds for this function. rbpkit finds this module under the
entry point `rbpkit.pairs`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError, reason
from rbpkit.loss_law import beyond

# Fixed before the truth was known, by leaving out whole runs of the shown pairs.
MAX_GAP = 0.7  # nats by which CE may exceed the training loss; 92 of 923 rows exceed it by more
REACH = 0.1  # of log CE: a row so much farther away than the nearest row weighs 1/e
SHRINKAGE = 0.0005  # variance of log CE at which own and common slope weigh the same
SLOPE_SD = 0.3  # of a text's slope around the one used, outside the shown rows
SAME_MODEL_SD = 0.01  # of log(-log acc), when rows of the model are shown on the text
OTHER_MODEL_SD = 0.03  # the same, when only another model's are shown
GAP_SD = 0.06  # of the effect of one nat of gap
OTHER_K_SD = 0.06  # of log(-log acc), when no row of this k is shown
LARGEST_K = 10  # of the published ratios that take the rule to another k
MIN_ROWS = 3  # shown rows that a text needs for a slope

CHANGED_MODELS = ("tuned", "damaged")
"""Sets whose rows are changed versions of one model, so each row counts as another model."""

_NEEDED = ("text", "ce", "k", "acc")
_OPTIONAL = {"set": "", "model": "", "run": "", "train_loss": np.nan, "tokens": np.nan}


def read_pairs(path: Path | str) -> pd.DataFrame:
    """A table of losses and accuracies, CSV (lines that begin with # are left out) or Parquet.

    Columns: text; ce (nats a token); k; acc (RBP_k, empty if it is to be predicted). If there are
    any: set (texts of one source), model, run, train_loss (nats), tokens (scored), tokenizer, and
    smoothing (of the targets in training).

    Raises InputError, one line, for a file that cannot be read, a column that is missing, and the
    first row with a value that cannot be.
    """
    path = Path(path)
    with reason(f"{path}: not a table that can be read"):
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, comment="#")
    return checked_pairs(table, str(path))


def checked_pairs(table: pd.DataFrame, where: str = "the table") -> pd.DataFrame:
    """The table with every column of `read_pairs`, numbers as numbers. Raises InputError."""
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise InputError(f"{where}: no column {missing[0]!r}; it needs {', '.join(_NEEDED)}")
    if not len(table):
        raise InputError(f"{where}: no rows")
    table = table.reset_index(drop=True)
    for name, default in _OPTIONAL.items():
        if name not in table.columns:
            table[name] = default
    for name in ("ce", "k", "acc", "train_loss", "tokens"):
        with reason(f"{where}: column {name!r} must hold numbers"):
            table[name] = pd.to_numeric(table[name])
    table["text"] = table["text"].astype(str)
    shown = table["acc"].notna()
    rules = {
        "ce must be positive and finite": (table["ce"] > 0) & np.isfinite(table["ce"]),
        "k must be a whole number from 1": (table["k"] >= 1) & (table["k"] % 1 == 0),
        "acc must lie between 0 and 1, both excluded": ~shown
        | table["acc"].between(0, 1, "neither"),
    }
    for rule, holds in rules.items():
        if not holds.all():
            raise InputError(f"{where}: row {int((~holds).argmax()) + 1}: {rule}")
    if not shown.any():
        raise InputError(f"{where}: no row has an acc, so there is nothing to predict from")
    return table


def predict_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """predicted, low, high (95%) and a note for each row without an acc, under its index.

    table: as `read_pairs` gives it. The rule: x = log CE, y = log(-log acc). In a text, shown rows
    near in x weigh more; the text's slope is drawn to the common one as far as its rows say little;
    a gap between validation and training loss has another effect. `note` names what the rule
    was seen to fail at, or has never been tried on. A text without a shown row gets no number.

    Raises InputError if no text has three shown rows at one k, which a slope needs.
    """
    table = checked_pairs(table)
    pairs = _with_logs(table)
    shown = pairs[pairs["acc"].notna()]
    common = {name: _common_numbers(shown, name) for name in pairs["set"].unique()}
    rows = {}
    for index, row in pairs[pairs["acc"].isna()].iterrows():
        of_text = shown[(shown["set"] == row["set"]) & (shown["text"] == row["text"])]
        rows[index] = _predicted(row, of_text, *common[row["set"]])
    columns = ["predicted", "low", "high", "note"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _with_logs(table: pd.DataFrame) -> pd.DataFrame:
    """The pairs with x = log CE, y = log(-log acc), gap (nats) and `overfitted`."""
    excess = (table["ce"] - table["train_loss"]).fillna(0)
    return table.assign(
        x=np.log(table["ce"]),
        y=np.log(-np.log(table["acc"])),
        gap=excess.clip(lower=0),
        overfitted=excess > MAX_GAP,
    )


def _common_numbers(shown: pd.DataFrame, name: str) -> tuple[float, float]:
    """The common slope at k = 1 and the effect of a nat of gap: least squares, a level a text.

    Texts with three or more rows at k = 1, each with the same total weight. They are those of the
    set `name` if it has ten such texts, and of all sets if it has fewer. If no text has such rows
    at k = 1, those of the next k are taken, and their slope is divided by its ratio.
    """
    for k in sorted(shown["k"].unique()):
        usable = shown[(shown["k"] == k) & ~shown["overfitted"]]
        rows_of_text = usable.groupby(["set", "text"])["x"].transform("count")
        usable = usable[rows_of_text >= MIN_ROWS]
        if len(usable):
            break
    else:
        raise InputError(f"no text has {MIN_ROWS} rows with an acc at one k, which a slope needs")
    of_set = usable[usable["set"] == name]
    if of_set["text"].nunique() >= 10:
        usable = of_set
    rows_of_text = rows_of_text[usable.index]

    levels = pd.get_dummies(usable["set"] + usable["text"], dtype=float)
    columns = np.column_stack([levels, usable["x"], usable["gap"]])
    weight = np.sqrt(1 / rows_of_text.to_numpy())
    solution = np.linalg.lstsq(columns * weight[:, None], usable["y"] * weight, rcond=None)[0]
    _, ratio = _published_ratio(k)
    return solution[-2] / ratio, solution[-1] / ratio


def _published_ratio(k: int) -> tuple[float, float]:
    """Intercept and slope of log(-log RBP_k) on log(-log RBP_1): the paper's GPT-2 on Wiki.

    A k between two published ones is interpolated in log k, one beyond `LARGEST_K` is taken there.
    """
    table = paper.rbp_by_k()
    of_gpt2 = table[(table["family"] == "GPT2") & (table["dataset"] == "Wiki")]
    y = np.log(-np.log(of_gpt2.pivot_table(index="model", columns="k", values="rbp")))
    small_k = [published for published in y.columns if published <= LARGEST_K]
    lines = np.array([np.polyfit(y[1], y[published], 1) for published in small_k])
    line_slope = np.interp(np.log(k), np.log(small_k), lines[:, 0])
    intercept = np.interp(np.log(k), np.log(small_k), lines[:, 1])
    return float(intercept), float(line_slope)


def _predicted(
    row: pd.Series, of_text: pd.DataFrame, slope: float, per_gap: float
) -> tuple[float, float, float, str]:
    """predicted, low, high and the note of one row, from the shown rows of its text."""
    if of_text.empty:
        return np.nan, np.nan, np.nan, "no row of this text has an acc"
    of_k = of_text[of_text["k"] == row["k"]]
    kept = of_k[~of_k["overfitted"]]
    if len(kept) < MIN_ROWS:
        kept = of_k  # too few: better overfitted rows than none
    intercept, ratio = _published_ratio(row["k"])
    if len(kept):
        y, y_sd = _from_rows(row, kept, slope, per_gap, ratio)
    else:
        kept = of_text[of_text["k"] == 1]
        if kept.empty:
            return np.nan, np.nan, np.nan, f"no row of this text has an acc at k = {row['k']} or 1"
        y_of_top_1, sd_of_top_1 = _from_rows(row, kept, slope, per_gap, 1.0)
        y = intercept + ratio * y_of_top_1
        y_sd = np.hypot(OTHER_K_SD, ratio * sd_of_top_1)
    # A larger y is a smaller accuracy.
    predicted, low, high = np.exp(-np.exp(y + np.array([0, 1.96, -1.96]) * y_sd))
    return predicted, low, high, _note(row, kept)


def _from_rows(
    row: pd.Series, rows: pd.DataFrame, slope: float, per_gap: float, ratio: float
) -> tuple[float, float]:
    """log(-log acc) of `row` and its standard error, from shown `rows` of its text at one k.

    ratio: the slope of this k over the slope of k = 1.
    """
    x = rows["x"].to_numpy()
    y = (rows["y"] - per_gap * ratio * rows["gap"]).to_numpy()
    distance = np.abs(x - row["x"])
    weight = np.exp(-(distance - distance.min()) / REACH)
    weight = weight / weight.sum()

    x_mean = (weight * x).sum()
    y_mean = (weight * y).sum()
    variance = (weight * (x - x_mean) ** 2).sum()
    covariance = (weight * (x - x_mean) * (y - y_mean)).sum()
    # The text's own slope, drawn to the common one as far as its rows say little.
    text_slope = (covariance + SHRINKAGE * slope * ratio) / (variance + SHRINKAGE)
    y_of_row = y_mean + text_slope * (row["x"] - x_mean) + per_gap * ratio * row["gap"]

    is_shown = row["model"] in set(rows["model"])
    is_same_model = is_shown and row["set"] not in CHANGED_MODELS
    level_sd = SAME_MODEL_SD if is_same_model else OTHER_MODEL_SD
    slope_sd = SLOPE_SD * distance.min()
    gap_sd = GAP_SD * (row["gap"] - (weight * rows["gap"]).sum())
    y_sd = ratio * np.sqrt(level_sd**2 + slope_sd**2 + gap_sd**2)
    if row["tokens"] > 0:  # chance, when the number of tokens is known
        share = np.exp(-np.exp(y_of_row))
        share_sd = np.sqrt(share * (1 - share) / row["tokens"])
        y_sd = np.hypot(y_sd, share_sd / (share * -np.log(share)))
    return y_of_row, y_sd


def _note(row: pd.Series, rows: pd.DataFrame) -> str:
    """What the rule was seen to fail at, or was never tried on, by name and number."""
    notes = []
    if row["overfitted"]:
        excess = row["ce"] - row["train_loss"]
        notes.append(f"CE is {excess:.2g} nats above the training loss (over {MAX_GAP})")
    outside = beyond(row["ce"], rows["ce"].min(), rows["ce"].max(), "shown")
    if outside:
        notes.append(outside)
    if len(rows) < MIN_ROWS:
        notes.append(f"only {len(rows)} shown rows")
    if row["k"] not in set(rows["k"]):
        notes.append(f"no shown row at k = {row['k']}: taken from k = 1")
    if row["k"] > LARGEST_K:
        notes.append(f"k = {row['k']} is beyond the rule's {LARGEST_K}")
    if "tokenizer" in row and row["tokenizer"] not in set(rows["tokenizer"]):
        notes.append(f"another tokenizer ({row['tokenizer']}) than the shown rows")
    if row.get("smoothing", 0) > 0 and not (rows["smoothing"] > 0).any():
        notes.append(f"targets smoothed by {row['smoothing']:g}, those of the shown rows are not")
    return "; ".join(notes)
