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
README = ("figure_3", "17_cross_entropy", "17_blind")  # figures that README.md shows
SAVED = re.compile(r"save(?:_table)?\([^\n]*figures_dir, \"(\w+)\"\)")
TO_EXPLORABLE = re.compile(r"\[([^\]]+)\]\(\.\./docs/explorables/(\w+)\.html\)")
EXPLORABLE = re.compile(rf"^{TO_EXPLORABLE.pattern}$", re.MULTILINE)
COLOURS = 256  # a palette: a third of the bytes, and no difference that can be seen
MOST_PIXELS = 2400  # across: three times the column's width
MOST_ALT_LETTERS = 320

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
    notebooks = {}
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        notebooks[path.stem] = nbformat.read(path, 4)
    if not notebooks:
        raise SystemExit(f"site: no notebooks in {ROOT / 'notebooks'}; run `make notebooks`")
    names = list(notebooks)

    equations = known_equations(notebooks)
    for name, notebook in notebooks.items():
        whole = page(name, notebook, equations, names)
        nbformat.write(whole, sources / "notebooks" / f"{name}.ipynb")
    for figure in {*README, *pictured(notebooks.values())}:
        (sources / "figures" / f"{figure}.png").write_bytes(sharp(figure))
    _write_table(sources, "table_1", "Table 1, computed from the published points")
    _write_table(sources, "pocket_table_1", "The pocket models in the form of Table 1")

    in_root = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")]
    for path in [*DOCS.glob("*.md"), *filter(Path.is_file, in_root)]:
        _write_page(sources / path.name, path, names)
    for path in _in_folders():
        if path.name == "slides.md":  # which is copied as a whole page, below
            continue
        text = path.read_text(encoding="utf-8").replace("](../../", "](../")
        text = text.replace("[slides.html](slides.html)", '<a href="slides.html">slides.html</a>')
        target = sources / path.parent.name / path.name
        target.parent.mkdir(exist_ok=True)
        # In no table of contents: the check of an exercise and the notebook lead there, and the
        # page on classes.
        target.write_text(f"---\norphan: true\n---\n{text}", "utf-8")
    index = sources / "index.md"
    text = index.read_text(encoding="utf-8")
    index.write_text(with_others(text), encoding="utf-8")
    shutil.copy(DOCS / "conf.py", sources)
    shutil.copy(DOCS / "references.bib", sources)  # a page links it, for download
    shutil.copytree(DOCS / "_static", sources / "_static")
    _copy_explorables(sources / "extra" / "explorables")
    (sources / "extra" / "class").mkdir()
    shutil.copy(DOCS / "class" / "slides.html", sources / "extra" / "class")
    return names


def _in_folders() -> list[Path]:
    """The pages in folders of docs/."""
    return [*DOCS.glob("solutions/*_*.md"), *DOCS.glob("class/*.md"), *DOCS.glob("tables/*.md")]


def _write_table(sources: Path, name: str, title: str) -> None:
    table = (ROOT / "figures" / f"{name}.md").read_text(encoding="utf-8")
    target = sources / "figures" / f"{name}.md"
    target.write_text(f"# {title}\n\n{table}", encoding="utf-8")


def pictured(notebooks: Iterable[nbformat.NotebookNode]) -> set[str]:
    """Names of the figures that the words of notebooks show."""
    figures: set[str] = set()
    for notebook in notebooks:
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                figures.update(PICTURED.findall(cell.source))
    return figures


def with_others(index: str) -> str:
    """The index with the pages of docs/ that it does not name, in the place of %OTHERS%."""
    named = {*index.splitlines(), "index"}
    pages = sorted(path.stem for path in DOCS.glob("*.md"))
    others = [f"{page}\n" for page in pages if page not in named]
    return index.replace("%OTHERS%\n", "".join(others))


def _write_page(target: Path, source: Path, notebooks: list[str]) -> None:
    text = source.read_text(encoding="utf-8")
    if source.parent == DOCS:
        text = text.replace("](../", "](")  # the sources lie flat, as the repository's root does
    else:
        text = re.sub(r"\]\(docs/((?:\w+/)?[\w-]+\.md|_static/)", r"](\1", text)
        # They are whole pages, which Sphinx does not know.
        anchor = r'<a href="explorables/\2.html">\1</a>'
        text = re.sub(r"\[([^\]]+)\]\(docs/explorables/(\w+)\.html\)", anchor, text)
    text = _outside_links(text, target.parent)
    target.write_text(_linked(text, {}, notebooks, "notebooks/"), encoding="utf-8")


def _outside_links(text: str, sources: Path) -> str:
    """Links to files that are no page of the site become their names, as code."""
    in_root = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "index.md")

    def plain(match: re.Match) -> str:
        label, address = match[1], match[2]
        goal = address.split("#")[0]
        is_elsewhere_or_here = "://" in goal or not goal
        is_page = goal in in_root or (DOCS / goal).is_file() or goal.startswith("notebooks/")
        if is_elsewhere_or_here or is_page or (sources / goal).exists():
            return match[0]
        return f"`{goal}`" if label == goal else f"{label} (`{goal}`)"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)", plain, text)


def known_equations(notebooks: dict[str, nbformat.NotebookNode]) -> dict[str, str]:
    """Number -> target of every equation of the paper that some notebook shows."""
    targets: dict[str, str] = {}
    for notebook in notebooks.values():
        for cell in notebook.cells:
            if cell.cell_type != "markdown":
                continue
            for numbers in TAG.findall(cell.source):  # "6" or "6, 7"
                for number in numbers.split(", "):
                    targets.setdefault(number, _target(numbers))  # the first place that shows it
    return targets


def page(
    name: str, notebook: nbformat.NotebookNode, equations: dict[str, str], notebooks: list[str]
) -> nbformat.NotebookNode:
    """A notebook as a page: numbered equations, links, sharp figures with alternative texts."""
    heading, before = name, ""
    shown: set[str] = set()  # numbers of equations
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            before = cell.source
            titles = re.findall(r"^#+ (.*)$", cell.source, re.MULTILINE)
            if titles:
                heading = titles[-1]
            cell.source = _page_text(cell.source, equations, notebooks, shown)
        else:
            _name_fold(cell)
            _sharpen(cell, heading, before)
    return notebook


def _name_fold(cell: nbformat.NotebookNode) -> None:
    """A fold says what is inside: the first line of a folded cell, which is a comment."""
    tags = cell.metadata.get("tags", [])
    if "hide-input" not in tags:
        return
    first = cell.source.partition("\n")[0]
    inside = first.removeprefix("# ").removeprefix("Folded: ") if first.startswith("# ") else ""
    if "parameters" in tags:
        inside = "Parameters"
    if inside:
        prompts = {"code_prompt_show": f"Show: {inside}", "code_prompt_hide": f"Hide: {inside}"}
        cell.metadata["mystnb"] = prompts


def _page_text(text: str, equations: dict[str, str], notebooks: list[str], shown: set[str]) -> str:
    text = HINT.sub(":::{admonition} Hint\n:collapsible: closed\n\\1\n:::", text)
    text = EXPLORABLE.sub(_explorable, text)
    # Within a sentence: whole pages, which Sphinx does not know.
    text = TO_EXPLORABLE.sub(r'<a href="../explorables/\2.html">\1</a>', text)
    text = text.replace("](../docs/", "](../")  # the site's pages are in its root
    return _linked(_targets(text, shown), equations, notebooks, "")


def _explorable(match: re.Match) -> str:
    """A line that is nothing but a link to an explorable becomes the explorable, and the link."""
    words, name = match[1], match[2]
    address = f"../explorables/{name}.html"
    frame = f'<iframe class="explorable {name}" src="{address}" title="{words}"></iframe>'
    return f'{frame}\n\n<a href="{address}">{words} (on a page of its own)</a>'


def _copy_explorables(target: Path) -> None:
    """The pages with what they need, and the pictures that replace them without scripts."""
    source = DOCS / "explorables"
    target.mkdir(parents=True)
    shutil.copytree(source / "vendor", target / "vendor")
    for path in [*source.glob("*.js"), *source.glob("*.css")]:
        shutil.copy(path, target)
    for path in source.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for still in re.findall(r'src="\.\./\.\./figures/(\w+)\.png"', text):
            (target / f"{still}.png").write_bytes(sharp(still))
        text = text.replace('src="../../figures/', 'src="')
        if path.name != "page.html":  # which is what the others are filled into
            (target / path.name).write_text(text, encoding="utf-8")


def _sharpen(cell: nbformat.NotebookNode, heading: str, before: str) -> None:
    """The pictures of a cell's outputs as sharp as in `figures/`, with an alternative text."""
    saved = iter(SAVED.findall(cell.get("source", "")))  # in the order of the outputs
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/png" not in data:
            continue
        figure = next(saved, "")
        if figure and (ROOT / "figures" / f"{figure}.png").is_file():
            data["image/png"] = base64.b64encode(sharp(figure)).decode()
        # An image with a width is a link to itself in full size.
        image = {"alt": alt_text(figure, heading, before), "width": "100%"}
        cell.metadata.setdefault("mystnb", {})["image"] = image


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
    return f"{_label(figure)}. {plain_words(heading)}. {_last_words(before)}".strip()


def _label(figure: str) -> str:
    """`figure_7_collapse` -> Figure 7 (collapse)."""
    number = re.match(r"figure_([0-9A-Z]+[a-d]?)(?:_(\w+))?$", figure)
    if number is None:
        return figure.replace("_", " ") or "Picture"
    if number[2] is None:
        return f"Figure {number[1]}"
    return f"Figure {number[1]} ({number[2].replace('_', ' ')})"


def _last_words(text: str) -> str:
    """The last paragraph of a text, cut at a sentence or else at a word; no heading, no formula."""
    blocks = [block for block in text.split("\n\n") if block.strip()]
    paragraphs = [block for block in blocks if not block.startswith(("#", "$$"))]
    if not paragraphs:
        return ""
    words = plain_words(paragraphs[-1])
    if len(words) <= MOST_ALT_LETTERS:
        return words
    words = words[:MOST_ALT_LETTERS]
    sentences_end = words.rfind(". ") + 1
    if sentences_end:
        return words[:sentences_end]
    return words[: words.rfind(" ")] + " ..."


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


def _targets(text: str, shown: set[str]) -> str:
    """A target before each display with a number, where the page shows it first."""

    def with_target(match: re.Match) -> str:
        quote, numbers = match[1] or "", match[2]
        if numbers in shown:
            return match[0]
        shown.add(numbers)
        return f"{quote}({_target(numbers)})=\n{match[0]}"

    return re.sub(
        r"^(> )?\$\$(?:(?!\$\$).)*?\\tag\{([\d, ]+)\}(?:(?!\$\$).)*?\$\$",
        with_target,
        text,
        flags=re.DOTALL | re.MULTILINE,
    )


def _linked(text: str, equations: dict[str, str], notebooks: list[str], folder: str) -> str:
    """Links from mentions of an equation or a notebook to it; fixed parts stay unchanged."""
    by_number = {name[:2]: name for name in notebooks}

    def number_link(number: re.Match) -> str:
        goal = equations.get(number[0])
        return f"[{number[0]}](#{goal})" if goal else number[0]

    def equation(match: re.Match) -> str:
        word, numbers = match[1], match[2]
        # What follows the number after "Eq." is no other equation.
        most = 1 if word == "Eq." else 0
        return f"{word} {re.sub(r'[0-9]+', number_link, numbers, count=most)}"

    def notebook(match: re.Match) -> str:
        goal = by_number.get(match[2])
        return f"[{match[0]}]({folder}{goal}.ipynb)" if goal else match[0]

    parts = FIXED.split(text)
    for i in range(0, len(parts), 2):  # the odd ones are fixed
        linked = MENTION.sub(equation, parts[i])
        parts[i] = NOTEBOOK.sub(notebook, linked)
    return "".join(parts)
