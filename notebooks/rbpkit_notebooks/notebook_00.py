"""What notebook 00 (quickstart) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from rbpkit import palette, plots
from rbpkit.fit import curve_of
from rbpkit.palette import CONTEXT, INK, OTHER, ordered_greys, rank_group
from rbpkit.plots import NARROW, headed
from rbpkit.summary import Summary
from rbpkit.tools.rank_view import Look, Token
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.explorables import explorable as explorable
from rbpkit_notebooks.published_models import load as load_evidence

torch.set_num_threads(1)

check_answer = check_of("00")

LETTER, LINE = 0.0836, 0.185  # inches: a letter of 10 points, and a line
MONO: dict[str, Any] = {"family": "DejaVu Sans Mono", "parse_math": False}
# What is right is white, so that only mistakes have a colour
FILLS = ("white", *palette.RANK_FILLS[1:])
RETURN = "\u21b5"


def check(number: int, answer: object, text: str = "") -> None:
    """Check an answer; with another text than the function, say that it cannot be checked."""
    if text and answer is not None and "".join(load_evidence("real_ranks")["token"]) != text:
        print(f"{number}: not yet\n   This is another text: the answer is of is_prime.")
    else:
        check_answer(number, answer)


def smollm2(text: str) -> list[Look]:
    """SmolLM2, a real model, as it ranked the function; says so if this is another text."""
    ranked = load_evidence("real_ranks")
    if "".join(ranked["token"]) != text:
        print("SmolLM2 is left out: its ranks were measured for another text.")
        return []
    tokens = []
    for piece, rank in zip(ranked["token"], ranked["rank"], strict=True):
        tokens.append(Token(0, piece.encode(), None if np.isnan(rank) else int(rank)))
    S = int(ranked["S"].iloc[0])
    return [Look("SmolLM2", S, 0, "the function", len(tokens), tuple(tokens))]


def spelt(piece: bytes) -> str:
    """A token as figures write it."""
    return piece.decode("utf-8", "replace").replace("\n", RETURN)


def function(looks: Sequence[Look], figures_dir: str) -> None:
    """The text under the two pocket models, each token in the colour of its rank."""
    smaller, larger = looks[:2]
    if len(smaller.tokens) == 256:
        print("A pocket model reads 256 tokens: the rest of the text is left out.")
    with plots.style():
        figure, panels = plt.subplots(3, 1, height_ratios=[9, 9, 1])
        for axes, one in zip(panels, (smaller, larger), strict=False):
            lines = _tokens(axes, one)
            axes.set(xlim=(0, NARROW / LETTER), ylim=(lines, 0))
            axes.axis("off")
            right: dict[str, Any] = {"x": NARROW / LETTER, "ha": "right", "va": "center"}
            axes.text(y=2, s=str(one.ranks.count(1)), size=40, **right)
            axes.text(y=4.2, s=f"of {len(one.ranks)} first", size=12, **right)
            size = f"{one.S / 1e6:,.0f} million" if one.S > 1e7 else f"{one.S:,}"
            axes.text(y=6.5, s=f"$S$ =\n{size}", color=OTHER, **right)
        panels[2].bar(range(6), 1, 0.96, color=FILLS, edgecolor=CONTEXT)
        for place, group in enumerate(palette.RANK_GROUPS):
            middle: dict[str, Any] = {"ha": "center", "va": "center", "size": 9}
            panels[2].text(place, 0.45, group, color=palette.RANK_LETTERS[place], **middle)
        panels[2].set(xlim=(-0.5, 5.5), ylim=(0, 1))
        panels[2].axis("off")
        height = 2 * lines * LINE + 1.1
        figure.set_size_inches(NARROW, height)
        figure.subplots_adjust(0, 0.02, 1, 1 - 0.5 / height, hspace=0.1)
        title = "White is right"
        if larger.ranks.count(1) > smaller.ranks.count(1):
            title += ": the larger model knows more"
        headed(panels[0], title, "colour: the rank of each true token")
    parts = []
    for one in looks:
        tokens = pd.DataFrame({"token": [spelt(token.piece) for token in one.scored]})
        parts.append(tokens.assign(rank=one.ranks, model=one.model, S=one.S))
    points = pd.concat(parts)
    plots.save(figure, points, figures_dir, "quickstart_sentence")


def _tokens(axes: Axes, one: Look) -> int:
    """Draw the tokens, a unit of the axes for a letter and for a line; returns how many lines."""
    column, line = 0, 0
    for token in one.tokens:
        for part in spelt(token.piece).replace(RETURN, f"{RETURN}\n").splitlines(keepends=True):
            words = part.rstrip("\n")
            if column and column + len(words) > 46:
                column, line = 0, line + 1
            group = rank_group(token.rank or 1)
            box = (column + 0.05, line + 0.05), len(words) - 0.1, 0.9
            axes.add_patch(Rectangle(*box, facecolor=FILLS[group]))
            colour = OTHER if token.rank is None else palette.RANK_LETTERS[group]
            axes.text(column, line + 0.5, words, color=colour, size=10, va="center", **MONO)
            column += len(words)
            if part.endswith("\n"):
                column, line = 0, line + 1
    return line + (column > 0)


def queue(one: Look, figures_dir: str) -> None:
    """The front of the queue before " True": its first five tokens, with probabilities."""
    found = [token for token in one.scored if token.piece == b" True"]
    token = [*found, one.scored[0]][0]  # another text may have no " True"
    line = "black: the true token. Only its place in the queue counts"
    title = f"The true token is in place {token.rank}: $R$ = {token.rank}"
    with plots.panel(title, line, 1.7) as axes:
        for place, (_, piece, p) in enumerate(token.alternatives, start=1):
            fill, letters = (INK, "white") if place == token.rank else (CONTEXT, INK)
            axes.bar(place, 1, 0.9, color=fill)
            look: dict[str, Any] = {"ha": "center", "va": "center"}
            axes.text(place, 0.68, spelt(piece).strip(" "), size=11, color=letters, **look)
            axes.text(place, 0.28, f"{p:.3f}", color=letters, **look)
            axes.text(place, -0.3, f"{place}", size=12, **look)
        axes.text(5.6, 0.5, f"and {one.V - 5:,}\nmore", va="center", color=OTHER)
        axes.set(xlim=(0.5, 6.4), ylim=(-0.35, 1))
        axes.axis("off")
    points = pd.DataFrame(token.alternatives, columns=["id", "token", "p"]).round(6)
    points["token"] = points["token"].map(spelt)
    plots.save(axes, points, figures_dir, "quickstart_queue")


def law(
    summaries: Sequence[Summary],
    alpha: Mapping[int, float],
    C: Mapping[int, float],
    figures_dir: str,
) -> None:
    """The loss against S at the first two k, with its lines."""
    ks = list(alpha)[:2]
    if not ks:
        print("No line: every rank is at most k, so every loss is 0.")
        return
    curves = [curve_of(summaries, k) for k in ks]
    lower = 1 - 2 ** -alpha[ks[0]]
    title = f"Twice the size: {lower:.0%} less loss ($k$ = {ks[0]})"
    with plots.panel(title, r"loss, $-\log\,\mathrm{RBP}_k$, in nats", 3.8) as axes:
        ends = []
        for k, curve, grey in zip(ks, curves, ordered_greys(len(ks)), strict=True):
            axes.plot(curve.S, C[k] * curve.S ** -alpha[k], color=INK, lw=1.2)
            axes.plot(curve.S, curve.loss, "o", color=grey)
            label = f"$k$ = {k}\n$\\alpha$ = {alpha[k]:.3f}"
            ends.append((curve.S[-1], curve.loss[-1], label, INK))
        axes.set(xscale="log", yscale="log", xlabel=plots.SIZE)
        axes.set_xlim(right=curves[0].S[-1] * 4)
        plots.log_ticks(axes)
        plots.label_ends(axes, ends, gap=2.6)
    plots.save(axes, plots.curve_points("stored", curves), figures_dir, "quickstart_law")
