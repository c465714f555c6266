"""For maintainers: put finished runs of `rbpkit pocket train` into the package.

    python -m rbpkit_pocket.shipping FOLDER_OF_RUNS

A pocket model goes to `paths.MODELS` (hub layout, with a card), every loss curve to `paths.RUNS`.
Every model is measured, its totals are put into the files that `paths` names, and its copying probe
into `paths.COPYING`. Summaries of `rbpkit sweep` are copied by hand, to `paths.SUMMARIES`, or to
`paths.MAMBA_SUMMARIES` for a family that is not in the paper.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import (
    ABLATION_RUNS,
    FAMILY,
    Totals,
    completes_pair,
    load_totals,
    save_totals,
    totals_of,
    totals_of_tokens,
)
from rbpkit_pocket.copying import ship_copying
from rbpkit_pocket.families import POCKET_CONTEXT
from rbpkit_pocket.plugin import SHIPPED_MODELS, TEXT_CORPORA
from rbpkit_pocket.recipes import training_of

SHIPPED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def ship_run(run: Path, corpora: list[Corpus]) -> None:
    """Put a finished run into the package; what was there of the same model is replaced.

    - Totals of an ablation go to `paths.ABLATIONS`.
    - Totals of any other Pythia of seed 0 go to `paths.GRID`, by the name NAME-Mm.
    - Of all except ablations, by the name NAME-Mm or NAME-Mm-seedN, the tokens that complete a pair
      and those that do not go to `paths.PAIR_TOKENS` and `paths.OTHER_TOKENS`.
    """
    key = json.loads((run / "result.json").read_text())["key"]
    is_ablation = run.name in {ablation.name for ablation in ABLATION_RUNS}
    name = run.name if is_ablation else _with_tokens(run.name, key)
    log_name = name
    if run.name in SHIPPED_MODELS:
        log_name = run.name
        _ship_weights(run)
    shutil.copyfile(run / "log.csv", paths.RUNS / f"{log_name}.csv")

    model = replace(load_model(run / "model", device="cpu"), name=name)
    ship_copying(log_name, model)
    is_of_grid = key["family"] == FAMILY and not key["seed"]
    totals: dict[Path, list[Totals]] = defaultdict(list)
    for corpus in corpora:
        records = measure(model, corpus, max_length=POCKET_CONTEXT).records
        whole = totals_of(records.summary)
        if is_ablation:
            totals[paths.ABLATIONS].append(whole)
            continue
        if is_of_grid:
            totals[paths.GRID].append(whole)
        completed = completes_pair(records)
        totals[paths.PAIR_TOKENS].append(totals_of_tokens(records, completed))
        totals[paths.OTHER_TOKENS].append(totals_of_tokens(records, ~completed))
    for path, of_model in totals.items():
        others = [other for other in load_totals(path) if other.manifest.model != name]
        save_totals([*others, *of_model], path)


def _with_tokens(name: str, key: dict[str, Any]) -> str:
    """The name of a run with its millions of tokens and its seed: NAME-Mm or NAME-Mm-seedN."""
    training = training_of(name)
    seed = f"-seed{training.seed}" if training.seed else ""
    return f"{training.size}-{key['tokens'] / 1e6:g}m{seed}"


def _ship_weights(run: Path) -> None:
    target = paths.MODELS / run.name
    target.mkdir(parents=True, exist_ok=True)
    for file in SHIPPED:
        shutil.copyfile(run / "model" / file, target / file)
    (target / "README.md").write_text(card(run))


def card(run: Path) -> str:
    """The model card of a finished run: recipe, losses and time, all from the run itself."""
    result = json.loads((run / "result.json").read_text())
    key = result["key"]
    model = load_model(run / "model", device="cpu")
    log = pd.read_csv(run / "log.csv").dropna(subset="valid_ce")
    rows = [f"| {row.tokens:,} | {row.loss:.3f} | {row.valid_ce:.3f} |" for row in log.itertuples()]
    curve = "\n".join(rows)
    recipe = "\n".join(f"- {name}: {value}" for name, value in key.items())
    minutes = result["seconds"] / 60
    return f"""---
license: mit
library_name: transformers
tags: [rbpkit, scaling-law]
---
# {run.name}
A small language model of the {key["family"]} architecture ({type(model.model).__name__}), trained
for the reproduction of "Relative-Based Scaling Law for Neural Language Models" (arXiv 2510.20387).
It is a measuring point among several sizes, not a model to generate text with.

S = {model.S:,} non-embedding parameters, V = {model.V:,}. Trained on text cut out of installed
packages (their own licences apply to it), each token seen once. Validation CE
{result["valid_ce"]:.4f} nats a token, of the weights rounded to float16, after
{minutes:.0f} minutes of training. `rbpkit pocket train --family
{key["family"].lower()}` makes it again by this recipe (the peak learning rate is rate / width):

{recipe}

| tokens | training loss | validation CE |
| ---: | ---: | ---: |
{curve}
"""


if __name__ == "__main__":
    torch.set_num_threads(1)  # as in params/pocket.yaml: last bits, and now and then a rank, vary
    texts = [load_corpus(f"pocket:{name}") for name in TEXT_CORPORA]
    for result in sorted(Path(sys.argv[1]).glob("*/result.json")):
        ship_run(result.parent, texts)
        print(f"shipped {result.parent.name}", flush=True)
