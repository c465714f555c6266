"""Predict the withheld accuracies of `pairs_to_predict.csv`: `python docs/predict_pairs.py`.

The rule is the entry "accuracies that others published, predicted from cross-entropy" of
`docs/margins.md`. It reads and writes `pocket/rbpkit_pocket/data/evidence`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parents[1] / "pocket/rbpkit_pocket/data/evidence"

# Fixed before the truth was known, by leaving out whole runs of the shown pairs.
MAX_GAP = 0.7  # nats by which CE may exceed the training loss; 92 of 923 rows exceed it by more
REACH = 0.1  # of log CE: a row so much farther away than the nearest row weighs 1/e
SHRINKAGE = 0.0005  # variance of log CE at which own and common slope weigh the same
SLOPE_SD = 0.3  # of a text's slope around the one used, outside the shown rows
SAME_MODEL_SD = 0.01  # of log(-log acc), when rows of the model are shown on the text
OTHER_MODEL_SD = 0.03  # the same, when only another model's are shown
GAP_SD = 0.06  # of the effect of one nat of gap
OTHER_K_SD = 0.06  # of log(-log acc), when no row of this k is shown


def load(path: Path) -> pd.DataFrame:
    """Return the pairs with x = log CE, y = log(-log acc), gap, run and `excluded`."""
    pairs = pd.read_csv(path, comment="#")
    pairs["x"] = np.log(pairs["ce"])
    pairs["y"] = np.log(-np.log(pairs["acc"]))
    excess = (pairs["ce"] - pairs["train_loss"]).fillna(0)
    pairs["excluded"] = excess > MAX_GAP
    pairs["gap"] = excess.clip(lower=0)
    # A fit begins again from another state, so it counts as a run; other rows are one run a model.
    fit = pairs["step"].where(pairs["step"].fillna("").str.startswith("fit"), "")
    pairs["run"] = pairs["model"] + " " + fit.str.split(",").str[0]
    return pairs


def common_numbers(shown: pd.DataFrame, name: str) -> tuple[float, float]:
    """Return the common slope and the effect of a nat of gap: least squares, a level for each text.

    Texts with three or more rows at k = 1, each with the same total weight. They are those of the
    set `name` if it has ten such texts, and of all sets if it has fewer.
    """
    usable = shown[(shown["k"] == 1) & ~shown["excluded"]]
    rows_of_text = usable.groupby(["set", "text"])["id"].transform("count")
    usable = usable[rows_of_text >= 3]
    of_set = usable[usable["set"] == name]
    if of_set["text"].nunique() >= 10:
        usable = of_set
    rows_of_text = rows_of_text[usable.index]

    levels = pd.get_dummies(usable["set"] + usable["text"], dtype=float)
    columns = np.column_stack([levels, usable["x"], usable["gap"]])
    weight = np.sqrt(1 / rows_of_text.to_numpy())
    solution = np.linalg.lstsq(columns * weight[:, None], usable["y"] * weight, rcond=None)[0]
    return solution[-2], solution[-1]


def predict(
    row: pd.Series, rows: pd.DataFrame, slope: float, per_gap: float, ratio: float = 1.0
) -> tuple[float, float]:
    """Return log(-log acc) of `row` and its standard error, from shown `rows` of its text and k.

    `ratio` is the slope of this k over the slope of k = 1.
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

    # A tuned or damaged model is another model.
    is_same_model = row["model"] in set(rows["model"]) and row["set"] not in ("tuned", "damaged")
    level_sd = SAME_MODEL_SD if is_same_model else OTHER_MODEL_SD
    slope_sd = SLOPE_SD * distance.min()
    gap_sd = GAP_SD * (row["gap"] - (weight * rows["gap"]).sum())
    y_sd = ratio * np.sqrt(level_sd**2 + slope_sd**2 + gap_sd**2)
    if row["tokens"] > 0:  # chance, when the number of tokens is known
        share = np.exp(-np.exp(y_of_row))
        share_sd = np.sqrt(share * (1 - share) / row["tokens"])
        y_sd = np.hypot(y_sd, share_sd / (share * -np.log(share)))
    return y_of_row, y_sd


def published_gpt2(k: int) -> tuple[float, float]:
    """Return intercept and slope of log(-log RBP_k) on log(-log RBP_1): the paper's GPT-2 on Wiki.

    A k between two published ones is interpolated in log k.
    """
    table = pd.read_csv(FOLDER.parent / "paper" / "rbp_by_k.csv")
    of_gpt2 = table[(table["family"] == "GPT2") & (table["dataset"] == "Wiki")]
    y = np.log(-np.log(of_gpt2.pivot_table(index="model", columns="k", values="rbp")))
    small_k = [published for published in y.columns if published <= 10]
    lines = np.array([np.polyfit(y[1], y[published], 1) for published in small_k])
    line_slope = np.interp(np.log(k), np.log(small_k), lines[:, 0])
    intercept = np.interp(np.log(k), np.log(small_k), lines[:, 1])
    return intercept, line_slope


def predict_all(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return id, predicted, low, high and excluded for each withheld row."""
    shown = pairs[pairs["acc"].notna()]
    common = {name: common_numbers(shown, name) for name in shown["set"].unique()}
    lines = []
    for _, row in pairs[pairs["acc"].isna()].iterrows():
        of_text = shown[(shown["set"] == row["set"]) & (shown["text"] == row["text"])]
        of_k = of_text[of_text["k"] == row["k"]]
        kept = of_k[~of_k["excluded"]]
        if len(kept) < 3:
            kept = of_k  # too few: better overfitted rows than none
        slope, per_gap = common[row["set"]]
        intercept, ratio = published_gpt2(row["k"])
        if len(kept):
            y, y_sd = predict(row, kept, slope, per_gap, ratio)
        else:
            y_of_top_1, sd_of_top_1 = predict(row, of_text[of_text["k"] == 1], slope, per_gap)
            y = intercept + ratio * y_of_top_1
            y_sd = np.hypot(OTHER_K_SD, ratio * sd_of_top_1)
        # A larger y is a smaller accuracy.
        predicted, low, high = np.exp(-np.exp(y + np.array([0, 1.96, -1.96]) * y_sd))
        lines.append((row["id"], predicted, low, high, row["excluded"]))
    return pd.DataFrame(lines, columns=["id", "predicted", "low", "high", "excluded"])


if __name__ == "__main__":
    predictions = predict_all(load(FOLDER / "pairs_to_predict.csv"))
    predictions.to_csv(FOLDER / "pairs_predicted.csv", index=False, float_format="%.5f")
    print(f"{len(predictions)} rows, {predictions['excluded'].sum()} excluded")
