"""Where everything that ships with the laboratory is: weights, summaries, totals, tables, lists.

Notebooks and scripts take every path from here.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

DATA = Path(str(resources.files("rbpkit_pocket") / "data"))
"""All that ships."""

MODELS = DATA / "models"
"""The pocket models, in hub layout, one folder per model."""
TOKENIZER = DATA / "tokenizer"
"""The tokenizer that all pocket models share."""
CAPTIONERS = DATA / "captioners"
"""The captioners, in hub layout, one folder per model."""

SUMMARIES = DATA / "summaries"
"""Summaries of the paper's families on every pocket corpus."""
MAMBA_SUMMARIES = DATA / "mamba_summaries"
"""The same for Mamba, a family that the paper does not have."""
CAPTIONER_SUMMARIES = DATA / "captioner_summaries"
"""Summaries of the captioners on each corpus of glyphs, and of two more seeds."""

GRID = DATA / "grid.jsonl.gz"
"""Totals of all Pythias, named NAME-Mm: trained on M million tokens, with a schedule to its end."""
ABLATIONS = DATA / "ablations.jsonl.gz"
"""Totals of the runs with one thing changed."""
CONTRASTS = DATA / "contrasts.jsonl.gz"
"""Totals of runs in pairs that differ in one thing (`contrasts`)."""
PAIR_TOKENS = DATA / "pairs.jsonl.gz"
"""Totals over the tokens that complete a pair (`ablations.completes_pair`).

Of the grid and, by the same names, of the other families' models; of other seeds, by the name
NAME-Mm-seedN.
"""
OTHER_TOKENS = DATA / "others.jsonl.gz"
"""The same over the tokens that do not complete a pair."""

RUNS = DATA / "runs"
"""The loss curve of every training run, and the searches for learning rates."""
TABLES = DATA / "tables"
"""Tables that needed every token. `docs/pocket.md` says where the programs of most are."""
COPYING = TABLES / "copying.csv"
"""The probe of random tokens repeated, a row for each model."""
REASONS = TABLES / "reasons"
"""Tables of bins (`entropy_bins`), a file for each set of runs or texts."""

DOCUMENTS = DATA / "documents.json.gz"
"""The list of files and names that the pocket corpora are cut out of."""
HUMANEVAL = DATA / "humaneval.jsonl.gz"
"""HumanEval: 164 problems as JSON lines (OpenAI, MIT licence)."""
GLYPHS = DATA / "glyphs.csv.gz"
"""The list of characters that the captioners name."""
