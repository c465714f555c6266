"""Corpora: the paper's six by name, those of plugins, anyone's files (Appendix A).

The authors' protocol: shuffle the documents with seed 42, take the first 1,000. Tokenizing and
batching are in `encoding`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from rbpkit import plugins
from rbpkit.errors import InputError, check_whole, reason
from rbpkit.text_files import (
    Columns,
    Document,
    Row,
    document_of,
    list_files,
    rows_of,
    text_fingerprint,
)

PROTOCOL_DOCUMENTS = 1000  # taken from each corpus by the authors

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class HubCorpus:
    """A corpus on the Hugging Face hub and how its text is made (the paper's: Appendix A).

    path, split: the data set and the part of it, as the hub names them.
    files: the repository's files that hold this part, in the order of its rows.
    fields: the columns whose values are joined by a newline.
    keep: which rows are documents.
    in_order: the first rows are taken without a shuffle.
    """

    path: str
    split: str
    files: tuple[str, ...]
    fields: tuple[str, ...] = ("text",)
    keep: Callable[[Row], bool] = lambda row: True
    in_order: bool = False


def _is_github_code(row: Row) -> bool:
    return row["meta"]["pile_set_name"] == "Github" and len(row["text"]) > 512


HUB_CORPORA: dict[str, HubCorpus] = {
    "Wiki": HubCorpus(
        "wikimedia/wikipedia",
        "train",
        files=tuple(f"20231101.en/train-{part:05}-of-00041.parquet" for part in range(41)),
    ),
    "HumanEval": HubCorpus(
        "openai/openai_humaneval",
        "test",
        files=("openai_humaneval/test-00000-of-00001.parquet",),
        fields=("prompt", "canonical_solution"),
    ),
    "HotpotQA": HubCorpus(
        "hotpotqa/hotpot_qa",
        "validation",
        files=("distractor/validation-00000-of-00001.parquet",),
        fields=("question", "answer"),
    ),
    "AusLegal": HubCorpus(
        "isaacus/open-australian-legal-corpus", "corpus", files=("corpus.jsonl",)
    ),
    # The first of eight files has 45 times the rows that the protocol takes.
    "C4": HubCorpus(
        "allenai/c4",
        "validation",
        files=("en/c4-validation.00000-of-00008.json.gz",),
        in_order=True,
    ),
    "Github": HubCorpus(
        "monology/pile-uncopyrighted",
        "validation+test",
        files=("val.jsonl.zst", "test.jsonl.zst"),
        keep=_is_github_code,
    ),
}


@dataclass(frozen=True)
class Corpus:
    """The documents to be measured, in the order of the protocol; never empty.

    id: the paper's name, "PLUGIN:NAME", the name of the file or folder, or one of your own.
    fingerprint: `text_fingerprint(documents)`, with prompts sha256 over it and that of the prompts.
        Two corpora with the same one are the same text.
    units: for each document the name of what was sampled with it (a module, an author), which a
        bootstrap resamples; None if the documents themselves were sampled.
    prompts: what a model reads right before each document and is not scored on, with the white
        space between them; None if there is nothing.
    seed: of the shuffle that picked the documents; None if nothing was shuffled.
    available: how many documents there were to choose from; 0 if not known.
    max_bytes: at which texts were cut; 0 if they were not.

    Raises InputError for units or prompts that are not one for each. A subclass whose documents
    stand beside something else (`needs`: "pictures") is for models that read this too.
    """

    id: str
    documents: tuple[str, ...] = dataclass_field(repr=False)
    units: tuple[str, ...] | None = dataclass_field(default=None, repr=False, compare=False)
    prompts: tuple[str, ...] | None = dataclass_field(default=None, repr=False)
    seed: int | None = None
    available: int = 0
    max_bytes: int = 0
    fingerprint: str = dataclass_field(init=False)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        fingerprint = text_fingerprint(self.documents)
        for name, given in {"units": self.units, "prompts": self.prompts}.items():
            if given is not None and len(given) != len(self.documents):
                counts = f"{len(given)} {name} for {len(self.documents)} documents"
                raise InputError(f"{self.id}: {counts}; give one for each")
        if self.units is not None:
            for number, unit in enumerate(self.units):
                if unit is None or unit != unit:  # a missing author is no author called "nan"
                    raise InputError(f"{self.id}, document {number}: no unit (it is {unit})")
            object.__setattr__(self, "units", tuple(map(str, self.units)))
        if self.prompts is not None:
            both = f"{fingerprint} after {text_fingerprint(self.prompts)}"
            fingerprint = hashlib.sha256(both.encode()).hexdigest()
        object.__setattr__(self, "fingerprint", fingerprint)

    def unit_numbers(self) -> np.ndarray:
        """(D,) int32: the unit of each document, numbered from 0 in the order of the names."""
        if self.units is None:
            return np.arange(len(self.documents), dtype=np.int32)
        # Not np.unique, which takes "a" and "a\0" for the same.
        number_of = {unit: number for number, unit in enumerate(sorted(set(self.units)))}
        return np.array([number_of[unit] for unit in self.units], dtype=np.int32)

    @classmethod
    def of(
        cls,
        texts: Any,
        name: str = "texts",
        *,
        field: str | None = None,
        unit: str | None = None,
        prompt: str | None = None,
    ) -> Corpus:
        """A corpus of texts in memory: all of them, in their own order.

        texts: any iterable of strings, or of rows by column (a `datasets.Dataset`); or a DataFrame
            of pandas.
        name: the corpus's id.
        field, unit, prompt: columns of rows, as of `load_corpus`.

        Raises InputError for anything else, and for no text.
        """
        if isinstance(texts, (str, Mapping)):  # whose parts are letters, or names
            raise InputError(f"{name}: one {type(texts).__name__} is no list of texts")
        if hasattr(texts, "iterrows"):  # a DataFrame, which by itself iterates over its columns
            texts = texts.to_dict("records")
        columns = Columns(field or "text", unit, prompt)
        documents = []
        with reason(f"{name}: give a list of strings, or of rows by column"):
            for number, row in enumerate(texts):
                whole = {"text": row} if isinstance(row, str) else row
                documents.append(document_of(whole, columns, f"{name}, row {number}"))
        return cls.of_documents(name, documents)

    @classmethod
    def of_documents(
        cls, id: str, documents: Sequence[Document], *, max_bytes: int = 0, **others: Any
    ) -> Self:
        """The corpus of these; a text without a visible character is empty, and is kept.

        max_bytes: each text is cut there, less the bytes of a character that is cut in two; 0: off.
        others: fields of the corpus.
        """
        texts = []
        with reason(f"{id}: the documents must be strings"):
            for document in documents:
                text = document.text if document.text.strip() else ""
                if max_bytes:
                    text = text.encode()[:max_bytes].decode(errors="ignore")
                texts.append(text)
        if not any(texts):
            raise InputError(f"{id}: no text in its {len(documents)} documents")
        _, units, prompts = zip(*documents, strict=True)
        return cls(
            id,
            tuple(texts),
            units=None if units[0] is None else units,
            prompts=None if prompts[0] is None else prompts,
            max_bytes=max_bytes,
            **others,
        )


# -- by name or path ---------------------------------------------------------------------------


def load_corpus(
    corpus: str | os.PathLike[str],
    *,
    documents: int | None = None,
    seed: int | None = 42,
    field: str | None = None,
    unit: str | None = None,
    prompt: str | None = None,
    max_bytes: int = 0,
    revision: str | None = None,
    changed_text: bool = False,
) -> Corpus:
    """Documents of a corpus: by default the first 1,000, shuffled with seed 42 (Appendix A).

    corpus: one of `HUB_CORPORA` or the corpus of a plugin ("pocket:prose"); or a file that ends in
        one of `SUFFIXES`, or a folder of those, read in the order of their names (a file that is
        called as a corpus is "./NAME"). A .txt file is one document.
    documents: How many to take, 0 for all; by default 1000, all of a plugin's corpus. An empty one
        counts, and has nothing to score.
    seed: Seed of the shuffle that picks documents; in Python None takes them in order. C4, and
        plugins' corpora that say so, are always taken in their own order.
    field: Column with the text; a+b joins two. Of JSON and Parquet files, by default "text"; the
        values of several are joined by a newline ("prompt+canonical_solution").
    unit: Column with the text's author or source, which intervals resample. Of such files.
    prompt: Column that is read before the text, and not scored. Of such files. A newline is put
        between them, unless the prompt ends or the text begins with white space. Of a corpus on
        the hub that is made of several columns, the one that is not scored ("question" of
        HotpotQA); they are joined as ever.
    max_bytes: Cut each text at this many bytes of UTF-8, at a character; 0: off. So models with
        different tokenizers score the same text.
    revision: Branch, tag or commit of a data set on the hub; by default its newest.
    changed_text: Admit another text than that of a plugin's reference numbers.

    Raises InputError for an unknown name, a hub that does not answer, files that cannot be read
    as text, a field that is missing, a corpus without text, and another text than that of a
    plugin's reference numbers.
    """
    for key, number in {"documents": documents, "seed": seed, "max_bytes": max_bytes}.items():
        if number is not None:
            check_whole(key, number, 0)
    by_name = is_named(corpus)
    if by_name:
        name = str(corpus)
    else:
        with reason(f"{corpus!r}: no corpus ({', '.join(HUB_CORPORA)}), and no file or folder"):
            name = Path(corpus).expanduser().resolve(strict=True).name
    if by_name and (field or unit):
        raise InputError(f"{name}: its columns are fixed; leave field and unit out")
    if revision is not None and not (by_name and name in HUB_CORPORA):
        raise InputError(f"revision: only for corpora on the hub, not for {name}; leave it out")
    read: Callable[[], Iterable[Document]]
    most, shuffled = PROTOCOL_DOCUMENTS, True
    if not by_name:
        files = list_files(Path(corpus).expanduser())
        read = partial(_documents, files, Columns(field or "text", unit, prompt))
    elif name in HUB_CORPORA:
        hub = HUB_CORPORA[name]
        columns = _hub_columns(name, hub, prompt)
        read = partial(_documents, _hub_files(name, hub, revision), columns, hub)
        shuffled = not hub.in_order
    else:
        if prompt is not None:
            raise InputError(f"{name}: it has no prompts; leave prompt out")
        text = plugins.corpus_text(name)
        check_text(name, text.as_shipped, changed_text)
        read = partial(_of_plugin, name, text)
        most, shuffled = 0, text.shuffled
    seed = seed if shuffled else None
    taken, available = chosen(read, most if documents is None else documents, seed)
    about = {"seed": seed, "available": available}
    return Corpus.of_documents(name, taken, max_bytes=max_bytes, **about)


def is_named(corpus: str | os.PathLike[str]) -> bool:
    """Whether this is a corpus by name, of the hub or of a plugin, and no path."""
    return isinstance(corpus, str) and bool(corpus in HUB_CORPORA or plugins.prefix_of(corpus))


def check_text(name: str, as_shipped: bool, changed_text: bool) -> None:
    """InputError for a plugin's corpus that is not the text of its reference, unless admitted."""
    if not as_shipped and not changed_text:
        raise InputError(
            f"{name}: another text than the one behind the reference numbers, since it is made"
            " out of packages of other versions; install the pinned ones, or give changed_text=True"
            " and compare with nothing"
        )


def protocol_order(rows: int, seed: int | None = 42) -> np.ndarray:
    """The order in which `rows` documents are taken, int64 (rows,).

    Equal to that of `datasets.Dataset.shuffle(seed=seed)`, so that a local copy of a corpus
    gives the same documents as the hub's. With seed None nothing is shuffled.
    """
    return np.arange(rows) if seed is None else np.random.default_rng(seed).permutation(rows)


def chosen(
    read: Callable[[], Iterable[Chosen]], documents: int, seed: int | None
) -> tuple[list[Chosen], int]:
    """The documents that the protocol takes, and how many there were to choose from.

    read: reads all documents. It is called twice: the order depends on how many there are, and a
        local copy of Wikipedia does not fit in memory. The first pass also finds every broken row.
    documents: how many are taken; 0 for all.
    """
    available = sum(1 for _ in read())
    order = protocol_order(available, seed)[: documents or available].tolist()
    wanted = set(order)
    taken = {number: document for number, document in enumerate(read()) if number in wanted}
    return [taken[number] for number in order], available


def _documents(
    files: Iterable[Path], columns: Columns, hub: HubCorpus | None = None
) -> Iterator[Document]:
    """The document of each row of files; of the hub's, as its entry in `HUB_CORPORA` says."""
    for path in files:
        for where, row in rows_of(path):
            if hub is None or hub.keep(row):
                yield document_of(row, columns, where, newline=hub is not None)


def _of_plugin(name: str, text: plugins.PluginText) -> list[Document]:
    with reason(f"{name}: needs a list of texts; units: give one for each document"):
        units = [None] * len(text.texts) if text.units is None else text.units
        return [Document(*row) for row in zip(text.texts, units, strict=True)]


def _hub_columns(name: str, hub: HubCorpus, prompt: str | None) -> Columns:
    """The columns of a corpus of the hub, of which the first may be its prompt."""
    fields = [field for field in hub.fields if field != prompt]
    if prompt is not None and (prompt != hub.fields[0] or not fields):
        raise InputError(f"prompt={prompt!r}: {name} is made of {' and '.join(hub.fields)}")
    return Columns("+".join(fields), prompt=prompt)


def _hub_files(name: str, hub: HubCorpus, revision: str | None) -> list[Path]:
    """Its files in the local cache of the hub; what it lacks is downloaded first."""
    from huggingface_hub import hf_hub_download

    download = partial(hf_hub_download, hub.path, repo_type="dataset", revision=revision)
    with reason(f"{name}: cannot fetch {hub.path} from the Hugging Face hub; is there a network?"):
        return [Path(download(file)) for file in hub.files]
