"""What notebook 14 (repeated pairs) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from rbpkit import paper, plots
from rbpkit.corpora import Corpus, load_corpus
from rbpkit.measuring import measure
from rbpkit.models import LoadedModel, load_model
from rbpkit.palette import CONTEXT, OTHER
from rbpkit.plots import NARROW, headed
from rbpkit.records import load_summaries
from rbpkit_pocket import paths
from rbpkit_pocket.companions.exercises import checker, sealed
from rbpkit_pocket.families import load_tokenizer, model_folder

check = checker({1: sealed("896cba10", digits=3), 2: sealed("8bf40d05", digits=1)})

torch.set_num_threads(1)
FAMILIES = (*paper.FAMILIES, "Mamba")
COLUMNS = 60  # letters in a line of the text


def first_problem() -> tuple[str, list[int]]:
    """The first problem of HumanEval, and its tokens."""
    documents = load_corpus("pocket:humaneval").documents
    [problem] = [text for text in documents if "has_close_elements" in text]
    return problem, load_tokenizer().encode(problem)


def load(name: str) -> LoadedModel:
    """A pocket model."""
    return load_model(paths.MODELS / name, device="cpu")


def text(tokens: Sequence[int], is_pair_token: Sequence[bool], figures_dir: str) -> None:
    """The text with its pair tokens filled, and a bar after each token."""
    tokenizer = load_tokenizer()
    title = f"{sum(is_pair_token)} of {len(tokens)} tokens complete a pair"
    with plots.panel(title, "filled: seen before, in this order", 5.4, NARROW + 0.6) as axes:
        column, line = 0, 0
        for token, is_pair in zip(tokens, is_pair_token, strict=True):
            for part in str(tokenizer.decode([token])).splitlines(keepends=True):
                letters = part.rstrip("\n")
                if column + len(letters) > COLUMNS:
                    column, line = 0, line + 1
                _word(axes, letters, column, line, is_pair)
                column += len(letters)
                if part.endswith("\n"):
                    column, line = 0, line + 1
        axes.set(xlim=(0, COLUMNS), ylim=(line + 1, 0))
        axes.axis("off")
    points = pd.DataFrame({"token": tokens, "pair": is_pair_token})
    plots.save(axes, points, figures_dir, "14_text")


def _word(axes: Axes, letters: str, column: int, line: int, is_pair: bool) -> None:
    if not letters:
        return
    if is_pair:
        box = Rectangle((column, line + 0.04), len(letters), 0.92, color=CONTEXT, lw=0)
        axes.add_patch(box)
    end = column + len(letters)
    axes.plot([end, end], [line + 0.1, line + 0.9], color=OTHER, lw=0.5)
    look: dict[str, Any] = {"family": "DejaVu Sans Mono", "size": 8.5, "parse_math": False}
    for place, letter in enumerate(letters):
        axes.text(column + place + 0.5, line + 0.5, letter, ha="center", va="center", **look)


def kinds(finished: pd.DataFrame, families: Sequence[str], figures_dir: str) -> None:
    """The loss on prose against S, for other tokens and for pair tokens."""
    shown = finished.query("corpus == 'prose' and quantity == 'RBP_1'")
    titles = {"other": "other tokens", "pair": "pair tokens"}
    with plots.panels(3.8, NARROW + 0.4, ncols=2, sharey=True, sharex=True) as (figure, both):
        for axes, (kind, title) in zip(both, titles.items(), strict=True):
            for family in families:
                part = shown[(shown["kind"] == kind) & (shown["family"] == family)].sort_values("S")
                ink = plots.ink_of(family)
                axes.plot(part["S"], part["loss"], color=ink.colour, marker=ink.marker, ms=6)
            axes.set(xscale="log", yscale="log", ylim=(0.3, 1.85))
            words = {"other": "parallel lines", "pair": "Pythia breaks away"}[kind]
            headed(axes, title, words)
        plots.ticks(both[0].yaxis, [0.3, 0.5, 0.7, 1, 1.5])
        both[0].minorticks_off()
        both[0].set_ylabel(r"$-\log\,\mathrm{RBP}_1$ on prose")
        figure.supxlabel(plots.SIZE, fontsize=11)
        for family, at in (("GPT2", (6e5, 0.68)), ("OPT", (2.2e6, 0.85)), ("Pythia", (6e4, 0.5))):
            both[1].text(*at, plots.name_of(family), color=plots.ink_of(family).colour, ha="center")
    plots.save(figure, shown, figures_dir, "14_pairs")


def gains(probed: pd.DataFrame, figures_dir: str) -> None:
    """The gain from the order against S, for every pocket model."""
    names = {path.name for path in paths.MODELS.iterdir()}
    ours = probed[probed["model"].isin(names)]
    title = "Pythia copies; three Qwens do, less"
    with plots.panel(title, "gain from the order of 40 random tokens", 3.8) as axes:
        ends = []
        for family in FAMILIES:
            part = ours[ours["family"] == family].sort_values("S")
            ink = plots.ink_of(family)
            look: dict[str, Any] = {"color": ink.colour, "marker": ink.marker, "ms": 6}
            bars = plots.whiskers(part, "order")
            axes.errorbar(part["S"], part["order"], bars, capsize=2, **look)
            last = part["S"].iloc[-1], part["order"].iloc[-1]
            if family == "Mamba":  # the Mambas end among the marks of others
                axes.annotate("Mamba", last, (2.2e5, -0.2), color=ink.colour)
            else:
                ends.append((*last, plots.name_of(family), ink.colour))
        axes.set(xscale="log", xlabel=plots.SIZE, xlim=(2e4, 1.4e7), ylabel="gain (nats)")
        axes.set_ylim(bottom=-0.25)
        plots.label_ends(axes, ends)
    plots.save(axes, ours, figures_dir, "14_copying")


def loss_against_gain(both: pd.DataFrame, figures_dir: str) -> None:
    """The loss on pair tokens of prose against the gain from the order; Qwens are numbered."""
    line = "all pocket models; numbers: the six Qwens by size"
    with plots.panel("Who copies is better on pair tokens", line, 3.8) as axes:
        for family in FAMILIES:
            part = both[both["family"] == family].sort_values("S")
            ink = plots.ink_of(family)
            look: dict[str, Any] = {"color": ink.colour, "mec": "white", "mew": 0.6}
            axes.plot(part["order"], part["loss"], ink.marker, ms=7, **look)
        qwen = both[both["family"] == "Qwen"].sort_values("S")
        for number, row in enumerate(qwen.itertuples(), 1):
            axes.annotate(str(number), (row.order, row.loss), (9, 4), textcoords="offset points")
        axes.set(yscale="log", xlabel="gain from the order (nats)")
        axes.set_ylabel(r"$-\log\,\mathrm{RBP}_1$ of pair tokens, prose")
        plots.log_ticks(axes)
        axes.legend(handles=plots.family_marks(FAMILIES), loc="upper right")
    columns = ["corpus", "family", "model", "S", "order", "loss"]
    plots.save(axes, both[columns], figures_dir, "14_gain")


def all_tokens(ks: Sequence[int]) -> pd.DataFrame:
    """CE and rank loss of the 25 pocket models on all tokens: corpus, model, k, CE, loss."""
    rows = []
    for model in load_summaries(paths.SUMMARIES):
        for k in ks:
            loss = -np.log(model.rbp(k))
            rows.append((model.manifest.corpus, model.manifest.model, k, model.ce(), loss))
    return pd.DataFrame(rows, columns=["corpus", "model", "k", "CE", "loss"])


def with_rates(probed: pd.DataFrame) -> pd.DataFrame:
    """The probed models that were trained at both learning rates, with the column `rate`."""
    pattern = r"pythia-w(32-l2|48-l3|64-l4)(-rate0.175)?|gpt2-w(32-l2|48-l4|64-l6)(-rate0.7)?"
    rates = probed[probed["model"].str.fullmatch(pattern)]
    is_high = (rates["family"] == "Pythia") ^ rates["model"].str.contains("rate")
    return rates.assign(rate=np.where(is_high, "Pythia's rate", "GPT-2's rate"))


def by_frequency() -> pd.DataFrame:
    """Losses at k = 1 by how often the pair occurs in other documents: measured here.

    Three sizes of each family on 40 of HumanEval's 164 documents, to save time. Columns: family, S,
    elsewhere, kind, loss.
    """
    sizes = {"GPT2": (0, 2, 4), "OPT": (0, 2, 4), "Pythia": (0, 2, 5)}
    documents = Corpus.of(load_corpus("pocket:humaneval").documents[:40])
    rows = []
    for family, numbers in sizes.items():
        for number in numbers:
            model = load_model(model_folder(family, number), device="cpu")
            records = measure(model, documents).records
            tokens = pd.DataFrame({"document": records.document, "token": records.target})
            scored = _frequency(tokens).assign(first=records.rank() == 1).dropna()
            share = scored.groupby(["elsewhere", "kind"], observed=True)["first"].mean()
            losses = (-np.log(share)).rename("loss").reset_index()
            rows.append(losses.assign(family=family, S=model.S))
    return pd.concat(rows).astype({"elsewhere": str})


def _frequency(scored: pd.DataFrame) -> pd.DataFrame:
    """Adds the kind of each token, and how often it follows the one before in other documents."""
    scored["before"] = scored.groupby("document")["token"].shift()
    again = scored.duplicated(["document", "before", "token"])
    scored["kind"] = np.where(again, "pair", "other")

    def elsewhere(columns: list[str]) -> pd.Series:
        everywhere = scored.groupby(columns)["token"].transform("size")
        here = scored.groupby(["document", *columns])["token"].transform("size")
        return everywhere - here

    follows = elsewhere(["before", "token"]) / elsewhere(["before"]).clip(lower=1)
    labels = ["never", "up to 20%", "over 20%"]
    return scored.assign(elsewhere=pd.cut(follows, [-1, 0, 0.2, 1], labels=labels))
