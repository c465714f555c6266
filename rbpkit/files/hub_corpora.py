"""Corpora on the Hugging Face hub: where each is and how its text is made.

The paper's six are `HUB_CORPORA`; a further one is a row of `MORE_CORPORA`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rbpkit.errors import InputError
from rbpkit.files.hub import fetched_files

STREAM_BUFFER = 10_000  # rows that a streamed shuffle holds


def _is_github_code(row: Mapping[str, Any]) -> bool:
    return row["meta"]["pile_set_name"] == "Github" and len(row["text"]) > 512


@dataclass(frozen=True)
class HubCorpus:
    """Where a corpus is and how its text is made (the paper's: Appendix A).

    fields: the columns joined by a newline; keep: which rows count as documents;
    data_files: the files to fetch, where the whole set is far larger than its splits;
    in_order: the first rows of the split are taken as they stand, without a shuffle;
    files: patterns of the repository's files that hold the split, in the order of its rows;
    size: about how many bytes those files have (None: not known), for plans without a network.
    """

    path: str
    config: str | None
    split: str
    files: tuple[str, ...]
    fields: tuple[str, ...] = ("text",)
    keep: Callable[[Mapping[str, Any]], bool] | None = None
    data_files: Mapping[str, str] | None = None
    in_order: bool = False
    size: float | None = None


# Sizes as the hub's pages show or showed them; the legal corpus's from the card of an earlier
# version.
HUB_CORPORA: dict[str, HubCorpus] = {
    "Wiki": HubCorpus(
        "wikimedia/wikipedia",
        "20231101.en",
        "train",
        files=("20231101.en/train-*.parquet",),
        size=11.6e9,
    ),
    "HumanEval": HubCorpus(
        "openai/openai_humaneval",
        None,
        "test",
        fields=("prompt", "canonical_solution"),
        files=("openai_humaneval/test-*.parquet",),
        size=84e3,
    ),
    "HotpotQA": HubCorpus(
        "hotpotqa/hotpot_qa",
        "distractor",
        "validation",
        fields=("question", "answer"),
        files=("distractor/validation-*.parquet",),
        size=27e6,
    ),
    "AusLegal": HubCorpus(
        "isaacus/open-australian-legal-corpus",
        None,
        "corpus",
        files=("corpus.jsonl",),
        size=9e9,
    ),
    # Streamed always: loading a split of C4 would fetch all of it, 300 GB, for 1,000 rows.
    "C4": HubCorpus(
        "allenai/c4",
        "en",
        "validation",
        in_order=True,
        files=("en/c4-validation.*.json.gz",),
        size=0.32e9,
    ),
    "Github": HubCorpus(
        "monology/pile-uncopyrighted",
        None,
        "validation+test",
        keep=_is_github_code,
        data_files={"validation": "val.jsonl.zst", "test": "test.jsonl.zst"},
        files=("val.jsonl.zst", "test.jsonl.zst"),
        size=0.68e9,
    ),
}
# The authors shuffle all of Wikipedia, many gigabytes. One of its 41 files, from the middle, is
# shuffled alone here. The files go by the articles' ids, so it is a stretch of articles begun at
# about one time, and no fair sample of the whole: hence a name of its own in records.
_PART = "20231101.en/train-00020-of-00041.parquet"
MORE_CORPORA: dict[str, HubCorpus] = {
    "Wiki:part": HubCorpus(
        "wikimedia/wikipedia",
        None,
        "train",
        data_files={"train": _PART},
        files=(_PART,),
        size=0.28e9,
    ),
}


@dataclass(frozen=True)
class HubTexts:
    """Texts of a data set; available: rows to choose from, None of a stream; its revision."""

    texts: list[str]
    available: int | None
    revision: str | None


def read_hub(
    name: str,
    hub: HubCorpus,
    documents: int | None,
    seed: int | None,
    streamed: bool,
    revision: str | None,
    order: Callable[[int, int | None], Sequence[int]],
) -> HubTexts:
    """The first `documents` texts (None: all) of a data set, in the order of the protocol.

    order: (rows, seed) -> the order in which rows are taken; a stream is shuffled by a buffer.
    Offline, `rbpkit fetch`'s files are read. Raises InputError, one line, for whatever the hub's
    libraries say.
    """
    import datasets
    from huggingface_hub import is_offline_mode

    try:
        fetched = fetched_files(hub.path, hub.files, revision) if is_offline_mode() else None
        if fetched:
            # The library itself finds no files of a data set that it did not load before, and
            # streams none offline.
            revision = fetched.commit
            rows = datasets.load_dataset(
                "parquet" if fetched.paths[0].suffix == ".parquet" else "json",
                data_files={"fetched": [str(path) for path in fetched.paths]},
                split="fetched",
                streaming=streamed,
            )
        else:
            rows = datasets.load_dataset(
                hub.path,
                name=hub.config,
                data_files=dict(hub.data_files) if hub.data_files else None,
                split=hub.split,
                revision=revision,
                streaming=streamed,
            )
        if hub.keep is not None:
            rows = rows.filter(hub.keep)
        rows = rows.select_columns(list(hub.fields))  # HotpotQA's contexts are 100 times its text
        available = None if streamed else len(rows)
        if available is not None:
            # Not rows.shuffle: the same order, but it leaves an index file in the cache.
            rows = rows.select(order(available, seed)[:documents])
        elif seed is not None:
            rows = rows.shuffle(seed=seed, buffer_size=STREAM_BUFFER)
        texts = ["\n".join(row[f] for f in hub.fields) for row in itertools.islice(rows, documents)]
        return HubTexts(texts, available, revision)
    except InputError:
        raise
    except Exception as error:
        # The one place that talks to the network, through four libraries that share no base
        # class of errors; whichever it was, the reader needs its reason and not its traceback.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        offline = "offline: run `rbpkit fetch` with a network first"
        way_out = offline if is_offline_mode() else "offline, or gated: `hf auth login`?"
        raise InputError(
            f"{name}: cannot load {hub.path} from the Hugging Face hub: {lines[0][:200]} "
            f"({way_out}); try again, or give a local copy of it as a file"
        ) from error
