"""Accuracies from losses: the registered rule, which `rbpkit predict --pairs` calls.

`predict_pairs` takes anyone's table of losses and accuracies and predicts the accuracies that are
missing. Its rule was fixed before the truth of 334 withheld accuracies was known
(`docs/margins.md`, the entry "accuracies that others published, predicted from cross-entropy"), so
what notebook 16 says of its errors holds for the predictions of this function. The rule's intervals
are constants, which are too narrow for other tables (the entry "intervals of `predict --pairs` that
cover"): by default they get their width from the table. rbpkit finds this module under the entry
point `rbpkit.pairs`.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit import paper
from rbpkit.errors import InputError, reason
from rbpkit.fit import Array, root_mean_square

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
MIN_ROWS = 3  # shown rows that a text needs for a slope, and residuals that an interval needs
FEWEST_DEGREES = 2  # of freedom, when runs are the units

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
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            rows = [line for line in lines if not line.startswith("#")]
            table = pd.read_csv(io.StringIO("".join(rows)))
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
            table[name] = pd.to_numeric(table[name].astype(object))  # a date is no number
    for name in ("text", "set", "model", "run"):
        table[name] = table[name].fillna("").astype(str)
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


def predict_pairs(table: pd.DataFrame, registered: bool = False) -> pd.DataFrame:
    """predicted, low, high (95%) and a note for each row without an acc, under its index.

    table: as `read_pairs` gives it. The rule: x = log CE, y = log(-log acc). In a text, shown rows
    near in x weigh more; the text's slope is drawn to the common one as far as its rows say little;
    a gap between validation and training loss has another effect. `note` names what the rule
    was seen to fail at, or has never been tried on.

    The interval is as wide as the rule errs on the table's own rows, each left out in the place of
    the row that is asked for (`_residuals`), and never narrower than the registered one. Where that
    cannot be tried there is no number: without a shown row of the text at this k, with few rows,
    or with a loss far beyond them. registered: the rule as it was registered, whose intervals are
    constants, with a number for every text that has a row.

    Raises InputError if no text has three shown rows at one k, which a slope needs.
    """
    table = checked_pairs(table)
    pairs = _with_logs(table)
    pairs["nameless"] = (pairs["model"] == "") & (pairs["run"] == "")
    # Of a row whose run is not known, and of one that is a changed model, no other row is.
    alone = pairs["nameless"] | pairs["set"].isin(CHANGED_MODELS)
    number = pd.Series(pairs.index.astype(str), pairs.index).where(alone, "")
    pairs["run_of_model"] = pairs["model"] + "\n" + pairs["run"] + "\n" + number
    if not registered:
        pairs["model"] = pairs["model"].mask(pairs["nameless"], pairs["run_of_model"])
    shown = pairs[pairs["acc"].notna()]

    @functools.cache
    def common(name: str, without: tuple[int, ...] = ()) -> tuple[float, float]:
        return _common_numbers(shown.drop(list(without)), name)

    rows = {}
    tried: dict[tuple, tuple[list[float], int]] = {}
    for index, row in pairs[pairs["acc"].isna()].iterrows():
        of_text = shown[(shown["set"] == row["set"]) & (shown["text"] == row["text"])]
        rows[index] = _predicted(row, of_text, *common(row["set"]))
        if not registered:
            rows[index] = _covered(row, of_text, rows[index], common, tried)
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

    levels = pd.get_dummies(usable.groupby(["set", "text"]).ngroup(), dtype=float)
    columns = np.column_stack([levels, usable["x"], usable["gap"]])
    weight = np.sqrt(1 / rows_of_text.to_numpy())
    solution = np.linalg.lstsq(columns * weight[:, None], usable["y"] * weight, rcond=None)[0]
    _, ratio = _published_ratio(k)
    return solution[-2] / ratio, solution[-1] / ratio


@functools.cache
def _published_ratio(k: int) -> tuple[float, float]:
    """Intercept and slope of log(-log RBP_k) on log(-log RBP_1): the paper's GPT-2 on Wiki.

    A k between two published ones is interpolated in log k, one beyond `LARGEST_K` is taken there.
    """
    table = paper.table("rbp_by_k")
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
    kept = _rows_of_k(of_text, row["k"])
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
    return *_accuracies(y, 1.96 * y_sd), _note(row, kept)


def _rows_of_k(of_text: pd.DataFrame, k: float) -> pd.DataFrame:
    """The shown rows of a text at one k, without those that are overfitted if three others stay."""
    of_k = of_text[of_text["k"] == k]
    kept = of_k[~of_k["overfitted"]]
    return kept if len(kept) >= MIN_ROWS else of_k


def _accuracies(y: float, half: float) -> tuple[float, float, float]:
    """The accuracy at y = log(-log acc), and at the ends of y plus and minus `half`, low first."""
    predicted, low, high = np.exp(-np.exp(y + np.array([0, half, -half])))  # acc falls with y
    return predicted, low, high


def _covered(
    row: pd.Series,
    of_text: pd.DataFrame,
    registered: tuple[float, float, float, str],
    common: Callable[..., tuple[float, float]],
    tried: dict[tuple, tuple[list[float], int]],
) -> tuple[float, float, float, str]:
    """The registered prediction, with an interval as wide as the rule errs in the row's place.

    common: `_common_numbers` of a set, without some rows. tried: known residuals, by place.
    """
    predicted, low, high, note = registered
    kept = _rows_of_k(of_text, row["k"])
    if kept.empty:
        what = f" at k = {row['k']}" if len(of_text) else ""
        return np.nan, np.nan, np.nan, f"no row of this text has an acc{what}"
    new_run = row["run_of_model"] not in set(kept["run_of_model"])
    below = max(kept["x"].min() - row["x"], 0.0)
    above = max(row["x"] - kept["x"].max(), 0.0)
    place = (row["set"], row["text"], row["k"], new_run, below, above)
    if place not in tried:
        tried[place] = _residuals(kept, new_run, below, above, common)
    residuals, runs = tried[place]
    if len(residuals) < MIN_ROWS:
        few = f"too few rows to see how far the rule errs here ({len(residuals)} of {MIN_ROWS})"
        return np.nan, np.nan, np.nan, "; ".join(filter(None, [few, note]))
    degrees = len(residuals) - 1
    if row["nameless"]:
        degrees = FEWEST_DEGREES
    elif new_run or below or above:
        degrees = max(runs - new_run, FEWEST_DEGREES)
    half = stdtrit(degrees, 0.975) * root_mean_square(residuals)
    _, wide_low, wide_high = _accuracies(np.log(-np.log(predicted)), half)
    return predicted, min(low, wide_low), max(high, wide_high), note


def _residuals(
    rows: pd.DataFrame,
    new_run: bool,
    below: float,
    above: float,
    common: Callable[..., tuple[float, float]],
) -> tuple[list[float], int]:
    """How far the rule errs on `rows` of a text at one k, each left out; and of how many runs.

    Each row is predicted from the others: without those of its run if the asked row is of a
    `new_run`; and as far `below` or `above` them in x as the asked row is.
    """
    x, y, gap, runs = (rows[name].to_numpy() for name in ("x", "y", "gap", "run_of_model"))
    ratio = _published_ratio(rows["k"].iloc[0])[1]
    residuals, used = [], set()
    for place, name in enumerate(rows["set"]):
        near = np.arange(len(rows)) == place
        if new_run:
            near |= runs == runs[place]
        if below:
            near |= x < x[place] + below
        if above:
            near |= x > x[place] - above
        if np.count_nonzero(~near) < MIN_ROWS:
            continue
        # Far outside the common slope counts most, and it has seen the rows that are left out.
        without = tuple(rows.index[near]) if below or above else ()
        with suppress(InputError):
            slope, per_gap = common(name, without)
            level = y - per_gap * ratio * gap
            on_line, _ = _on_line(x[~near], level[~near], x[place], slope * ratio)
            residuals.append(level[place] - on_line)
            used.add(runs[place])
    return residuals, len(used)


def _on_line(x: Array, y: Array, at: float, slope: float) -> tuple[float, Array]:
    """y of a text `at` an x, from rows x, y (n,) and the common slope; and the rows' weights."""
    distance = np.abs(x - at)
    weight = np.exp(-(distance - distance.min()) / REACH)
    weight = weight / weight.sum()
    x_mean = (weight * x).sum()
    y_mean = (weight * y).sum()
    variance = (weight * (x - x_mean) ** 2).sum()
    covariance = (weight * (x - x_mean) * (y - y_mean)).sum()
    # The text's own slope, drawn to the common one as far as its rows say little.
    own_slope = (covariance + SHRINKAGE * slope) / (variance + SHRINKAGE)
    return y_mean + own_slope * (at - x_mean), weight


def _from_rows(
    row: pd.Series, rows: pd.DataFrame, slope: float, per_gap: float, ratio: float
) -> tuple[float, float]:
    """log(-log acc) of `row` and its standard error, from shown `rows` of its text at one k.

    ratio: the slope of this k over the slope of k = 1.
    """
    x = rows["x"].to_numpy()
    y = (rows["y"] - per_gap * ratio * rows["gap"]).to_numpy()
    on_line, weight = _on_line(x, y, row["x"], slope * ratio)
    y_of_row = on_line + per_gap * ratio * row["gap"]

    is_shown = row["model"] in set(rows["model"])
    is_same_model = is_shown and row["set"] not in CHANGED_MODELS
    level_sd = SAME_MODEL_SD if is_same_model else OTHER_MODEL_SD
    slope_sd = SLOPE_SD * np.abs(x - row["x"]).min()
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
    least, most = rows["ce"].min(), rows["ce"].max()
    if not least <= row["ce"] <= most:
        notes.append(f"CE {row['ce']:.3g} is outside the shown {least:.3g} to {most:.3g}")
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
