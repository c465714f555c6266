"""For maintainers: put finished runs of `rbpkit pocket train` into the package.

    python -m rbpkit_pocket.shipping FOLDER_OF_RUNS

A pocket model goes to `data/pocket/models/NAME` (hub layout, with a card), every loss curve to
`rbpkit_pocket/data/runs`. Every model is measured, and its totals are put into the files of `controls`,
its copying probe into that of `copying`.
Summaries of `rbpkit sweep` are copied by hand, to `rbpkit_pocket/data/summaries`, or `beside` for a family
that is not in the paper.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.records import Records
from rbpkit_pocket import ablations, paths, recipes
from rbpkit_pocket.ablations import (
    completes_pair,
    load_totals,
    save_totals,
    totals_of,
    totals_of_tokens,
)
from rbpkit_pocket.copying import ship_copying
from rbpkit_pocket.families import POCKET_CONTEXT, POCKET_FAMILIES
from rbpkit_pocket.plugin import TEXT_CORPORA

SHIPPED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def ship(run: Path, corpora: list[Corpus]) -> None:
    """Put a finished run into the package; what was there of the same model is replaced.

    Controls go to `paths.ABLATIONS`, Pythias of seed 0 by the name NAME-Mm to `paths.GRID`. Of all but
    the controls, by the name NAME-Mm or NAME-Mm-seedN, the tokens that complete a pair and those
    that do not go to `paths.PAIR_TOKENS` and `paths.OTHER_TOKENS`.
    """
    key = json.loads((run / "result.json").read_text())["key"]
    is_control = run.name in {one.name for one in ablations.ABLATIONS}
    name, millions = run.name, f"-{key['tokens'] / 1e6:g}m"
    if not is_control:
        seed = f"-seed{key['seed']}" if key["seed"] else ""
        name = name.removesuffix(seed).removesuffix(millions) + millions + seed
    log = name
    if run.name in {one.name for family in POCKET_FAMILIES for one in recipes.runs_of(family)}:
        log, target = run.name, paths.MODELS / run.name
        target.mkdir(parents=True, exist_ok=True)
        for file in SHIPPED:
            shutil.copyfile(run / "model" / file, target / file)
        (target / "README.md").write_text(card(run))
    shutil.copyfile(run / "log.csv", paths.RUNS / f"{log}.csv")

    new: dict[Path, list[ablations.Totals]] = {}
    model = replace(load_model(run / "model", device="cpu"), name=name)
    ship_copying({log: model})
    for corpus in corpora:
        with tempfile.TemporaryDirectory() as scratch:
            records = Records.load(measure(model, corpus, scratch, max_length=POCKET_CONTEXT).path)
        if is_control or (key["family"] == ablations.FAMILY and not key["seed"]):
            path = paths.ABLATIONS if is_control else paths.GRID
            new.setdefault(path, []).append(totals_of(records.summary()))
        if not is_control:
            completed = completes_pair(records)
            for kind in (True, False):
                part = totals_of_tokens(records, completed == kind)
                new.setdefault(paths.PAIR_TOKENS if kind else paths.OTHER_TOKENS, []).append(part)
    for path, totals in new.items():
        before = load_totals(path) if path.exists() else []
        save_totals([one for one in before if one.manifest.model != name] + totals, path)


def card(run: Path) -> str:
    """The model card of a finished run: recipe, losses and time, all from the run itself."""
    result = json.loads((run / "result.json").read_text())
    key = result["key"]
    model = load_model(run / "model", device="cpu")
    log = pd.read_csv(run / "log.csv").dropna(subset="valid_ce")
    curve = "\n".join(
        f"| {row.tokens:,} | {row.loss:.3f} | {row.valid_ce:.3f} |" for row in log.itertuples()
    )
    recipe = "\n".join(f"- {name}: {value}" for name, value in key.items())
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
{result["seconds"] / 60:.0f} minutes of training. `rbpkit pocket train --family
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
        ship(result.parent, texts)
        print(f"shipped {result.parent.name}", flush=True)
