"""Sizes of what a study downloads where the hub is not asked: rough, for planning."""

from __future__ import annotations

from collections.abc import Iterable

from rbpkit import paper

# Bytes of a number in the published weights, by family.
_PUBLISHED = {"GPT2": 4, "OPT": 2, "Pythia": 2, "Qwen": 2}
_UNTIED = {"Pythia"}  # the output head is stored beside the token embedding
_UNTIED_QWEN = {"Qwen2.5-7B", "Qwen2.5-14B"}
_TOKENIZERS = 5_000_000
# As the hub's pages show or showed them; the legal corpus's from the card of an earlier version.
_CORPORA = {
    "Wiki": 11.6e9,
    "Wiki:part": 0.28e9,
    "HumanEval": 84e3,
    "HotpotQA": 27e6,
    "AusLegal": 9e9,
    "C4": 0.32e9,
    "Github": 0.68e9,
}


def model_bytes(model: str) -> int | None:
    """Weights of one of the paper's 24 as published: parameters x bytes. None for others."""
    table = paper.models().set_index("hub_id")
    if model not in table.index:
        return None
    row = table.loc[model]
    numbers = int(row["S"]) + int(row["embedding_params"])
    if row["family"] in _UNTIED or row["model"] in _UNTIED_QWEN:
        numbers += int(row["embedding_params"])
    return numbers * _PUBLISHED[row["family"]] + _TOKENIZERS


def corpus_bytes(names: Iterable[str]) -> int | None:
    """Bytes of the hub corpora's files that are read; None where one's size is not listed here.

    Wikipedia whole has its part.
    """
    names = set(names)
    if "Wiki" in names:
        names.discard("Wiki:part")
    return int(sum(_CORPORA[name] for name in names)) if names <= _CORPORA.keys() else None
