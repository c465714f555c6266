"""The site's sources: notebooks, README and pages, put together in one folder for Sphinx.

Notebooks keep their words, code and outputs. What is changed is what a page needs: figures at the
resolution of `figures/`, alternative texts, links between pages, the paper's equation numbers.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import nbformat
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PICTURED = re.compile(r"!\[[^\]]*\]\(\.\./figures/(\w+)\.png\)")
README = ("figure_3", "17_cross_entropy")  # figures that README.md shows
SAVED = re.compile(r"save(?:_table)?\([^\n]*figures_dir, \"(\w+)\"\)")
COLOURS = 256  # a palette: a third of the bytes, and no difference that can be seen
MOST_PIXELS = 2400  # across: three times the column's width

TAG = re.compile(r"\\tag\{([\d, ]+)\}")
MENTION = re.compile(r"\b(Eq\.|Eqs\.(?= \d+(?:,| to| and) )) (\d+(?:(?:, | to | and )\d+\b(?!%))*)")
HINT = re.compile(r"<details><summary>Hint</summary>(.*?)</details>", re.DOTALL)
NOTEBOOK = re.compile(r"\b([Nn]otebook) (\d\d)\b")
# What no link may be put into: code, formulas, links, headings, targets.
FIXED = re.compile(
    r"(```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$|!?\[[^\]]*\]\([^)]*\)|^#+ .*?$|^\([\w-]+\)=$)",
    re.DOTALL | re.MULTILINE,
)


def assemble(sources: Path) -> list[str]:
    """Write all sources of the site into an empty folder; returns the notebooks' names."""
    shutil.rmtree(sources, ignore_errors=True)
    (sources / "notebooks").mkdir(parents=True)
    (sources / "figures").mkdir()
    read = {path.stem: nbformat.read(path, 4) for path in sorted(ROOT.glob("notebooks/*.ipynb"))}
    if not read:
        raise SystemExit(f"site: no notebooks in {ROOT / 'notebooks'}; run `make notebooks`")
    known = known_equations(read)
    for name, notebook in read.items():
        nbformat.write(page(name, notebook, known, list(read)), sources / f"notebooks/{name}.ipynb")
    for figure in {*README, *pictured(read.values())}:
        (sources / "figures" / f"{figure}.png").write_bytes(sharp(figure))
    for table, title in (
        ("table_1", "Table 1, computed from the published points"),
        ("pocket_table_1", "The pocket models in the form of Table 1"),
    ):
        text = (ROOT / "figures" / f"{table}.md").read_text(encoding="utf-8")
        (sources / "figures" / f"{table}.md").write_text(f"# {title}\n\n{text}", encoding="utf-8")
    others = (ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING"))
    for path in [*DOCS.glob("*.md"), *filter(Path.is_file, others)]:
        _write_page(sources / path.name, path, list(read))
    index = sources / "index.md"
    index.write_text(with_others(index.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(DOCS / "conf.py", sources)
    shutil.copy(DOCS / "references.bib", sources)  # a page links it, for download
    shutil.copytree(DOCS / "_static", sources / "_static")
    return list(read)


def pictured(notebooks: Iterable[nbformat.NotebookNode]) -> set[str]:
    """Names of the figures that the words of notebooks show."""
    cells = (cell for notebook in notebooks for cell in notebook.cells)
    words = (cell.source for cell in cells if cell.cell_type == "markdown")
    return {figure for text in words for figure in PICTURED.findall(text)}


def with_others(index: str) -> str:
    """The index with the pages of docs/ that it does not name, in the place of %OTHERS%."""
    named = set(index.splitlines()) | {"index"}
    others = sorted(path.stem for path in DOCS.glob("*.md") if path.stem not in named)
    return index.replace("%OTHERS%\n", "".join(f"{name}\n" for name in others))


def _write_page(target: Path, source: Path, notebooks: list[str]) -> None:
    text = source.read_text(encoding="utf-8")
    if source.parent == DOCS:
        text = text.replace("](../", "](")  # the sources lie flat, as the repository's root does
    else:
        text = re.sub(r"\]\(docs/([\w-]+\.md)", r"](\1", text)
    text = _outside_links(text, target.parent)
    target.write_text(_linked(text, {}, notebooks, "notebooks/"), encoding="utf-8")


def _outside_links(text: str, sources: Path) -> str:
    """Links to files that are no page of the site become their names, as code."""

    def plain(match: re.Match) -> str:
        label, goal = match[1], match[2].split("#")[0]
        pages = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "index.md")
        known = goal in pages or (DOCS / goal).is_file() or goal.startswith("notebooks/")
        if "://" in goal or not goal or known or (sources / goal).exists():
            return match[0]
        return f"{label} (`{goal}`)" if label != goal else f"`{goal}`"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)", plain, text)


def known_equations(notebooks: dict[str, nbformat.NotebookNode]) -> dict[str, str]:
    """Number -> target of every equation of the paper that some notebook shows."""
    found: dict[str, str] = {}
    for notebook in notebooks.values():
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                for numbers in TAG.findall(cell.source):
                    for number in numbers.split(", "):
                        found.setdefault(number, _target(numbers))
    return found


def page(
    name: str, notebook: nbformat.NotebookNode, equations: dict[str, str], notebooks: list[str]
) -> nbformat.NotebookNode:
    """A notebook as a page: numbered equations, links, sharp figures with alternative texts."""
    heading, before = name, ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            before = cell.source
            titles = re.findall(r"^#+ (.*)$", cell.source, re.MULTILINE)
            heading = titles[-1] if titles else heading
            text = HINT.sub(":::{admonition} Hint\n:collapsible: closed\n\\1\n:::", cell.source)
            text = text.replace("](../docs/", "](../")  # the site's pages are in its root
            cell.source = _linked(_targets(text), equations, notebooks, "")
            continue
        saved = iter(SAVED.findall(cell.get("source", "")))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                figure = next(saved, "")
                if figure and (ROOT / "figures" / f"{figure}.png").is_file():
                    data["image/png"] = base64.b64encode(sharp(figure)).decode()
                # An image with a width is a link to itself in full size.
                image = {"alt": alt_text(figure, heading, before), "width": "100%"}
                cell.metadata["mystnb"] = {"image": image}
    return notebook


def sharp(figure: str) -> bytes:
    """The picture of `figures/`, at its 200 dots an inch, with a palette."""
    with Image.open(ROOT / "figures" / f"{figure}.png") as picture:
        full = picture.convert("RGB")
    if full.width > MOST_PIXELS:
        height = round(full.height * MOST_PIXELS / full.width)
        full = full.resize((MOST_PIXELS, height), Image.Resampling.LANCZOS)
    small = full.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    held = io.BytesIO()
    small.save(held, "PNG", optimize=True)
    return held.getvalue()


def alt_text(figure: str, heading: str, before: str) -> str:
    """What a figure shows: its number or name, the section, and the words that lead up to it."""
    number = re.match(r"figure_([0-9A-Z]+[a-d]?)(?:_(\w+))?$", figure)
    label = figure.replace("_", " ") or "Picture"
    if number:
        rest = (number[2] or "").replace("_", " ")
        label = f"Figure {number[1]}" + (f" ({rest})" if rest else "")
    blocks = [b for b in before.split("\n\n") if b.strip() and not b.startswith(("#", "$$"))]
    words = plain_words(blocks[-1]) if blocks else ""
    if len(words) > 320:
        cut = words[:320]
        words = cut[: cut.rfind(". ") + 1] or cut[: cut.rfind(" ")] + " ..."
    return f"{label}. {plain_words(heading)}. {words}".strip()


def plain_words(text: str) -> str:
    """Markdown with formulas as words that can be read out."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\\(?:mathrm|text|hat|mathbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\(?:,|;|!|big|Big|left|right|[()])", "", text)
    text = re.sub(r"\\([a-zA-Z]+)", r"\1", text)
    text = re.sub(r"[*`$]|[{}]", "", text)
    return re.sub(r"\s+", " ", text).strip()


def _target(numbers: str) -> str:
    return "eq-" + numbers.replace(", ", "-")


def _targets(text: str) -> str:
    """A target before each display with a number."""
    return re.sub(
        r"^(> )?\$\$(?:(?!\$\$).)*?\\tag\{([\d, ]+)\}(?:(?!\$\$).)*?\$\$",
        lambda m: f"{m[1] or ''}({_target(m[2])})=\n{m[0]}",
        text,
        flags=re.DOTALL | re.MULTILINE,
    )


def _linked(text: str, equations: dict[str, str], notebooks: list[str], folder: str) -> str:
    """Links from mentions of an equation or a notebook to it; fixed parts stay unchanged."""
    by_number = {name[:2]: name for name in notebooks}

    def equation(match: re.Match) -> str:
        def one(number: re.Match) -> str:
            goal = equations.get(number[0])
            return f"[{number[0]}](#{goal})" if goal else number[0]

        first, rest = re.match(r"(\d+)(.*)", match[2]).groups()
        if match[1] == "Eq.":  # what follows one number is no other equation
            return f"{match[1]} {re.sub(r'[0-9]+', one, first)}{rest}"
        return f"{match[1]} {re.sub(r'[0-9]+', one, match[2])}"

    def notebook(match: re.Match) -> str:
        goal = by_number.get(match[2])
        return f"[{match[0]}]({folder}{goal}.ipynb)" if goal else match[0]

    parts = FIXED.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = NOTEBOOK.sub(notebook, MENTION.sub(equation, parts[i]))
    return "".join(parts)
