"""What notebook 12 (the claims) reads, draws and tabulates, and how its exercise is checked."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from IPython.display import Markdown, display
from matplotlib.patches import Rectangle

from rbpkit import plots
from rbpkit.palette import GREYS, INK
from rbpkit_notebooks.claims import VERDICTS, as_markdown, load_claims, markdown_table
from rbpkit_notebooks.exercises import check_of

check = check_of("12")

# verdict -> fill of its box, and a sign
LOOKS = {
    "holds": (INK, ""),
    "holds in part": (GREYS[0], ""),
    "does not hold": ("white", "\u00d7"),
    "cannot be told": ("white", "?"),
}
# verdict -> what is said of several claims
PLURAL = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "cannot be told": "cannot be told",
}
# The headlines: number of the claim, and what we get in one line
HEADLINES = {
    "03.1": "15 of the 16 lines of Figure 3 have an R2 of at least 0.97; other smooth laws reach it"
    " too.",
    "04.2": "At k = 10 to 100 the points are off their lines by 2.9% of the loss (median).",
    "05.1": "Of 18 lines at large k, chance may explain six. OPT's two smallest models disagree,"
    " and GPT-2's loss climbs on one text of three.",
    "06.2": "In all eight steps from one k to ten times that k.",
    "07.2": "More tokens in a row move success to larger models, but do not make it more sudden.",
    "08.1": "0.079 and 0.087 for the Pythias of Figure 8; in 13 of 24 cells of Table 1 within 10%.",
    "11.1": "log(c) dominates in neither loss: a negative term cannot dominate a positive sum.",
}


def _committed() -> Path:
    """The committed figures, which stand beside the folder of the notebooks."""
    return Path(__file__).parents[2] / "figures"


def tables(figures_dir: str) -> pd.DataFrame:
    """The claims of this run's notebooks, or the committed ones; prints which."""
    found = load_claims(figures_dir) if figures_dir else pd.DataFrame()
    of_this_run = len(found) > 0 and Path(figures_dir).resolve() != _committed().resolve()
    claims = found if of_this_run else load_claims(_committed())
    source = "this run" if of_this_run else "the repository"
    print(f"{len(claims)} claims, from the tables of {source}.")
    return claims


def boxes(rules: dict[str, pd.DataFrame], title: str, figures_dir: str) -> None:
    """A row of boxes for each rule of choice, one for each claim, in the order of their verdicts.

    rules: name -> the claims that it chooses.
    """
    rows = []
    with plots.panel(title, "a box for each claim, by three rules of choice", 3.2) as axes:
        for height, (name, claims) in enumerate(rules.items()):
            verdicts = sorted(claims["verdict"], key=VERDICTS.index)
            for place, verdict in enumerate(verdicts):
                fill, sign = LOOKS[verdict]
                corner = place, 2 * height
                axes.add_patch(Rectangle(corner, 0.85, 0.9, facecolor=fill, edgecolor=INK, lw=0.8))
                axes.text(place + 0.43, 2 * height + 0.45, sign, ha="center", va="center")
            counts = [verdicts.count(verdict) for verdict in VERDICTS]
            said = [f"{n} {PLURAL[v]}" for n, v in zip(counts, VERDICTS, strict=True) if n]
            axes.text(0, 2 * height - 0.15, f"{name}: {', '.join(said)}", va="bottom", fontsize=10)
            rows += [(name, verdict, n) for verdict, n in zip(VERDICTS, counts, strict=True)]
        most = max(len(claims) for claims in rules.values())
        axes.set(xlim=(-0.1, most), ylim=(2 * len(rules) - 0.9, -0.9))
        axes.axis("off")
    points = pd.DataFrame(rows, columns=["rule", "verdict", "claims"])
    plots.save(axes, points, figures_dir, "figure_claims")


def headlines(claims: pd.DataFrame) -> Markdown:
    """Some claims: the paper's words, what we get, and the verdict."""
    pages = _pages()
    rows = []
    by_number = claims.set_index("number")
    for number, answer in HEADLINES.items():
        notebook = number[:2]
        link = f"[{notebook}]({pages.get(notebook, notebook)})"
        if number not in by_number.index:
            rows.append([number, f"(not in this run; {link})", ""])
            continue
        claim = by_number.loc[number]
        rows.append([f"“{claim['claim']}”", f"{answer} ({link})", f"**{claim['verdict']}**"])
    return markdown_table(["the paper says", "we get", "verdict"], rows)


def sections(claims: pd.DataFrame) -> None:
    """The tables of all sections, one below the other."""
    pages = _pages()
    for notebook, table in claims.groupby("notebook"):
        page = pages.get(str(notebook), str(notebook))
        link = f"[{page.removesuffix('.ipynb')}]({page})"
        display(Markdown(f"**{link}**"), as_markdown(table))


def _pages() -> dict[str, str]:
    """Number -> file of each notebook."""
    return {page.name[:2]: page.name for page in _committed().parent.glob("notebooks/*.ipynb")}
