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
# # The pocket ladders: how they were made, and what a recipe can do to a law
#
# **Claim to be tested.** The paper fits a line in $\log S$ to models that others trained. We trained our own, so we can ask what a reader of its figures cannot: does the slope change when the size is counted otherwise, when the depth changes and the width does not, when the models see half or double the tokens, or another seed? And is the law there from the start of training?
#
# Everything measured here ships with `rbpkit` as summaries and loss curves; nothing is run on a model, and the notebook takes seconds. $S$ leaves out token and position embeddings and the output head.

# %% tags=["parameters"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # ladders to show
corpus_names = ["pocket:prose", "pocket:code", "pocket:qa", "pocket:legal"]
ks = [1, 10, 50, 100]  # k of RBP_k
records_dir = ""  # a folder of records of the ladders; empty: the summaries that ship with rbpkit
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import pandas as pd

import rbpkit
from rbpkit import figures, figures_training, ladders, pocket
from rbpkit.exercises import check, close
from rbpkit.pocket_controls import along_root, controls_root
from rbpkit.store import load_summaries

print("rbpkit", rbpkit.__version__)
summaries = load_summaries(records_dir or pocket.summaries_root())
there = {(s.manifest.corpus, s.manifest.family) for s in summaries}
for corpus in corpus_names:
    for family in families:
        if (corpus, family) not in there:
            print(f"not measured: {family} on {corpus}")

# %% [markdown]
# ## Four families, one text
#
# Each ladder has the architecture of a real family: GPT-2 and OPT with learned positions and an output matrix tied to the embedding, Pythia (GPT-NeoX) with rotary positions on a quarter of each head, parallel residual and an output matrix of its own, Qwen2.5 with rotary positions, grouped-query attention, a gated MLP, and an output matrix of its own in the two largest. All models have one tokenizer ($V$ = 4,096) and saw the same tokens in the same order.
#
# Each point is the cross-entropy on validation text, of eight measured along the way.

# %%
names = {family: [run.name for run in pocket.ladder_runs(family)] for family in pocket.LADDERS}
logs = figures_training.read_logs(pocket.models_root().parent / "runs")
figure = figures_training.family_losses(logs, {f: names[f] for f in families if f in names})
points = pd.concat([log.assign(run=run) for run, log in logs.items()], ignore_index=True)
points = points.dropna(subset="valid_ce")[["run", "step", "tokens", "loss", "valid_ce"]]
figures.save(figure, points, figures_dir, "pocket_losses")

# %% [markdown]
# The peak learning rate is $c/d$ for width $d$. The constant $c$ was searched family by family on a quarter of the tokens, by validation cross-entropy alone, before any slope was fitted. All runs of that search:

# %%
search = pd.read_csv(pocket.models_root().parent / "runs" / "rate_search.csv")
ended = search.dropna(subset="valid_ce").groupby(
    ["family", "width", "layers", "positions", "c"], as_index=False
)["valid_ce"].last()
ended.pivot(index=["family", "width", "layers", "positions"], columns="c", values="valid_ce").round(3).fillna("")

# %% [markdown]
# ## Which size?
#
# Three measures of a model's size: the paper's $S$; $S + dV$, which counts the output matrix that every token passes through; and the floating-point operations of training, $6\,T\,(S + dV + L\,d\,C)$ for $T$ tokens, $L$ layers and a context of $C = 256$. All models of these ladders saw the same tokens, so the last two differ by attention alone.

# %%
by_size = ladders.by_size_measure(summaries, corpus_names, families, ks)
wide = by_size[by_size["quantity"].isin(["CE", "RBP_1", "RBP_10", "RBP_100"])]
wide.pivot(index=["family", "corpus", "quantity"], columns="size", values=["slope", "R2"]).round(3)

# %%
best = by_size.loc[by_size.groupby(["family", "corpus", "quantity"])["R2"].idxmax()]
counted = best.groupby(["family", "size"]).size().unstack(fill_value=0)
span = by_size.groupby(["family", "size"])["decades"].first().unstack()
pd.concat({"cells with the highest R2": counted, "decades spanned": span.round(2)}, axis=1)

# %% [markdown]
# <!-- measured: sizes -->
#
# ## Controls
#
# Each control differs from one model of the Pythia ladder in one thing. *Against base*: by how many percent its loss lies above that model's. *Against line*: above the ladder's fitted line at the control's own $S$.

# %%
controls = ladders.controls_table(summaries, load_summaries(controls_root()), (1, 10, 100))
shown = controls[controls["corpus"].isin(corpus_names)]
shown.pivot_table(
    index=["control", "changes", "quantity"],
    columns="corpus",
    values="against base",
    sort=False,
).round(1)

# %%
shown.pivot_table(
    index=["control", "changes", "quantity"],
    columns="corpus",
    values="against line",
    sort=False,
).round(1)

# %% [markdown]
# <!-- measured: controls -->
#
# ## Along training
#
# The law in $S$ fitted to the same six models after each sixty-fourth, thirty-second, ... of their training. The learning rate falls linearly to zero at the end, so models in the middle are measured at a high rate: their losses are higher than those of a run that ends there.

# %%
along = ladders.along_training(load_summaries(along_root()), summaries, (1, 10, 100))
along = along[along["corpus"].isin(corpus_names)]
figure = figures_training.along_panels(along, ["CE", "RBP_1", "RBP_10", "RBP_100"])
figures.save(figure, along, figures_dir, "pocket_along_training")

# %%
along[along["quantity"].isin(["CE", "RBP_1"])].pivot(
    index="tokens", columns=["corpus", "quantity"], values="slope"
).round(3)

# %% [markdown]
# <!-- measured: along -->
#
# ## Exercises
#
# 1. At which number of training tokens is the slope of $-\log\mathrm{RBP}_1$ on `pocket:code` steepest? (Look it up in `along`.)
# 2. By how many percent does the loss $-\log\mathrm{RBP}_1$ on `pocket:code` change, at most, with the seed? (In `controls`.)

# %%
answer_1 = None  # a number of tokens
answer_2 = None  # percent, one decimal

code = along[(along["corpus"] == "pocket:code") & (along["quantity"] == "RBP_1")]
seeds = controls[controls["changes"].str.startswith("seed")]
seeds = seeds[(seeds["corpus"] == "pocket:code") & (seeds["quantity"] == "RBP_1")]
print(check(1, answer_1, lambda given: given == code.loc[code["slope"].idxmin(), "tokens"]))
print(check(2, answer_2, close(seeds["against base"].abs().max(), 0.051)))
