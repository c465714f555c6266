"""Corpora: the paper's six by name, those of plugins, anyone's files (Appendix A).

The authors' protocol: shuffle the documents with seed 42, take the first 1,000. Tokenizing and
batching are in `encoding`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from rbpkit import plugins
from rbpkit.errors import InputError, check_path, check_whole, nearest, reason
from rbpkit.text_files import (
    SUFFIXES,
    Columns,
    Document,
    checked_columns,
    document_of,
    list_files,
    read_documents,
    text_fingerprint,
)

PROTOCOL_DOCUMENTS = 1000  # taken from each corpus by the authors

Row = TypeVar("Row")


@dataclass(frozen=True)
class HubCorpus:
    """A corpus on the Hugging Face hub and how its text is made (the paper's: Appendix A).

    path, split: the data set and the part of it, as the hub names them.
    files: patterns of the repository's files that hold this part, in the order of its rows.
    fields: the columns whose values are joined by a newline.
    keep: which rows are documents.
    in_order: the first rows are taken without a shuffle.
    """

    path: str
    split: str
    files: tuple[str, ...]
    fields: tuple[str, ...] = ("text",)
    keep: Callable[[Mapping[str, Any]], bool] | None = None
    in_order: bool = False


def _is_github_code(row: Mapping[str, Any]) -> bool:
    return row["meta"]["pile_set_name"] == "Github" and len(row["text"]) > 512


HUB_CORPORA: dict[str, HubCorpus] = {
    "Wiki": HubCorpus("wikimedia/wikipedia", "train", files=("20231101.en/train-*.parquet",)),
    "HumanEval": HubCorpus(
        "openai/openai_humaneval",
        "test",
        files=("openai_humaneval/test-*.parquet",),
        fields=("prompt", "canonical_solution"),
    ),
    "HotpotQA": HubCorpus(
        "hotpotqa/hotpot_qa",
        "validation",
        files=("distractor/validation-*.parquet",),
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
# The authors shuffle all of Wikipedia, 11.6 GB. "Wiki:part" is one of its 41 files. It holds
# articles begun at about the same time, no fair sample, and so has another name in records.
_PART = ("20231101.en/train-00020-of-00041.parquet",)
ON_HUB = HUB_CORPORA | {"Wiki:part": replace(HUB_CORPORA["Wiki"], files=_PART)}


@dataclass(frozen=True)
class Corpus:
    """The documents to be measured, in the order of the protocol; never empty.

    id: the paper's name, "PLUGIN:NAME", the name of the file or folder, or one of your own.
    fingerprint: `text_fingerprint(documents)`, with prompts sha256 over it and that of the prompts.
        Two corpora with the same one are the same text.
    prompts: what a model reads right before each document and is not scored on, with the white
        space between them; None if there is nothing.
    units: for each document the name of what was sampled with it (a module, an author), which a
        bootstrap resamples; None if the documents themselves were sampled.
    source: where the text is from: `kind` ("hub", "file", "memory" or the name of a plugin) and
        `path`; of files and the hub `files` and `field`, of the hub `revision`; of a plugin
        `as_shipped`, whether this is the text behind the plugin's reference numbers.
    protocol: how documents were chosen: `seed` (None if nothing was shuffled), `requested` (None
        for all), `available` (how many there were to choose from); `max_bytes` if texts were cut.

    Both mappings hold only what JSON can. Raises InputError for a document that is not a string. A
    subclass whose documents stand beside something else (`needs`: "pictures") is for models that
    read this too.
    """

    id: str
    documents: tuple[str, ...] = dataclass_field(repr=False)
    source: Mapping[str, Any] = dataclass_field(default_factory=dict, hash=False)
    protocol: Mapping[str, Any] = dataclass_field(default_factory=dict, hash=False)
    units: tuple[str, ...] | None = dataclass_field(default=None, repr=False, compare=False)
    prompts: tuple[str, ...] | None = dataclass_field(default=None, repr=False)
    fingerprint: str = dataclass_field(init=False)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        with reason(f"{self.id}: the documents must be strings"):
            fingerprint = text_fingerprint(self.documents)
        if self.units is not None:
            if len(self.units) != len(self.documents):
                counts = f"{len(self.units)} units for {len(self.documents)} documents"
                raise InputError(f"{self.id}: {counts}; give one for each")
            for number, unit in enumerate(self.units):
                if unit is None or unit != unit:  # a missing author is no author called "nan"
                    raise InputError(f"{self.id}, document {number}: no unit (it is {unit})")
            object.__setattr__(self, "units", tuple(map(str, self.units)))
        if self.prompts is not None:
            if len(self.prompts) != len(self.documents):
                counts = f"{len(self.prompts)} prompts for {len(self.documents)} documents"
                raise InputError(f"{self.id}: {counts}; give one for each")
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
        texts: Iterable[Any],
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
        if hasattr(texts, "iterrows"):  # a DataFrame, which by itself iterates over its columns
            texts = cast(Any, texts).to_dict("records")
        is_one = isinstance(texts, (str, bytes, bytearray, Mapping)) or hasattr(texts, "columns")
        if is_one or not hasattr(texts, "__iter__"):
            kind = type(texts).__name__
            raise InputError(f"{name}: {kind} is not a list of texts; give one column or split")
        text = checked_columns(field, unit, prompt)
        kind = "rows by column" if text.unit or text.prompt else "strings"
        documents = []
        with reason(f"{name}: the documents must be {kind}"):
            for number, row in enumerate(texts):
                where = f"{name}, row {number}"
                if isinstance(row, Mapping):
                    documents.append(document_of(text, row, where))
                elif kind == "strings" and isinstance(row, str):
                    documents.append(Document(row))
                else:
                    given = type(row).__name__
                    raise InputError(f"{where}: of type {given}, but the documents must be {kind}")
            protocol = {"seed": None, "requested": None, "available": len(documents)}
            return _make(name, documents, {"kind": "memory", "path": name}, protocol)


def check_text(corpus: Corpus, changed_text: bool) -> None:
    """InputError for a plugin's corpus that is not the text of its reference, unless admitted."""
    if corpus.source.get("as_shipped") is False and not changed_text:
        raise InputError(
            f"{corpus.id}: another text than the one behind the reference numbers, since it is made"
            " out of packages of other versions; install the pinned ones, or give --changed-text"
            " (changed_text=True, in a parameter file changed_text: true) and compare with nothing"
        )


def protocol_order(rows: int, seed: int | None = 42) -> np.ndarray:
    """The order in which `rows` documents are taken, int64 (rows,).

    Equal to that of `datasets.Dataset.shuffle(seed=seed)`, so that a local copy of a corpus
    gives the same documents as the hub's. With seed None nothing is shuffled.
    """
    return np.arange(rows) if seed is None else np.random.default_rng(seed).permutation(rows)


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

    corpus: one of `ON_HUB` or the corpus of a plugin ("pocket:prose"), in any case (a file
        of that name is "./NAME"); or a file that ends in one of `SUFFIXES`, or a folder of those,
        read in the order of their names. A .txt file is one document.
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
    if not isinstance(corpus, str):
        check_path("the corpus", corpus)
    for key, number in {"documents": documents, "seed": seed, "max_bytes": max_bytes}.items():
        if number is not None:
            check_whole(key, number, 0)
    text = checked_columns(field, unit, prompt)
    target = _resolve(corpus)
    if target not in ON_HUB and revision is not None:
        raise InputError(f"revision: only for corpora on the hub, not for {target}; leave it out")
    if isinstance(target, Path):
        source = {"kind": "file", "path": str(target)}
        files = list_files(target)
        loaded = _from_files(target.resolve().name, files, text, documents, seed, source)
        return _cut(loaded, max_bytes)
    fixed = ("field", "unit") if target in ON_HUB else ("field", "prompt", "unit")
    for key in fixed:
        if getattr(text, key) is not None:
            raise InputError(f"{key}: that of {target} is fixed; leave {key} out")
    if target in ON_HUB:
        return _cut(_from_hub(target, prompt, documents, seed, revision), max_bytes)
    loaded = _from_plugin(target, documents, seed)
    check_text(loaded, changed_text)
    return _cut(loaded, max_bytes)


def _cut(corpus: Corpus, max_bytes: int) -> Corpus:
    """The corpus with each text cut at this many bytes, less those of a character cut in two."""
    if not max_bytes:
        return corpus
    heads = [text.encode()[:max_bytes] for text in corpus.documents]
    documents = tuple(head.decode(errors="ignore") for head in heads)
    protocol = {**corpus.protocol, "max_bytes": max_bytes}
    return replace(corpus, documents=documents, protocol=protocol)


def known_corpus(given: str) -> str | None:
    """The corpus of the hub or of a plugin that is called so in any case, as we spell it; or None.

    Raises InputError for a plugin that is not installed, and for a corpus that it does not have.
    """
    for name in ON_HUB:
        if name.lower() == given.lower():
            return name
    return plugins.corpus_called(given)


def _resolve(name_or_path: str | os.PathLike[str]) -> str | Path:
    """A corpus's name as we spell it, or a path that exists."""
    given = os.fspath(name_or_path)
    name = known_corpus(given) if isinstance(name_or_path, str) else None
    if name is not None:
        return name
    path = Path(os.path.expanduser(given))
    if given.strip() and os.path.exists(path):
        return path
    if os.sep in given or path.suffix:
        near = ""
        with suppress(OSError, ValueError):
            near = nearest(path.name, os.listdir(path.parent))
        raise InputError(f"{given}: no such file or folder{near}")
    known = [*HUB_CORPORA, *plugins.plugin_corpora()]
    raise InputError(
        f"unknown corpus {given!r}{nearest(given, known)}; give {', '.join(known)}, or the path of"
        f" a folder or of a file that ends in {', '.join(SUFFIXES)}"
    )


def _make(
    id: str, documents: Sequence[Document], source: dict[str, Any], protocol: dict[str, Any]
) -> Corpus:
    """The corpus of these documents; one without a visible character is empty, and is kept."""
    with reason(f"{id}: the documents must be strings"):
        texts = [document.text if document.text.strip() else "" for document in documents]
    if not any(texts):
        fault = f"all {len(documents)} documents are empty" if documents else "no documents"
        raise InputError(f"{id}: {fault}; give a corpus with text ({source['path']})")
    _, units, prompts = zip(*documents, strict=True)
    return Corpus(
        id,
        documents=tuple(texts),
        source=source,
        protocol=protocol,
        units=None if units[0] is None else units,
        prompts=None if prompts[0] is None else prompts,
    )


def chosen(
    read: Callable[[], Iterable[Row]], documents: int | None, seed: int | None
) -> tuple[list[Row], dict[str, Any]]:
    """The documents that the protocol takes, and how, as `Corpus.protocol` has it.

    read: reads all documents. It is called twice: the order depends on how many there are, and a
        local copy of Wikipedia does not fit in memory. The first pass also finds every broken row.
    documents: how many are taken; None for all.
    """
    available = sum(1 for _ in read())
    order = protocol_order(available, seed)[:documents].tolist()
    wanted = set(order)
    taken = {number: document for number, document in enumerate(read()) if number in wanted}
    protocol = {"seed": seed, "requested": documents, "available": available}
    return [taken[number] for number in order], protocol


def _from_files(
    id: str,
    files: Sequence[Path],
    text: Columns,
    documents: int | None,
    seed: int | None,
    source: dict[str, Any],
    hub: HubCorpus | None = None,
) -> Corpus:
    """The corpus of the rows of files; of the hub's, as its entry in `ON_HUB` says."""
    keep, in_order = (None, False) if hub is None else (hub.keep, hub.in_order)
    read = functools.partial(read_documents, files, text, keep, newline=hub is not None)
    source |= {"files": [file.name for file in files], "field": "+".join(text.fields)}
    if text.prompt is not None:
        source["prompt"] = text.prompt
    count = PROTOCOL_DOCUMENTS if documents is None else documents or None
    taken, protocol = chosen(read, count, None if in_order else seed)
    return _make(id, taken, source, protocol)


def _from_plugin(name: str, documents: int | None, seed: int | None) -> Corpus:
    found = plugins.corpus_text(name)
    with reason(f"{name}: needs a list of texts; units: give one for each document"):
        texts = list(found.texts)
        units = [None] * len(texts) if found.units is None else list(found.units)
        rows = [Document(*row) for row in zip(texts, units, strict=True)]
    source = {
        "kind": plugins.prefix_of(name),
        "path": found.where,
        "as_shipped": found.as_shipped,
    }
    taken, protocol = chosen(lambda: rows, documents or None, seed if found.shuffled else None)
    return _make(name, taken, source, protocol)


def _from_hub(
    name: str, prompt: str | None, documents: int | None, seed: int | None, revision: str | None
) -> Corpus:
    """The files come from the local cache of the hub; what it lacks is downloaded first."""
    from huggingface_hub import snapshot_download

    hub = ON_HUB[name]
    fields = [field for field in hub.fields if field != prompt]
    if prompt is not None and (prompt != hub.fields[0] or not fields):
        raise InputError(f"prompt={prompt!r}: {name} is made of {' and '.join(hub.fields)}")
    with reason(f"{name}: cannot fetch {hub.path} from the Hugging Face hub; is there a network?"):
        folder = snapshot_download(
            hub.path, repo_type="dataset", revision=revision, allow_patterns=list(hub.files)
        )
    files: list[Path] = []
    for pattern in hub.files:
        files += _parts(Path(folder), pattern)
    source = {"kind": "hub", "path": hub.path, "revision": Path(folder).name}
    columns = Columns("+".join(fields), prompt=prompt)
    return _from_files(name, files, columns, documents, seed, source, hub)


def _parts(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern, all of them: offline the cache may hold only a part of the corpus."""
    files = sorted(path for path in folder.glob(pattern) if path.is_file())
    count = 1
    if files and "*" in pattern:
        # The names tell how many there are: "train-00000-of-00041.parquet".
        count_in_name = re.search(r"-of-(\d+)", files[0].name)
        count = int(count_in_name[1]) if count_in_name else 1
    if len(files) < count:
        raise InputError(
            f"{folder}: only {len(files)} of {count} files of {pattern}; download the others"
        )
    return files
