"""The paper's six corpora on the Hugging Face hub: where each is and how its text is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _is_github_code(row: Mapping[str, Any]) -> bool:
    return row["meta"]["pile_set_name"] == "Github" and len(row["text"]) > 512


@dataclass(frozen=True)
class HubCorpus:
    """Where one of the paper's corpora is and how its text is made (Appendix A).

    fields: the columns joined by a newline; keep: which rows count as documents;
    data_files: the files to fetch, where the whole set is far larger than its splits;
    in_order: the first rows of the split are taken as they stand, without a shuffle;
    files: patterns of the repository's files that hold the split, in the order of its rows.
    """

    path: str
    config: str | None
    split: str
    fields: tuple[str, ...] = ("text",)
    keep: Callable[[Mapping[str, Any]], bool] | None = None
    data_files: Mapping[str, str] | None = None
    in_order: bool = False
    files: tuple[str, ...] = ()


HUB_CORPORA: dict[str, HubCorpus] = {
    "Wiki": HubCorpus(
        "wikimedia/wikipedia", "20231101.en", "train", files=("20231101.en/train-*.parquet",)
    ),
    "HumanEval": HubCorpus(
        "openai/openai_humaneval",
        None,
        "test",
        fields=("prompt", "canonical_solution"),
        files=("openai_humaneval/test-*.parquet",),
    ),
    "HotpotQA": HubCorpus(
        "hotpotqa/hotpot_qa",
        "distractor",
        "validation",
        fields=("question", "answer"),
        files=("distractor/validation-*.parquet",),
    ),
    "AusLegal": HubCorpus(
        "isaacus/open-australian-legal-corpus", None, "corpus", files=("corpus.jsonl",)
    ),
    # Streamed always: loading a split of C4 would fetch all of it, 300 GB, for 1,000 rows.
    "C4": HubCorpus(
        "allenai/c4",
        "en",
        "validation",
        in_order=True,
        files=("en/c4-validation.*.json.gz",),
    ),
    "Github": HubCorpus(
        "monology/pile-uncopyrighted",
        None,
        "validation+test",
        keep=_is_github_code,
        data_files={"validation": "val.jsonl.zst", "test": "test.jsonl.zst"},
        files=("val.jsonl.zst", "test.jsonl.zst"),
    ),
}
# The authors shuffle all of Wikipedia, many gigabytes. One of its 41 files, from the middle, is
# shuffled alone here. The files go by the articles' ids, so it is a stretch of articles begun at
# about one time, and no fair sample of the whole: hence a name of its own in records.
_PART = "20231101.en/train-00020-of-00041.parquet"
PART_CORPORA: dict[str, HubCorpus] = {
    "Wiki:part": HubCorpus(
        "wikimedia/wikipedia", None, "train", data_files={"train": _PART}, files=(_PART,)
    ),
}
