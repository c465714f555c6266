"""The colours of every figure, page and coloured text; one colour has one meaning.

- A family has its colour and its mark. Nothing else may use them.
- Texts (corpora) have no colour: a panel or a label names them.
- k, N, training tokens and size are greys, and darker is larger (`ordered_greys`).
- A rank has one of six fills, from pale to dark, the same in texts and figures.
- `INK` is the true token, a fitted line, the truth; `CONTEXT` is chance, an interval, background.
- A hollow mark means: not fitted.
"""

from __future__ import annotations

from bisect import bisect_left

FAMILY_COLOURS = {
    "GPT2": "#0072B2",
    "OPT": "#D07C00",
    "Pythia": "#009E73",
    "Qwen": "#CC79A7",
    "Mamba": "#B24A3A",
}
OTHER = "#6B7280"
"""Any other series: other families, captioners, a reader's own model."""
INK = "#1B1F24"
"""The true token, a fitted line, the truth; the series that a figure is about."""
CONTEXT = "#D9DDE2"
"""Chance, an interval, whatever is only there to compare with."""
GREYS = ("#8A94A0", "#57626E", "#111418")
"""Small, middle, large: k, N, training tokens, size, length."""

RANK_GROUPS = ("rank 1", "2\u20135", "6\u201310", "11\u2013100", "101\u20131000", "above 1000")
"""The six groups of ranks."""
RANK_ENDS = (1, 5, 10, 100, 1000)
"""The largest rank of each group except the last, which has no end."""
RANK_FILLS = ("#d9efdc", "#f3cf72", "#eba54c", "#d97440", "#a93f58", "#4c1760")
"""The fill of each group, from light to dark, so that grey shows the order too."""
RANK_LETTERS = ("#15171a", "#15171a", "#15171a", "#0b0c0d", "#ffffff", "#ffffff")
"""The colour of letters on each fill."""


def ordered_greys(count: int) -> list[str]:
    """`count` greys from light to dark, for values in ascending order."""
    light, dark = 0x9A, 0x11
    if count == 1:
        return [GREYS[-1]]
    if count == len(GREYS):
        return list(GREYS)
    steps = [round(light + (dark - light) * i / (count - 1)) for i in range(count)]
    return [f"#{step:02X}{step + 5:02X}{step + 10:02X}" for step in steps]


def rank_group(rank: int) -> int:
    """The group of a rank, 0 to 5: an index into `RANK_GROUPS`, `RANK_FILLS`, `RANK_LETTERS`."""
    return bisect_left(RANK_ENDS, rank)
