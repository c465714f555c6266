"""Loss curves of training runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from rbpkit.errors import InputError
from rbpkit.sections import plots
from rbpkit.sections.panels import corpora_of, plain_log_ticks
from rbpkit.sections.published_figures import token_ticks


def read_logs(runs: Path) -> dict[str, pd.DataFrame]:
    """NAME -> the log of each run in a folder of runs (NAME/log.csv) or of logs (NAME.csv).

    Raises InputError where there is none.
    """
    logs = {path.parent.name: pd.read_csv(path) for path in sorted(runs.glob("*/log.csv"))}
    for path in sorted(runs.glob("*.csv")):
        log = pd.read_csv(path)
        if {"tokens", "loss", "valid_ce"} <= set(log) and "family" not in log:
            logs[path.stem] = log
    if not logs:
        raise InputError(f"{runs}: no log of a training run there (NAME/log.csv)")
    return logs


def loss_curves(logs: Mapping[str, pd.DataFrame], title: str = "") -> Figure:
    """Training loss (lines) and validation CE (points), in nats, against training tokens."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(6.6, 4.4))
        palette = sns.color_palette("viridis", len(logs))
        for colour, marker, (name, log) in zip(
            palette, "os^Dv<>pPX*hd8" * (1 + len(logs) // 14), logs.items(), strict=False
        ):
            axes.plot(log["tokens"], log["loss"], color=colour, linewidth=0.7, alpha=0.6)
            valid = log.dropna(subset="valid_ce")
            label = f"{name}: {valid['valid_ce'].iloc[-1]:.3f}" if len(valid) else name
            axes.plot(
                valid["tokens"],
                valid["valid_ce"],
                marker,
                color=colour,
                markersize=4.5,
                markeredgecolor="white",
                markeredgewidth=0.4,
                label=label,
            )
        axes.set_yscale("log")
        plain_log_ticks(axes, *axes.get_ylim())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda tokens, _: f"{tokens / 1e6:g}"))
        axes.set_xlabel("training tokens (millions)")
        axes.set_ylabel("cross-entropy (nats a token)")
        axes.set_title(title)
        axes.legend(title="validation CE at the end", title_fontsize=8, alignment="left")
        figure.tight_layout()
    return figure


def save_losses(runs: Path) -> Path:
    """Draw the logs of a folder of runs into its losses.png, and return that path."""
    logs = read_logs(runs)
    figure = loss_curves(logs)
    points = pd.concat([log.assign(run=name) for name, log in logs.items()])
    plots.save(figure, points, str(runs), "losses")
    return runs / "losses.png"


def family_losses(logs: Mapping[str, pd.DataFrame], families: Mapping[str, list[str]]) -> Figure:
    """Validation CE (nats) along training, a panel a family; darker is larger.

    logs: NAME -> log; families: family -> names of its models, smallest first. A model without a
    log is left out. Raises InputError where nothing is left.
    """
    there = {family: [name for name in names if name in logs] for family, names in families.items()}
    there = {family: names for family, names in there.items() if names}
    if not there:
        raise InputError("nothing to draw: no log of any of these models")
    with plots.style():
        figure, grid = plt.subplots(
            1, len(there), figsize=(3.0 * len(there) + 0.6, 4.2), sharey=True, squeeze=False
        )
        for axes, (family, names) in zip(grid[0], there.items(), strict=True):
            ink = plots.FAMILY_INK.get(family, plots.OTHER_INK)
            shades = sns.light_palette(ink.colour, len(names) + 2)[2:]
            for shade, marker, name in zip(shades, "os^Dv<>p", names, strict=False):
                valid = logs[name].dropna(subset="valid_ce")
                label = name.split("-", 1)[1].replace("-l", ", ").replace("w", "")
                axes.plot(
                    *(valid["tokens"] / 1e6, valid["valid_ce"]),
                    f"{marker}-",
                    **{"color": shade, "linewidth": 1, "markersize": 4, "label": label},
                )
            axes.set_title(family)
            axes.set_xlabel("training tokens (millions)")
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncol": 3}
            axes.legend(title="width, layers", title_fontsize=8, **below)
        grid[0][0].set_ylabel("validation CE (nats a token)")
        figure.tight_layout()
    return figure


def along_panels(table: pd.DataFrame, quantities: Sequence[str]) -> Figure:
    """Slope (top, with 95% intervals) and R2 (bottom) by training tokens, a panel a corpus.

    table: columns corpus, quantity, tokens, slope, low, high, R2. quantities: those to draw.
    Raises InputError for an empty table.
    """
    corpora = corpora_of(table)
    if not corpora:
        raise InputError("nothing to draw: no slopes by training tokens")
    with plots.style():
        figure, grid = plt.subplots(
            *(2, len(corpora)),
            **{"figsize": (3.0 * len(corpora), 5.2), "squeeze": False, "sharex": True},
            **{"sharey": "row"},
        )
        palette = sns.color_palette("colorblind", len(quantities))
        for column, corpus in zip(grid.T, corpora, strict=True):
            for colour, marker, quantity in zip(palette, "os^Dv<>p", quantities, strict=False):
                one = table[(table["corpus"] == corpus) & (table["quantity"] == quantity)]
                look = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1}
                spread = [one["slope"] - one["low"], one["high"] - one["slope"]]
                column[0].errorbar(
                    one["tokens"], one["slope"], spread, capsize=2, elinewidth=0.7, **look
                )
                name = quantity.replace("RBP_", "$k$ = ")
                column[1].plot(one["tokens"], one["R2"], label=name, **look)
            column[0].set_title(corpus.removeprefix("pocket:"))
            column[0].set_xscale("log")
            token_ticks(column[0].xaxis, table["tokens"])
            column[1].set_xlabel("training tokens")
        grid[0][0].set_ylabel("slope in $\\log S$, 95% interval")
        grid[1][0].set_ylabel("$R^2$")
        grid[1][0].legend(loc="lower right")
        figure.tight_layout()
    return figure


def split_panels(table: pd.DataFrame) -> Figure:
    """The exponent of the best size in the compute, a panel a corpus, with 95% intervals.

    table: index (quantity, corpus); columns exponent, low, high.
    """
    corpora = list(dict.fromkeys(table.index.get_level_values(1)))
    with plots.style():
        figure, grid = plt.subplots(
            *(1, len(corpora)),
            **{"figsize": (2.2 * len(corpora) + 0.8, 3.0), "squeeze": False, "sharey": True},
        )
        for axes, corpus in zip(grid[0], corpora, strict=True):
            one = table.xs(corpus, level=1)
            spread = [one["exponent"] - one["low"], one["high"] - one["exponent"]]
            names = [name.replace("RBP_", "$k$=") for name in one.index]
            axes.errorbar(names, one["exponent"], spread, fmt="o", capsize=3, markersize=5)
            axes.axhline(one["exponent"].iloc[0], color="grey", linestyle=":", linewidth=1)
            axes.set_title(corpus)
            axes.margins(x=0.15)
        grid[0][0].set_ylabel("exponent of $S^*$ in $C$, 95% interval")
        figure.tight_layout()
    return figure
