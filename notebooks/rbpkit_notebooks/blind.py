"""The blind check: accuracies predicted before they were known, scored as `docs/margins.md` fixed.

`python -m rbpkit_notebooks.blind` prints the scores. The rule itself is
`rbpkit_pocket.accuracy_rule.predict_pairs`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rbpkit.fit import root_mean_square
from rbpkit_notebooks.published_models import EVIDENCE
from rbpkit_pocket.accuracy_rule import MAX_GAP, MIN_ROWS, predict_pairs, read_pairs

WAYS = {
    "rule": "predicted",
    "line in CE": "line_ce",
    "line in log CE": "line_log_ce",
    "nearest, in proportion to CE": "scaled",
    "nearest": "nearest",
}
"""The ways to predict that are compared, and their columns."""


def judged_rows() -> pd.DataFrame:
    """The 334 rows that were predicted, with the truth and what the rivals say.

    Columns of `read_pairs`, and

    - predicted, low, high, note: of the rule; truth: the accuracy
    - excluded: whether the rule was not meant for the row (overfitted)
    - run: a fit of a model, whose rows share their errors
    - line_ce, line_log_ce, nearest: accuracies by a straight line in CE, by a line of
      log(-log acc) in log CE, both by least squares, and that of the shown row nearest in log CE;
      the lines are missing if the text has fewer than three shown rows at this k
    - nearest_ce: that row's CE; scaled: the accuracy if -log acc is in proportion to CE from there,
      which takes no fitted number
    - inside: whether CE lies among those of the shown rows
    """
    pairs = read_pairs(EVIDENCE / "pairs_to_predict.csv")
    truth = pd.read_csv(EVIDENCE / "pairs_truth.csv", comment="#").set_index("id")["acc"]
    rows = pairs[pairs["acc"].isna()].join(predict_pairs(pairs, registered=True))
    rows["truth"] = truth.loc[rows["id"]].to_numpy()
    rows["excluded"] = (rows["ce"] - rows["train_loss"]).fillna(0) > MAX_GAP
    # A fit begins again from another state, so it counts as a run; other rows are one run a model.
    fit = rows["step"].where(rows["step"].fillna("").str.startswith("fit"), "")
    rows["run"] = rows["set"] + rows["text"] + rows["model"] + fit.str.split(",").str[0]
    shown = pairs[pairs["acc"].notna()]
    rivals = [_rivals(row, shown) for _, row in rows.iterrows()]
    return rows.join(pd.DataFrame(rivals, index=rows.index))


def _rivals(row: pd.Series, shown: pd.DataFrame) -> dict[str, object]:
    same = (shown["set"] == row["set"]) & (shown["text"] == row["text"]) & (shown["k"] == row["k"])
    of_text = shown[same]
    overfitted = (of_text["ce"] - of_text["train_loss"]).fillna(0) > MAX_GAP
    if (~overfitted).sum() >= MIN_ROWS:  # the rows that the rule used, too
        of_text = of_text[~overfitted]
    found: dict[str, object] = {"inside": False}
    if len(of_text):
        found["inside"] = of_text["ce"].min() <= row["ce"] <= of_text["ce"].max()
        distance = np.abs(np.log(of_text["ce"]) - np.log(row["ce"]))
        nearest = of_text.loc[distance.idxmin()]
        found["nearest"] = nearest["acc"]
        found["nearest_ce"] = nearest["ce"]
        found["scaled"] = nearest["acc"] ** (row["ce"] / nearest["ce"])
    if len(of_text) >= MIN_ROWS:
        found["line_ce"] = np.polyval(np.polyfit(of_text["ce"], of_text["acc"], 1), row["ce"])
        log_loss = np.log(-np.log(of_text["acc"]))
        line = np.polyfit(np.log(of_text["ce"]), log_loss, 1)
        found["line_log_ce"] = np.exp(-np.exp(np.polyval(line, np.log(row["ce"]))))
    return found


def errors_by_text(rows: pd.DataFrame) -> pd.DataFrame:
    """Root mean square error of accuracy over the rows of each text and k, by each way."""
    errors = {}
    for (of_set, text, k), of_text in rows.groupby(["set", "text", "k"], sort=False):
        errors[of_set, text, k] = {
            "rows": len(of_text),
            "runs": of_text["run"].nunique(),
            "rule": root_mean_square(of_text["predicted"] - of_text["truth"]),
            "line_ce": root_mean_square(of_text["line_ce"] - of_text["truth"]),
            "line_log_ce": root_mean_square(of_text["line_log_ce"] - of_text["truth"]),
            "nearest": root_mean_square(of_text["nearest"] - of_text["truth"]),
            "log_error": root_mean_square(log_errors(of_text)),
            "covered": covered(of_text).mean(),
        }
    table = pd.DataFrame.from_dict(errors, orient="index")
    return table.rename_axis(["set", "text", "k"])


def log_errors(rows: pd.DataFrame, way: str = "predicted") -> pd.Series:
    """log(-log predicted) - log(-log truth): 0.01 is 1% of the loss; above 0, acc is too low."""
    predicted = rows[way].clip(1e-9, 1 - 1e-9)  # a straight line in CE may leave (0, 1)
    return np.log(-np.log(predicted)) - np.log(-np.log(rows["truth"]))


def covered(rows: pd.DataFrame) -> pd.Series:
    """Whether the truth lies in the 95% interval."""
    return rows["truth"].between(rows["low"], rows["high"])


def coverage_interval(rows: pd.DataFrame, draws: int = 4000) -> tuple[float, float]:
    """A 95% interval of the share of rows covered, by resampling whole runs."""
    by_run = covered(rows).groupby(rows["run"]).agg(["sum", "count"]).to_numpy()
    generator = np.random.default_rng(0)
    picks = generator.integers(len(by_run), size=(draws, len(by_run)))
    sums = by_run[picks].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    return float(low), float(high)


def verdict(rows: pd.DataFrame) -> dict[str, float | str]:
    """The verdict by the margin: errors over texts and k, each with the same weight."""
    judged = rows[~rows["excluded"]]
    errors = errors_by_text(judged)
    comparable = errors[errors["line_ce"].notna()]
    rule = root_mean_square(comparable["rule"])
    rival = root_mean_square(comparable["line_ce"])
    better = int((comparable["rule"] < comparable["line_ce"]).sum())
    share = float(covered(judged).mean())
    holds = rule <= 0.75 * rival and better >= 16 and share >= 0.85
    fails = rule >= rival or share < 0.70
    word = "holds" if holds else "does not hold" if fails else "holds in part"
    return {
        "error of all": root_mean_square(errors["rule"]),
        "texts and k": len(errors),
        "rule": rule,
        "rival": rival,
        "comparable": len(comparable),
        "better": better,
        "covered": share,
        "verdict": word,
    }


def score_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The rule's scores of each set: rows, runs, error of log(-log acc), coverage, bias."""
    judged = rows[~rows["excluded"]]
    table = {}
    for name, of_set in [*judged.groupby("set", sort=False), ("all", judged)]:
        low, high = coverage_interval(of_set)
        errors = log_errors(of_set)
        row = {"rows": len(of_set), "runs": of_set["run"].nunique()}
        row["rule"] = root_mean_square(errors)
        row["bias"] = errors.groupby(of_set["run"]).mean().mean()
        row |= {"covered": covered(of_set).mean(), "covered_low": low, "covered_high": high}
        table[name] = row
    return pd.DataFrame.from_dict(table, orient="index")


def compared_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors of log(-log acc) by each way, over the same rows: of each set, with and without lines.

    A way that cannot predict all rows of a line of the table is missing there.
    """
    judged = rows[~rows["excluded"]]
    with_line = judged["line_ce"].notna().rename("with lines")
    table = {}
    for key, part in judged.groupby(["set", with_line], sort=False):
        errors = {name: log_errors(part, way) for name, way in WAYS.items()}
        table[key] = {"rows": len(part)}
        table[key] |= {name: np.sqrt((off**2).mean(skipna=False)) for name, off in errors.items()}
    return pd.DataFrame.from_dict(table, orient="index").rename_axis(["set", "with lines"])


def error_ratios(rows: pd.DataFrame, draws: int = 4000) -> pd.DataFrame:
    """The rule's error of accuracy over that of each rival, and 95% by resampling texts.

    Over the rows of the texts and k at which a line can be fitted, as in `verdict`.
    """
    judged = rows[~rows["excluded"] & rows["line_ce"].notna()]
    keys = [judged[key] for key in ("set", "text", "k")]
    squares = judged[[*WAYS.values()]].sub(judged["truth"], axis=0) ** 2
    by_text = squares.groupby(keys).mean()
    generator = np.random.default_rng(0)
    picks = generator.integers(len(by_text), size=(draws, len(by_text)))
    drawn = np.sqrt(by_text.to_numpy()[picks].mean(axis=1))
    found = np.sqrt(by_text.mean())
    table = pd.DataFrame({"ratio": found["predicted"] / found})
    low, high = np.quantile(drawn[:, :1] / drawn, [0.025, 0.975], axis=0)
    return table.assign(low=low, high=high)


if __name__ == "__main__":
    judged_all = judged_rows()
    print(score_table(judged_all).round(3).to_string())
    print(compared_table(judged_all).round(3).to_string())
    print(error_ratios(judged_all).round(2).to_string())
    print(verdict(judged_all))
