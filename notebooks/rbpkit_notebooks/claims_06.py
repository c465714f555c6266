"""The table of claims of notebook 06 (Section 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from IPython.display import Markdown

from rbpkit import paper
from rbpkit.fit import Array
from rbpkit_notebooks.claims import Claim, claims_table, counted, span, verdict_of

TENS = (1, 10, 100)
NONE = "not measured"
Growing = Callable[[pd.DataFrame, Sequence[int]], tuple[int, int]]


HIGH_R2 = Claim(
    words="We can see that R2 values remain high (above 0.9) when k < 1000",
    where="Section 4.4, Figure 6a",
    test="lines at k < 1,000 with R2 above 0.9",
)
GROWS = Claim(
    words="the scaling exponent increases as k increases",
    where="Section 4.4, Figure 6b",
    test="does the exponent grow from k = 1 to 10, and to 100?",
)
HARD = Claim(
    words="it is hard to optimize RBP1, as the exponent is less than 0.1",
    where="Section 4.4",
    test="the number only: alpha at k = 1 below 0.1 in Figure 6",
    main=False,
)
EASY = Claim(
    words="optimizing RBP100 shall be easy, since the exponent is close to 0.2",
    where="Section 4.4",
    test="the number only: alpha at k = 100 within 0.05 of 0.2 (our margin) in Figure 6",
    main=False,
)
EASIER = Claim(
    words="optimizing RBP100 shall be easy, since the exponent is close to 0.2",
    where="Section 4.4",
    test="the inference: does a larger model save guesses faster at larger k? Exponent in S of the"
    " number of guesses (Pythia on Wiki)",
)


def claims(
    figure_6: pd.DataFrame,
    fits: pd.DataFrame,
    growing: Growing,
    b: Array,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 4.4.

    - fits: the lines of what was measured, by k
    - growing: at how many steps in k the exponents of a table grow, and of how many
    - b: the exponent in S of the number of guesses, at each step in k
    """
    points = figure_6.rename(columns={"dataset": "corpus"}).assign(family="Pythia")
    low = points[(points["quantity"] == "R2") & (points["k"] < 1000).fillna(False)]["value"]
    table1 = paper.table1().rename(columns={"dataset": "corpus", "r2": "R2"})
    cells = table1[table1["k"].isin(["1", "10", "100", "500"])]

    of_pythia = points[points["quantity"] == "slope"].rename(columns={"value": "slope"})
    in_table1 = table1[table1["k"] != "CE"].astype({"k": int})
    fine = [int(k) for k in of_pythia["k"].unique() if k <= 100]
    grows = "{} of {} tenfold steps, ".format(*growing(of_pythia, TENS))
    grows += "{} of {} narrower ones (Figure 6); ".format(*growing(of_pythia, fine))
    grows += "{} of {} tenfold steps in Table 1".format(*growing(in_table1, TENS))

    at_k = fits.dropna(subset="k")
    low_ours = at_k[at_k["k"] < 1000]["R2"]
    at_1 = -of_pythia[of_pythia["k"] == 1]["slope"]
    at_100 = -of_pythia[of_pythia["k"] == 100]["slope"]
    is_close = (at_100 - 0.2).abs() <= 0.05
    results = {
        HIGH_R2: (
            f"{counted(low > 0.9)} in Figure 6 (Pythia), smallest {low.min():.3f}; "
            f"{counted(cells['R2'] > 0.9)} in Table 1",
            counted(low_ours > 0.9),
            verdict_of(low > 0.9),
        ),
        GROWS: (
            grows,
            "{} of {} tenfold steps".format(*growing(at_k, TENS)) if len(at_k) else NONE,
            "holds" if growing(of_pythia, fine) == (40, 40) else "holds in part",
        ),
        HARD: (
            span(at_1, ".3f"),
            span(-at_k[at_k["k"] == 1]["slope"], ".3f"),
            verdict_of(at_1 < 0.1),
        ),
        EASY: (
            f"{counted(is_close)} corpora; {span(at_100, '.3f')}",
            span(-at_k[at_k["k"] == 100]["slope"], ".3f"),
            verdict_of(is_close),
        ),
        EASIER: (
            f"{b[0]:.2f} from k = 1 to 10; {b[2]:.2f} from 100 to 500; "
            f"{b[-1]:.2f} from 2,500 to 10,000",
            "not tested",
            "cannot be told",
        ),
    }
    return claims_table("06", results, records_dir, figures_dir)
