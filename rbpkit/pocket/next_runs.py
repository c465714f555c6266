"""The training runs of the next ladders: which they are, in which order, and how they go on.

First the rate: for each family and two widths short runs at c / width, c doubled or halved until
the best by validation CE has a worse one on either side. A family's one c is the geometric mean of
the two best. Then Pythia at four numbers of tokens, each with a schedule of its own, cheapest
first, its two largest at the most tokens only, then the other ladders. `work` takes one run after
the other; any number of processes may do so on one folder, be stopped at any moment and started
again.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.pocket import next as next_text
from rbpkit.pocket.controls import (
    grid_path,
    load_totals,
    pairs_path,
    save_totals,
    totals_of,
    totals_of_tokens,
)
from rbpkit.pocket.families import Shape, V
from rbpkit.pocket.ladders import LADDERS, Recipe, Run, load_tokenizer, name_of
from rbpkit.pocket.objective import stream_of
from rbpkit.pocket.shipping import measured_records
from rbpkit.pocket.training import Text, train
from rbpkit.pocket.training_state import replace_file
from rbpkit.sections.pairs import completes_pair

RATE_TOKENS = 1_500_000
TOKENS = (1_500_000, 3_000_000, 6_000_000, 12_000_000)
LADDERS_NEXT: dict[str, tuple[Shape, ...]] = {
    "Pythia": (*LADDERS["Pythia"], Shape(160, 6, 5), Shape(192, 7, 6)),
    "GPT2": (*LADDERS["GPT2"], Shape(96, 10, 3)),
    "OPT": (*LADDERS["OPT"], Shape(160, 6, 5)),
    # Qwen2.5-32B is 14B with a third more layers and an MLP of 5.4 d for 2.7 d.
    "Qwen": (*LADDERS["Qwen"], Shape(128, 8, 4, inner=704, untied=True)),
    "Mamba": LADDERS["Mamba"],
}
GRID = {("Pythia", shape) for shape in LADDERS_NEXT["Pythia"][:-2]}  # trained at each of TOKENS
# Of each family the sizes of widths 32 and 64 (of OPT 80), and where their brackets begin: near
# the best of the search on the earlier text (`data/pocket/runs/rate_search.csv`).
BRACKETS: dict[str, dict[int, float]] = {
    "Pythia": {32: 0.7, 64: 0.7},
    "GPT2": {32: 0.35, 64: 0.35},
    "OPT": {32: 0.7, 80: 0.35},
    "Qwen": {32: 0.35, 64: 0.35},
    "Mamba": {32: 1.4, 64: 1.4},
}


WEIGHTS = ("model/config.json", "model/model.safetensors")
LOGS = ("log.csv", "result.json")
LOGGED = ("step", "tokens", "loss", "valid_ce")  # columns of the logs kept of the search


def shape_of(family: str, width: int) -> Shape:
    """The ladder's shape of that width."""
    return next(shape for shape in LADDERS_NEXT[family] if shape.width == width)


def rate_run(family: str, width: int, c: float) -> Run:
    """A short run of the search for the rate."""
    shape = shape_of(family, width)
    recipe = Recipe(tokens=RATE_TOKENS, rate=c)
    return Run(f"rate-{name_of(family, shape)}-c{c:g}", family, shape, recipe)


def still_to_try(begin: float, found: Mapping[float, float]) -> list[float]:
    """The c that the bracket still lacks; none where the best has a worse one on either side.

    found: c -> validation CE (nats) of the runs that are done.
    """
    missing = [c for c in (begin, begin / 2, 2 * begin) if c not in found]
    if missing:
        return missing
    best = min(found, key=found.__getitem__)
    return [c for c in (best / 2, 2 * best) if c not in found]


def validation_ces(out: Path, family: str, width: int) -> dict[float, float]:
    """c -> validation CE (nats) of the finished runs of a family's search at one width."""
    beginning = f"rate-{name_of(family, shape_of(family, width))}-c"
    found = {}
    for path in out.glob(f"{beginning}*/result.json"):
        c = float(path.parent.name.removeprefix(beginning))
        found[c] = json.loads(path.read_text())["valid_ce"]
    return found


def rate_of(out: Path, family: str) -> float | None:
    """A family's c: the geometric mean of the best at its two widths; None while one is open."""
    best = []
    for width, begin in BRACKETS[family].items():
        found = validation_ces(out, family, width)
        if still_to_try(begin, found):
            return None
        best.append(min(found, key=found.__getitem__))
    return float(f"{math.prod(best) ** (1 / len(best)):.4g}")


def ladder_run(family: str, shape: Shape, tokens: int, c: float) -> Run:
    """A model of the ladder, trained on so many tokens with a schedule that ends there."""
    name = f"{name_of(family, shape)}-{tokens / 1e6:g}m"
    return Run(name, family, shape, Recipe(tokens=tokens, rate=c))


def cost(run: Run) -> float:
    """Multiplications a token times tokens: layers (12 d^2, Mamba's scan above that) and head."""
    shape = run.shape
    layers = shape.layers * 12 * shape.width**2 * (1 if shape.heads else 4)
    return run.recipe.tokens * (layers + shape.width * V)


def pending(out: Path) -> Iterator[Run]:
    """Unfinished runs that can be started now, in the order in which they are wanted."""
    wanted = [
        rate_run(family, width, c)
        for family, widths in BRACKETS.items()
        for width, begin in widths.items()
        for c in still_to_try(begin, validation_ces(out, family, width))
    ]
    wanted.sort(key=cost)
    for family in LADDERS_NEXT:
        c = rate_of(out, family)
        if c is not None:
            runs = [
                ladder_run(family, shape, D, c)
                for shape in LADDERS_NEXT[family]
                for D in (TOKENS if (family, shape) in GRID else TOKENS[-1:])
            ]
            wanted += sorted(runs, key=cost)
    return (run for run in wanted if not (out / run.name / "result.json").is_file())


@contextmanager
def claimed(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether this process has the folder for itself; a killed process lets go of it."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            yield False
            return
        yield True


def text_of(out: Path) -> Text:
    """The next ladders' token streams, kept in `out` under the text's fingerprint."""
    tokenizer = load_tokenizer(next_text.next_root() / "tokenizer")
    vocabulary = hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest()
    streams = {}
    for split in ("train", "valid"):
        path = out / f"{split}-{next_text.fingerprint()[:12]}-{vocabulary[:12]}.npy"
        if not path.is_file():
            loaded = [next_text.load_documents(corpus, split) for corpus in next_text.CORPORA]
            if not all(one.as_shipped for one in loaded):
                raise InputError(
                    f"the {split} text is not the listed one: install by constraints.txt"
                )
            stream = stream_of([t for one in loaded for t in one.documents], tokenizer)
            _write_ids(path, stream.numpy().astype(np.uint16))
        streams[split] = torch.from_numpy(np.load(path).astype(np.int64))
    return Text(streams["train"], streams["valid"], tokenizer)


def _write_ids(path: Path, ids: np.ndarray) -> None:
    def write(temporary: Path) -> None:
        with open(temporary, "wb") as handle:
            np.save(handle, ids)

    replace_file(path, write)


def work(
    out: Path, *, most: int | None = None, say: Callable[[str], None] = lambda line: None
) -> None:
    """Train what is pending under `out`, one run after the other, until nothing can be started.

    most: at most so many runs. Runs that another process works on are passed over.
    """
    with claimed(out / "text", wait=True):
        text = text_of(out)
    done = 0
    while most is None or done < most:
        for run in pending(out):
            folder = out / run.name
            with claimed(folder) as mine:
                if not mine or (folder / "result.json").is_file():
                    continue
                say(f"{run.name}: {_train(run, folder, text)}")
            done += 1
            break  # a rate may be settled now: look again from the first wanted
        else:
            return


def _train(run: Run, folder: Path, text: Text) -> str:
    try:
        one = train(run.family, run.shape, run.recipe, folder, text=text)
    except InputError as error:
        # Too high a rate for the search is an answer; anything else is not.
        if not run.name.startswith("rate-") or "diverged" not in str(error):
            raise
        key = {"family": run.family, "width": run.shape.width, "layers": run.shape.layers}
        facts = {"valid_ce": math.inf, "key": key | {"rate": run.recipe.rate}}
        replace_file(folder / "result.json", lambda path: path.write_text(json.dumps(facts)))
        return "diverged"
    return f"validation CE {one.valid_ce:.4f} nats, {one.seconds / 60:.1f} min"


def harvest(out: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Copy what is finished under `out` into the package's folder of the next ladders.

    The searches for the rate go to `rate_search.csv`, a row each time the validation CE was
    taken; models to `models/NAME` (log and result; of those with the most tokens the fp16 weights
    and the config too). What they give on the held-out text goes to the shipped totals of the
    Pythias (`controls.grid_path`) and, of other families, to `totals.jsonl.gz`.
    """
    root = next_text.next_root()
    rows: list[dict[str, str]] = []
    results = sorted(out.glob("*/result.json"))
    ladder = [path.parent for path in results if not path.parent.name.startswith("rate-")]
    for shipped, totals in ((True, grid_path()), (False, root / "totals.jsonl.gz")):
        runs = [run for run in ladder if run.name.startswith("pythia-") == shipped]
        measure_models(runs, totals, say=say)
    for path in results:
        run = path.parent
        if run not in ladder:
            rows += _rate_rows(run)
            continue
        target = root / "models" / run.name
        target.mkdir(parents=True, exist_ok=True)
        for file in (*LOGS, *_weights(run.name)):
            shutil.copyfile(run / file, target / Path(file).name)
    if rows:
        rows.sort(key=lambda r: (r["run"], int(r["step"] or 0)))
        with open(root / "rate_search.csv", "w", newline="") as handle:
            writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    rates = ", ".join(f"{family} {rate_of(out, family)}" for family in BRACKETS)
    say(f"{len(results)} finished runs; c of the rate: {rates}")


def _weights(name: str) -> tuple[str, ...]:
    """The files of a ladder's run that ship beside its logs."""
    return WEIGHTS if name.endswith(f"-{TOKENS[-1] / 1e6:g}m") else ()


def held_out() -> list[Corpus]:
    """The held-out text of the next ladders' four corpora, then HumanEval by the paper's protocol.

    Raises InputError where the installed packages hold another text than the lists.
    """
    found = []
    for name in next_text.CORPORA:
        text = next_text.load_documents(name, "test")
        if not text.as_shipped:
            raise InputError(f"the held-out {name} is not the listed one: see constraints.txt")
        source = {"kind": "pocket", "path": "installed packages", "streaming": False}
        protocol = {"order": "in order", "seed": None, "requested": None}
        protocol["available"] = len(text.documents)
        found.append(Corpus(f"pocket:{name}", text.documents, text.fingerprint, source, protocol))
    path = next_text.next_root() / "humaneval.jsonl.gz"
    humaneval = load_corpus(path, documents=0, field="prompt+canonical_solution")
    return [*found, replace(humaneval, id="pocket:humaneval")]


def measure_models(
    runs: Iterable[Path], totals: Path, *, say: Callable[[str], None] = lambda line: None
) -> None:
    """Measure the finished runs that `totals` lacks, on `held_out`, and add what they give.

    What they give on the tokens that complete a pair, and on the others, goes beside it
    (`controls.pairs_path`).
    """
    done = load_totals(totals) if totals.is_file() else []
    paths = {kind: pairs_path(kind, totals.parent) for kind in (True, False)}
    by_kind = {kind: load_totals(p) if p.is_file() else [] for kind, p in paths.items()}
    there = {one.manifest.model for one in done} & {one.manifest.model for one in by_kind[True]}
    new = [run for run in runs if run.name not in there]
    corpora = held_out() if new else []
    for run in new:
        done = [one for one in done if one.manifest.model != run.name]
        for records in measured_records(run / "model", run.name, corpora):
            done.append(totals_of(records.summary()))
            completed = completes_pair(records)
            for kind, some in by_kind.items():
                some.append(totals_of_tokens(records, completed == kind))
        save_totals(done, totals)
        for kind, some in by_kind.items():
            save_totals(some, paths[kind])
        say(f"measured {run.name}")


def _rate_rows(run: Path) -> list[dict[str, str]]:
    result = json.loads((run / "result.json").read_text())
    key = result["key"]
    facts = {"run": run.name, **{n: str(key[n]) for n in ("family", "width", "layers", "rate")}}
    facts |= {"final_ce": f"{result['valid_ce']:.5f}"}
    with open(run / "log.csv", newline="") as handle:
        logged = [row for row in csv.DictReader(handle) if row["valid_ce"]]
    return [facts | {n: row[n] for n in LOGGED} for row in logged] or [
        facts | dict.fromkeys(LOGGED, "")  # diverged before the first
    ]


def restore(out: Path, *, say: Callable[[str], None] = lambda line: None) -> None:
    """Put what `harvest` kept back under `out`, so that it is not trained again."""
    root = next_text.next_root()
    models = sorted((root / "models").glob("*/result.json"))
    for path in models:
        for file in (*LOGS, *_weights(path.parent.name)):
            target = out / path.parent.name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.parent / Path(file).name, target)
    logs: dict[str, list[dict[str, str]]] = {}
    if (root / "rate_search.csv").is_file():
        with open(root / "rate_search.csv", newline="") as handle:
            for row in csv.DictReader(handle):
                logs.setdefault(row["run"], []).append(row)
    for name, rows in logs.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        with open(out / name / "log.csv", "w", newline="") as handle:
            writer = csv.DictWriter(handle, LOGGED, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(row for row in rows if row["step"])
        first = rows[0]
        key = {"family": first["family"], "width": int(first["width"])}
        key |= {"layers": int(first["layers"]), "rate": float(first["rate"])}
        facts = json.dumps({"valid_ce": float(first["final_ce"]), "key": key})
        (out / name / "result.json").write_text(facts)
    say(f"{len(models)} models and {len(logs)} runs of the rate search are back in {out}")
