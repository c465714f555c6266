"""Putting finished runs and their summaries into the package: what `rbpkit pocket ship` does.

Models go to `data/pocket/models/NAME` (hub layout, a card each), loss curves to
`data/pocket/runs`, summaries to `data/pocket/summaries`, those of other families than the paper's
to `data/pocket/beside`. The controls and the grid of sizes and tokens ship as totals.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from rbpkit import paper
from rbpkit.corpora import POCKET_CORPORA, Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import LoadedModel, load_model
from rbpkit.pocket import ladders
from rbpkit.pocket.controls import (
    CONTROLS,
    FAMILY,
    controls_path,
    grid_path,
    load_totals,
    pairs_path,
    save_totals,
    totals_of,
    totals_of_tokens,
)
from rbpkit.pocket.documents import CORPORA, load_pocket_documents
from rbpkit.pocket.families import CONTEXT, FAMILIES
from rbpkit.records import Records
from rbpkit.sections.pairs import completes_pair

SHIPPED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
THREADS = 1  # as in params/pocket.yaml: last bits, and now and then a rank, go by it


def ship_models(runs: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Copy every finished run under `runs` that is a ladder's model, and write its card.

    Raises InputError where there is none.
    """
    wanted = {run.name for family in ladders.LADDERS for run in ladders.ladder_runs(family)}
    results = sorted(p for p in runs.glob("*/result.json") if p.parent.name in wanted)
    if not results:
        raise InputError(f"{runs}: no finished run of a ladder's model there (NAME/result.json)")
    for path in results:
        name, run = path.parent.name, path.parent
        target = ladders.models_root() / name
        target.mkdir(parents=True, exist_ok=True)
        for file in SHIPPED:
            shutil.copyfile(run / "model" / file, target / file)
        (target / "README.md").write_text(card(name, json.loads(path.read_text()), run))
        logs = ladders.models_root().parent / "runs"
        logs.mkdir(exist_ok=True)
        shutil.copyfile(run / "log.csv", logs / f"{name}.csv")
        say(f"shipped {name}")


def ship_summaries(records: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Copy every summary under `records` into the package, replacing those of the same job.

    Raises InputError where there is none.
    """
    found = sorted(p for p in records.rglob("*.summary.npz") if not p.name.startswith("."))
    if not found:
        raise InputError(f"{records}: no summaries there")
    others = [family for family in ladders.LADDERS if family not in paper.FAMILIES]
    beside = {f"{run.name}.summary.npz" for one in others for run in ladders.ladder_runs(one)}
    for path in found:
        root = ladders.beside_root() if path.name in beside else ladders.summaries_root()
        target = root / path.relative_to(records)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    say(f"shipped {len(found)} summaries")


def card(name: str, result: dict, run: Path) -> str:
    """The model card: data, recipe, losses, time, all from the run itself."""
    key = result["key"]
    model = load_model(run / "model", device="cpu")
    with open(run / "log.csv", newline="") as handle:
        losses = [row for row in csv.DictReader(handle) if row["valid_ce"]]
    counts = {c: len(load_pocket_documents(c, "train").documents) for c in CORPORA}
    documents = ", ".join(f"{corpus} {count:,}" for corpus, count in counts.items())
    curve = "\n".join(
        f"| {int(row['tokens']):,} | {float(row['loss']):.3f} | {float(row['valid_ce']):.3f} |"
        for row in losses
    )
    threads = f"CPU threads {key['threads']}"
    place = threads if key.get("device", "cpu") == "cpu" else key["device"]
    heads = f"heads {key['heads']}, " if key["heads"] else "no attention, a state of 16, "
    decayed = "matrices" if key["heads"] else "matrices (not on the rates of the state's decay)"
    if model.context is None:
        context = f"trained on texts of {CONTEXT} tokens, with no limit of its own"
    else:
        context = f"context {model.context}"
    facts = {
        "Shape": f"width {key['width']}, {key['layers']} layers, {heads}"
        f"V = {model.V:,}, {context}. S = {model.S:,} non-embedding parameters "
        "(base model without output head, less token and position embeddings).",
        "Data": "docstrings, functions, signatures with summary lines and README sections cut "
        f"out of installed packages (training documents: {documents}), shuffled with a fixed "
        "seed, each followed by the end-of-text token. The packages' own licences (BSD, MIT, "
        "Apache and the like) apply to that text.",
        "Recipe": f"{key['tokens']:,} tokens, each seen once, {key['batch_rows']} x "
        f"{CONTEXT} a step; AdamW {tuple(key['betas'])}, weight decay "
        f"{key['weight_decay']} on {decayed}, gradient norm clipped at {key['clip']}; learning "
        f"rate {key['rate']} / width after {key['warmup']:.0%} warm-up, then linear to zero; "
        f"float32, seed {key['seed']}, {place}. Weights are rounded to "
        "float16.",
        "Result": f"validation CE {result['valid_ce']:.4f} nats a token, of the rounded weights, "
        f"packed into full contexts, after {result['seconds'] / 60:.0f} minutes of training. No "
        "validation or test document shares half or more of its twelve-word sequences with the "
        "training text; shorter passages recur, as they do in such text.",
    }
    if note := FAMILIES[key["family"]].note:
        facts["Class"] = note
    listed = "\n".join(f"- **{name}**: {fact}" for name, fact in facts.items())
    return f"""---
license: mit
library_name: transformers
tags: [rbpkit, scaling-law]
---
# {name}
A small language model of the {key["family"]} architecture ({type(model.model).__name__}), trained
for the reproduction of "Relative-Based Scaling Law for Neural Language Models" (arXiv 2510.20387).
It is a measuring point on a ladder of sizes, not a model to generate text with.

{listed}

`rbpkit pocket train --family {key["family"].lower()}` makes it again.

| tokens | training loss | validation CE |
| ---: | ---: | ---: |
{curve}
"""


# --- what ships as totals only ---------------------------------------------------------------


def ship_totals(runs: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Measure the finished runs under `runs`; put their totals into the package.

    Of the controls to `controls_path`; of Pythias, by the name NAME-Mm, to `grid_path`; of these,
    of the other ladders' models and of their other seeds (NAME-Mm-seedN), by tokens that complete a
    pair and others, to `pairs_path`.
    What was measured before on the same weights is passed over. Loss curves of what ships as
    totals only go to `data/pocket/runs`. Raises InputError where no run is finished.
    """
    results = sorted(runs.glob("*/result.json"))
    if not results:
        raise InputError(f"{runs}: no finished run there (NAME/result.json)")
    torch.set_num_threads(THREADS)
    controls = {control.run.name for control in CONTROLS}
    paths = {"control": controls_path(), "grid": grid_path()}
    paths |= {"pair": pairs_path(True), "other": pairs_path(False)}
    done = {kind: load_totals(path) if path.exists() else [] for kind, path in paths.items()}
    corpora = [load_corpus(name) for name in POCKET_CORPORA]
    for path in results:
        run, key = path.parent, json.loads(path.read_text())["key"]
        name = run.name
        if name in controls:
            kinds = ("control",)
        else:
            millions = f"-{key['tokens'] / 1e6:g}m"
            seed = f"-seed{key['seed']}" if key["seed"] else ""
            name = name.removesuffix(seed).removesuffix(millions) + millions + seed
            of_grid = key["family"] == FAMILY and not seed
            kinds = (*(("grid",) if of_grid else ()), "pair", "other")
        model = replace(load_model(run / "model", device="cpu"), name=name)
        before = [one for one in done[kinds[-1]] if one.manifest.model == name]
        if before and {one.manifest.revision for one in before} == {model.revision}:
            continue
        for kind in kinds:
            done[kind] = [one for one in done[kind] if one.manifest.model != name]
        for records in measured_records(model, corpora):
            completed = completes_pair(records) if "pair" in kinds else None
            for kind in kinds:
                if kind in ("pair", "other"):
                    done[kind].append(totals_of_tokens(records, completed == (kind == "pair")))
                else:
                    done[kind].append(totals_of(records.summary()))
        for kind in kinds:
            save_totals(done[kind], paths[kind])
        if name in controls or not (ladders.models_root() / run.name).is_dir():
            shutil.copyfile(run / "log.csv", ladders.models_root().parent / "runs" / f"{name}.csv")
        say(f"measured {name}")


def measured_records(model: LoadedModel, corpora: Iterable[Corpus]) -> Iterator[Records]:
    """The records of a model on each of the corpora."""
    with tempfile.TemporaryDirectory() as scratch:
        for corpus in corpora:
            yield Records.load(measure(model, corpus, scratch, max_length=CONTEXT).path)
