# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The law in five minutes
#
# Three language models read the same Python function, piece by piece. A piece is called a **token**: a word, a part of a word, or a sign. Before each token, a model says which token it expects.

# %% tags=["parameters", "hide-input"]
# Parameters
ks = [1, 10, 50, 100]  # k of RBP_k
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Imports
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.patches import FancyBboxPatch, Rectangle

from rbpkit import fit_curves, load_corpus, load_model, load_summaries, logit_ranks, measure, plots
from rbpkit.fit import rbp_curve
from rbpkit.palette import (
    CONTEXT,
    INK,
    OTHER,
    RANK_FILLS,
    RANK_GROUPS,
    RANK_LETTERS,
    ordered_greys,
    rank_group,
)
from rbpkit.stats.curves import models_of
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit.tools.rank_view import look
from rbpkit_pocket import paths
from rbpkit_pocket.families import model_folder
from rbpkit_pocket.findings.published_models import load as load_evidence

check_parameters(globals())
torch.set_num_threads(1)

# %%
text = '''def is_prime(n):
    """Return True if n is a prime number."""
    if n < 2:
        return False
    for i in range(2, n):
        if n % i == 0:
            return False
    return True
'''
# Eight small models, the smallest first, built like the published family Pythia.
folders = [model_folder("Pythia", size) for size in range(8)]
models = [load_model(folder, device="cpu") for folder in folders]
smallest, largest = models[0], models[7]
# `look` ranks every token of a text under a model.
looks = [look(smallest, text), look(largest, text)]


# %% tags=["hide-input"]
# Draw the figure: the function under three models
def spelt_and_ranked(one):
    """(token, rank) of every token under one model; the first token has no rank."""
    return [(token.piece.decode("utf-8", "replace"), token.rank) for token in one.tokens]


panels = [
    ("smallest pocket model", looks[0].S, spelt_and_ranked(looks[0])),
    ("largest pocket model", looks[1].S, spelt_and_ranked(looks[1])),
]
real = load_evidence("real_ranks")
if "".join(real["token"]) == text:  # its ranks were measured on this text only
    ranks_of_real = [None if np.isnan(rank) else int(rank) for rank in real["rank"]]
    tokens_of_real = list(zip(real["token"], ranks_of_real, strict=True))
    panels.append(("SmolLM2, a real model", int(real["S"].iloc[0]), tokens_of_real))
else:
    print("The real model is left out: its ranks were measured for another text.")

LETTER, LINE = 0.0836, 0.185  # inches: a monospaced letter of 10 points, and a line
columns = int(4.3 / LETTER)


def draw_box(axes, column, line, words, rank):
    """One token as a box in the colour of its rank; grey letters if it has none."""
    fill, letters = "none", OTHER
    if rank is not None:
        fill, letters = RANK_FILLS[rank_group(rank)], RANK_LETTERS[rank_group(rank)]
    axes.add_patch(
        Rectangle(
            (column + 0.05, line + 0.05), len(words) - 0.1, 0.9, facecolor=fill, edgecolor="none"
        )
    )
    look_of_text = {"family": "DejaVu Sans Mono", "size": 10, "parse_math": False}
    for place, letter in enumerate(words, start=column):
        axes.text(
            place + 0.5,
            line + 0.52,
            letter,
            ha="center",
            va="center",
            color=letters,
            **look_of_text,
        )


def draw_text(axes, tokens):
    """All tokens, on lines of the text; returns how many lines."""
    column, line = 0, 0
    for token, rank in tokens:
        for part in token.replace("\n", "\u21b5\n").splitlines(keepends=True):
            words = part.rstrip("\n")
            if column and column + len(words) > columns:
                column, line = 0, line + 1
            draw_box(axes, column, line, words, rank)
            column += len(words)
            if part.endswith("\n"):
                column, line = 0, line + 1
    return line + (column > 0)


rows = []
with plots.style():
    figure, every = plt.subplots(len(panels), 1, squeeze=False)
    for axes, (name, S, tokens) in zip(every.flat, panels, strict=True):
        lines = draw_text(axes, tokens)
        axes.set(xlim=(0, plots.WIDTH / LETTER), ylim=(lines, 0))
        axes.axis("off")
        ranks = [rank for _, rank in tokens if rank is not None]
        first = sum(rank == 1 for rank in ranks)
        print(f"{name}, S = {S:,}: {first} of {len(ranks)} tokens in first place")
        edge = columns + 1
        axes.text(edge, 0.1, f"{first} of {len(ranks)}", size=16, va="top")
        axes.text(edge, 2.1, "tokens in\nfirst place", size=10, va="top")
        axes.text(
            edge, 4.7, f"{name.replace(', ', chr(10))}\n$S$ = {S:,}", size=10, va="top", color=OTHER
        )
        rows += [
            (name, S, position, token.replace("\n", "\u21b5"), rank)
            for position, (token, rank) in enumerate(tokens)
            if rank is not None
        ]
    height = len(panels) * (lines * LINE + 0.22) + 0.65
    figure.set_size_inches(plots.WIDTH, height)
    figure.subplots_adjust(0, 0.32 / height, 1, 1 - 0.36 / height, hspace=0.13)
    figure.text(0, 1, "The larger the model, the more true tokens it puts first", size=12, va="top")
    key = figure.add_axes((0, 0, 1, 0.22 / height))
    key.set(xlim=(0, 6), ylim=(0, 1))
    key.axis("off")
    for place, group in enumerate(RANK_GROUPS):
        key.add_patch(Rectangle((place + 0.02, 0), 0.96, 1, facecolor=RANK_FILLS[place]))
        key.text(
            place + 0.5, 0.45, group, size=10, ha="center", va="center", color=RANK_LETTERS[place]
        )
points = pd.DataFrame(rows, columns=["model", "S", "position", "token", "rank"])
plots.save(figure, points, figures_dir, "quickstart_sentence")

# %% [markdown]
# *The paler a token, the earlier its place in the model's queue of guesses. The first token is not predicted.*
#
# Size $S$ is the number of a model's parameters without its embeddings (the tables that turn tokens into numbers and back). The first two models are **pocket models**: small models that we trained on Python packages and run here. Their design is that of Pythia, a family of real models. The third, SmolLM2-135M-Instruct, is real and saw far more text, so only the first two can be compared by size. (It cuts the text differently; its 53 tokens are a coincidence.) Change `text` and run the cells again. [Glossary](../docs/glossary.md)
#
# ## A place in a queue
#
# Before each token the model lines up its whole **vocabulary**, the list of all $V$ tokens it knows, the most probable first. The **rank** $R$ of the true token is its place in that queue.


# %% tags=["hide-input"]
# Draw the idea: the queue before " True" in the documentation line
predicted = {token.piece: token for token in reversed(looks[1].scored)}  # keeps the earliest
at = predicted.get(b" True", looks[1].scored[0])  # another text may have no " True"
front, rank_there = at.alternatives, at.rank
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 2.25))
    figure.subplots_adjust(0, 0, 1, 1)
    axes.set(xlim=(0, 6), ylim=(0, 2.25))
    axes.axis("off")
    if text.startswith('def is_prime(n):\n    """Return True'):
        axes.text(0, 2.13, "def is_prime(n):", size=11, family="DejaVu Sans Mono", va="center")
        axes.text(0, 1.85, '    """Return', size=11, family="DejaVu Sans Mono", va="center")
        axes.text(1.35, 1.85, "and now?", size=11, style="italic", va="center", color=OTHER)
    for place, (_, piece, p) in enumerate(front, start=1):
        true = place == rank_there
        box = ((place - 1) * 1.01 + 0.04, 0.72), 0.88, 0.62
        shape = "round,pad=0,rounding_size=0.06"
        axes.add_patch(
            FancyBboxPatch(*box, shape, facecolor=INK if true else CONTEXT, edgecolor="none")
        )
        middle, letters = box[0][0] + 0.44, "white" if true else INK
        word = piece.decode("utf-8", "replace").replace("\n", "\u21b5").strip(" ")
        axes.text(middle, 1.14, word, size=12, ha="center", va="center", color=letters)
        axes.text(middle, 0.88, f"{p:.3f}", size=10, ha="center", va="center", color=letters)
        weight = "bold" if true else "normal"
        axes.text(middle, 0.55, place, size=12, ha="center", va="center", weight=weight)
        if true:
            pointer = {"arrowstyle": "-|>", "color": INK}
            axes.annotate("", (middle, 1.37), (middle, 1.72), arrowprops=pointer)
            axes.text(middle, 1.78, "the true token", size=11, ha="center")
    axes.text(5.15, 1.03, f"and {largest.V - 5:,}\nmore", size=11, va="center", color=OTHER)
    axes.text(0.04, 0.14, f"$R$ = {rank_there}", size=15)
    axes.text(0.95, 0.16, "Only the place counts, not by how much others are ahead.", size=11)
queue = [(place, piece.decode(), p) for place, (_, piece, p) in enumerate(front, start=1)]
queue = pd.DataFrame(queue, columns=["place", "token", "p"]).round(6)
plots.save(figure, queue, figures_dir, "quickstart_queue")

# %% [markdown]
# *The queue of the largest pocket model before "True" in the second line, with probabilities.*
#
# To find a rank, no sorting is needed. Let $p(v)$ be the probability of token $v$, and let $t$ be the true token. Count the tokens that are at least as probable as $t$, itself included. (Equations are numbered as in the paper that this project reproduces.)
#
# $$R = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,]. \tag{3}$$

# %%
tokenizer = smallest.tokenizer  # cuts a text into tokens, as numbers
ids = tokenizer(text, return_tensors="pt")["input_ids"]
true_tokens = ids[0, 1:]  # the first token has nothing before it
spelt = [tokenizer.decode(token) for token in true_tokens]
i = 10  # " True", the token in the picture; try other places
t = true_tokens[i]

for model in (smallest, largest):
    logits = model.logits(ids)[0]  # at each place, a score of every token for the next place
    p = logits[i].softmax(dim=0)  # scores become probabilities
    R = (p >= p[t]).sum()  # Eq. 3
    print(f"S = {model.S:,}: rank {R} of {model.V:,}")

# %% [markdown]
# `logit_ranks` does this for all tokens at once. It compares the scores themselves, because softmax does not change their order. `.rank()` gives $R$ at each place. Which token is the hardest, the one with the largest rank?

# %%
logits = smallest.logits(ids)[0, :-1]  # after the last token nothing comes
ranks = logit_ranks(logits, true_tokens).rank()
hardest = ranks.argmax()
print(f"under the smallest model, {spelt[hardest]!r} has rank {ranks[hardest]}")

# %% [markdown]
# **Exercise 1.** Which rank does the largest model give this token?
#
# <details><summary>Hint</summary>Take the logits of <code>largest</code>, but keep <code>hardest</code> as it is.</details>
#
# `sealed` hides the right answer, and `check` compares yours with it. Both are rounded to `digits` decimals, and `within` says by how many units of the last one they may differ.

# %%
answer_1 = None  # a rank
right_answer = sealed("5ec1a0c9", digits=0, within=3)
mistakes = [
    (lambda answer: answer == ranks[hardest], "This is the rank under the smallest model."),
]
print(check(1, answer_1, right_answer, mistakes))

# %% [markdown]
# ## A share of tokens
#
# One function is a matter of luck, so we take many. $\mathrm{RBP}_k$ is the share of tokens whose rank is at most $k$, and its negative natural logarithm is the **loss**:
#
# $$\mathrm{RBP}_k = \Pr(R \le k), \qquad \text{loss} = -\log \mathrm{RBP}_k . \tag{4}$$
#
# A perfect model has $\mathrm{RBP}_k = 1$ and loss 0. A model that misses 5% has $\mathrm{RBP}_k = 0.95$ and loss 0.051: for few misses, the loss is nearly the share of misses. Why a logarithm? A share stops at 1, so it cannot grow as a power of $S$ for ever. Its $-\log$ can fall like a power of $S$ for ever, towards 0.
#
# **Exercise 2.** A model has $\mathrm{RBP}_1 = 0.30$. What is its loss, to two decimals?
#
# <details><summary>Hint</summary>Which logarithm is it?</details>

# %%
answer_2 = None  # a number
right_answer = sealed("77ac319b", digits=2)
mistakes = [
    (lambda answer: -np.log(1 - answer), "This is the share of misses, not the loss."),
]
print(check(2, answer_2, right_answer, mistakes))

# %% [markdown]
# **Guess first.** By how much is the loss at $k = 1$ lower for a model of twice the size: by half, by a quarter, or by less than a tenth?
#
# ## The law
#
# A *summary* holds a model's ranks on `pocket:code`, Python functions that it was not trained on. `models_of` chooses the summaries of one text and family, the smallest model first. `ks` holds 1, 10, 50 and 100.

# %%
every_summary = load_summaries(paths.SUMMARIES)  # a folder of the pocket models
summaries = models_of(every_summary, "pocket:code", "Pythia")
# A summary's manifest says what was measured: which model, its size, which text.
S = np.array([summary.manifest.S for summary in summaries])
RBP = {}
for k in ks:
    # rbp(k): the number of ranks of at most k, divided by the number of tokens
    RBP[k] = np.array([summary.rbp(k) for summary in summaries])

# %% [markdown]
# Are the stored numbers right? `measure` lets two of the models rank all these tokens again.

# %%
corpus = load_corpus("pocket:code")
again = []
for size in (0, 4):
    measured = measure(models[size], corpus)
    again.append(measured.summary)
    print(models[size].name)
    for k in (1, 10):
        print(f"  RBP_{k} = {measured.rbp(k):.3f}, stored {summaries[size].rbp(k):.3f}")

# %% [markdown]
# A power law, loss $= C\,S^{-\alpha}$, is a straight line in logarithms: $\log \text{loss} = \log C - \alpha \log S$. Least squares gives its slope, $-\alpha$.

# %%
alpha, C = {}, {}
for k in ks:
    if max(RBP[k]) == 1:
        continue  # a loss of 0 has no logarithm
    log_loss = np.log(-np.log(RBP[k]))
    slope, log_C = np.polyfit(np.log(S), log_loss, 1)
    alpha[k] = -slope
    C[k] = np.exp(log_C)

# %% tags=["hide-input"]
# Draw the figure: the loss against the size
law = pd.DataFrame({"k": alpha.keys(), "alpha": alpha.values(), "C": C.values()})


def draw_law(ks_drawn):
    """Points, lines and the two rings -> the figure and its points."""
    stored = plots.curve_points("stored", [rbp_curve(summaries, k) for k in ks_drawn])
    now = plots.curve_points("measured now", [rbp_curve(again, k) for k in ks_drawn])
    ends = []
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.9), layout="constrained")
    for k, grey in zip(ks_drawn, ordered_greys(len(ks_drawn)), strict=True):
        mine = stored[stored["quantity"] == f"RBP_{k}"]
        axes.plot(S, C[k] * S ** -alpha[k], color=INK, linewidth=1.2)
        axes.plot(mine["S"], mine["loss"], "o", color=grey)
        ends.append((S[-1], mine["loss"].iloc[-1], f"$k$ = {k}\n$\\alpha$ = {alpha[k]:.3f}", INK))
    if corpus.fingerprint == summaries[0].manifest.fingerprint:  # another text is not compared
        axes.plot(now["S"], now["loss"], "o", markersize=12, color="none", markeredgecolor=INK)
        ring = now.iloc[1]
        pointer = {"arrowstyle": "-", "color": INK, "shrinkB": 7}
        axes.annotate(
            "ring: measured again",
            (ring["S"], ring["loss"]),
            xytext=(0, 38),
            textcoords="offset points",
            arrowprops=pointer,
            size=10,
            color=OTHER,
        )
    axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
    axes.set_ylabel(r"loss, $-\log\,\mathrm{RBP}_k$")
    axes.set_xlim(S[0] / 1.5, S[-1] * 3)
    k = ks_drawn[0]
    lower = 1 - 2 ** -alpha[k]
    print(f"k = {k}: each doubling of S lowers the loss by {lower:.1%} (by the line)")
    axes.set_title(f"Each doubling of the size lowers the loss by {lower:.0%} ($k$ = {k})")
    plots.log_ticks(axes)
    plots.label_ends(axes, ends, gap=2.6)
    return figure, pd.concat([stored, now])


if len(law) < len(ks):
    print(f"no line at k = {sorted(set(ks) - set(law['k']))}: no rank is larger")
if len(law):
    with plots.style():
        figure, points = draw_law([int(k) for k in law["k"][:2]])
    plots.save(figure, points, figures_dir, "quickstart_law")

# %% tags=["hide-input"]
# The table of alpha and C, compared with the package's own fit
if len(law):
    fitted = fit_curves(rbp_curve(summaries, int(k)) for k in law["k"]).table
    assert np.allclose(fitted["slope"], -law["alpha"])
    print("The package's own fit has the same exponents.")
law.round(3) if len(law) else None

# %% [markdown]
# *Eight models on code, at two of the four $k$; both axes are logarithmic. The rings are the two models measured again: they fall on the stored points.*
#
# **Twice the size lowers the loss by 7%. 122 times the size, from the smallest model to the largest, lowers it only by a factor of 1.6.** The larger $k$ is, the faster the loss falls. The paper found this for real models:
#
# > "As models grow, a greater proportion of correct tokens are placed among the top predictions, and this improvement follows a power-law trend." (*Relative-Based Scaling Law for Neural Language Models*, arXiv 2510.20387, Section 1)
# >
# > $$-\log \mathrm{RBP}_k \propto S^{-\alpha}, \qquad \alpha > 0 \tag{1}$$
#
# **Exercise 3.** Follow the line at $k = 10$. At which $S$ does the line reach $\mathrm{RBP}_{10} = 0.8$? Answer in millions, to one decimal.
#
# <details><summary>Hint</summary>The table has alpha and C. Solve C S^-alpha = -log 0.8 for S.</details>

# %%
answer_3 = None  # millions
right_answer = sealed("32209ccb", digits=1, within=2)
too_small = (0.8 / -np.log(0.8)) ** (1 / 0.133)  # by this factor, if the loss is taken as 0.8
mistakes = [
    (lambda answer: answer * too_small, "The loss is -log 0.8, not 0.8."),
    (lambda answer: answer * too_small / 1e6, "The loss is -log 0.8, not 0.8; give millions."),
]
print(check(3, answer_3, right_answer, mistakes))

# %% [markdown]
# [Move through ten models yourself](../docs/explorables/tokens.html)
#
# ## What this cannot show
#
# - The points bend: both ends lie above their line. The choice of text does not explain this: other text would change a point's distance from its drawn line by only about a tenth. So the law is a rough description here.
# - These models span two decades (factors of ten) of $S$; the paper's own Pythia models span four.
# - The models are tiny and saw little text. They say nothing about the paper's exponents.

# %% tags=["hide-input", "hide-output"]
# All values of RBP_k
table = pd.DataFrame({"model": [summary.manifest.model for summary in summaries], "S": S})
for k in ks:
    table[f"RBP_{k}"] = RBP[k]
table.round(3)

# %% [markdown]
# Next: [the metric](02_section_3_metric.ipynb).
