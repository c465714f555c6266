"""What notebook 12 (the claims) reads, draws and tabulates, and how its exercise is checked."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from IPython.display import Markdown, display
from matplotlib.patches import Rectangle

from rbpkit import plots
from rbpkit.palette import GREYS, INK
from rbpkit_notebooks.claims import VERDICTS, as_markdown, load_claims
from rbpkit_notebooks.exercises import check_of

check = check_of("12")

# verdict -> fill of its box, and a sign
LOOKS = {
    "holds": (INK, ""),
    "holds in part": (GREYS[0], ""),
    "does not hold": ("white", "\u00d7"),
    "cannot be told": ("white", "?"),
}
# The headlines: notebook, words of the claim, and what we get in one line
HEADLINES = (
    (
        "03",
        "precise power-law",
        "At k = 1, 22 of 24 lines have an R2 of at least 0.97. At k = 10 to 100 the points are off"
        " their lines by 5 sampling errors.",
    ),
    (
        "06",
        "increases as k increases",
        "In 46 of 48 steps of Table 1, from one k to ten times that k.",
    ),
    (
        "05",
        "random noise",
        "Of 18 lines at large k, chance explains ten. In four, larger GPT-2 models get worse, and"
        " four are not explained.",
    ),
    (
        "07",
        "sharpens the transition",
        "More tokens in a row move success to larger models, but make it hardly more sudden.",
    ),
    (
        "07",
        "Assuming independence",
        "Ten tokens in a row succeed as often as 5.1 to 9.0 independent ones would.",
    ),
    (
        "08",
        "nearly identical",
        "The exponents of CE and of RBP_1 agree within 10% in 13 of 24 cells, and within 20% in"
        " 20.",
    ),
    (
        "11",
        "becomes the dominant part",
        "log(c) dominates in neither loss: other large terms are left.",
    ),
)


def _committed() -> Path:
    """The committed figures, from the folder of the notebooks or from the repository's root."""
    return Path("../figures") if Path("../figures").is_dir() else Path("figures")


def tables(figures_dir: str) -> pd.DataFrame:
    """The claims of this run's notebooks, or the committed ones; prints which."""
    found = load_claims(figures_dir) if figures_dir else pd.DataFrame()
    of_this_run = len(found) > 0 and Path(figures_dir).resolve() != _committed().resolve()
    claims = found if of_this_run else load_claims(_committed())
    source = "this run" if of_this_run else "the repository"
    main = int(claims["main"].sum())
    print(f"{main} main claims and {len(claims) - main} details, from the tables of {source}.")
    return claims


def boxes(claims: pd.DataFrame, title: str, figures_dir: str) -> None:
    """A row of boxes, one for each main claim, in the order of their verdicts."""
    verdicts = claims[claims["main"]]["verdict"].tolist()
    verdicts.sort(key=VERDICTS.index)
    with plots.panel(title, f"{len(verdicts)} main claims, a box each", 1.7) as axes:
        for place, verdict in enumerate(verdicts):
            fill, sign = LOOKS[verdict]
            box = Rectangle((place, 0), 0.85, 1, facecolor=fill, edgecolor=INK, linewidth=0.8)
            axes.add_patch(box)
            axes.text(place + 0.43, 0.5, sign, ha="center", va="center", fontsize=13)
        held = [verdicts.count(verdict) for verdict in VERDICTS]
        axes.text(0, -0.2, f"{held[0]} hold", va="top")
        axes.text(held[0], -0.2, f"{held[1]} hold in part", va="top")
        rest = f"{held[2]} do not hold,\n{held[3]} cannot be told"
        axes.text(len(verdicts), -0.2, rest, ha="right", va="top")
        axes.set(xlim=(-0.1, len(verdicts)), ylim=(-0.9, 1.05))
        axes.axis("off")
    columns = ["notebook", "main", "verdict", "where"]
    plots.save(axes, claims[columns], figures_dir, "figure_claims")


def headlines(claims: pd.DataFrame) -> Markdown:
    """Main claims: the paper's words, what we get, and the verdict."""
    pages = _pages()
    lines = ["| the paper says | we get | verdict |", "|---|---|---|"]
    for notebook, words, answer in HEADLINES:
        of_notebook = claims[claims["notebook"] == notebook]
        row = of_notebook[of_notebook["claim"].str.contains(words, regex=False)]
        verdict = row["verdict"].iloc[0] if len(row) else "(not in this run)"
        quoted = row["claim"].iloc[0] if len(row) else words
        link = f"[{notebook}]({pages.get(notebook, notebook)})"
        lines.append(f"| “{quoted}” | {answer} ({link}) | **{verdict}** |")
    return Markdown("\n".join(lines))


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
