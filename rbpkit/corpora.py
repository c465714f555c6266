"""Corpora: the paper's six by name, the pocket corpora, anyone's files (Appendix A).

The authors' protocol: shuffle the documents with seed 42, take the first 1,000. `files.text_files`
reads files, `files.hub_corpora` the hub; tokenizing and batching are in `encoding`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any

import numpy as np

from rbpkit.errors import InputError, check_whole
from rbpkit.files.hub_corpora import HUB_CORPORA, MORE_CORPORA, read_hub
from rbpkit.files.text_files import SUFFIXES, list_files, read_texts, suffix_of, text_fingerprint

PROTOCOL_DOCUMENTS = 1000  # of the authors, from each corpus

ON_HUB = HUB_CORPORA | MORE_CORPORA
POCKET_CORPORA = ("pocket:prose", "pocket:code", "pocket:qa", "pocket:readme", "pocket:humaneval")


@dataclass(frozen=True)
class Corpus:
    """The documents to be measured, in the order of the protocol; never empty.

    id: the paper's name, "pocket:NAME", or the name of the file or folder.
    fingerprint: `text_fingerprint(documents)`; two corpora with the same one are the same text.
    source: where the text is from, with its counts: `kind` ("hub", "file" or "pocket"),
    `streaming`, `empty` (documents without a visible character, left out), and by kind `path`,
    `config`, `split`, `revision`, `files`, `field`, `fingerprint_all` (of a pocket corpus, whole),
    `fingerprint_expected`, `as_shipped`.
    protocol: how documents were chosen: `order` ("shuffled", "stream-shuffled" or "in order"),
    `seed` (None where nothing was shuffled), `requested` (None for all), `available` (rows
    there were to choose from, None where a stream was not read to its end).
    Both mappings hold only what JSON can.
    """

    id: str
    documents: tuple[str, ...] = dataclass_field(repr=False)
    fingerprint: str
    source: Mapping[str, Any] = dataclass_field(hash=False)
    protocol: Mapping[str, Any] = dataclass_field(hash=False)


def protocol_order(rows: int, seed: int | None = 42) -> np.ndarray:
    """The order in which `rows` documents are taken, int64 (rows,).

    Equal to that of `datasets.Dataset.shuffle(seed=seed)`, so that a local copy of a corpus
    gives the same documents as the hub's; with seed None the order they stand in.
    """
    return np.arange(rows) if seed is None else np.random.default_rng(seed).permutation(rows)


def load_corpus(
    name_or_path: str | os.PathLike[str],
    *,
    documents: int | None = None,
    field: str | None = None,
    seed: int | None = 42,
    streaming: bool = False,
    revision: str | None = None,
) -> Corpus:
    """Documents of a corpus: by default the first 1,000, shuffled with seed 42 (Appendix A).

    name_or_path: one of `HUB_CORPORA`, `MORE_CORPORA` (others on the hub, and "Wiki:part", a part
    where all is too much to fetch) or `POCKET_CORPORA`, in any case (a file of that name is
    "./NAME"), or a .jsonl, .jsonl.gz, .parquet or .txt file, or a folder of those, read in the
    order of their names. A .txt file is one document.
    documents: how many to take, 0 for all; by default 1,000, and all of a pocket corpus, whose
    lists are short and fixed. Empty ones among them are left out and counted. "pocket:humaneval"
    is the paper's HumanEval, which ships: the same documents in the same order as the hub's.
    field: for .jsonl and .parquet, the column with the text ("text" if not given), or several
    joined by "+" whose values are joined by a newline ("prompt+canonical_solution").
    seed: None takes documents in the order they stand in, as those of C4 and those cut out of
    packages (the other pocket corpora) always are.
    streaming: for hub corpora, shuffle a buffer of 10,000 streamed rows instead of fetching the
    whole set: other documents than the authors', as `source` and `protocol` then say.
    revision: of the hub's data set, its newest if not given.

    Raises InputError for an unknown name, a hub that does not answer, files that cannot be
    read as text, a field that is not there, a corpus without text.
    """
    for key, value in (("documents", documents), ("seed", seed)):
        if value is not None:
            check_whole(key, value, 0)
    target = _resolve(name_or_path)
    on_hub = isinstance(target, str) and target in ON_HUB
    if not on_hub and (streaming or revision is not None):
        key = "streaming" if streaming else "revision"
        raise InputError(f"{key}: only for hub corpora, not for {target}; leave it out")
    if isinstance(target, str) and field is not None:
        raise InputError(f"field={field!r}: the text of {target} is fixed; leave field out")
    if isinstance(target, str) and not on_hub:
        if target == "pocket:humaneval":
            return _humaneval(target, documents or None, seed)
        return _from_pocket(target, documents or None)
    documents = PROTOCOL_DOCUMENTS if documents is None else documents or None
    if on_hub:
        return _from_hub(target, documents, seed, streaming, revision)
    return _from_files(target, documents, field, seed)


def corpus_on_hub(name_or_path: str | os.PathLike[str]) -> str | None:
    """Our spelling of a corpus of the hub, None for any other. Raises InputError for no corpus."""
    target = _resolve(name_or_path)
    return target if isinstance(target, str) and target in ON_HUB else None


def _resolve(name_or_path: str | os.PathLike[str]) -> str | Path:
    """A corpus's name as we spell it, or a path that exists."""
    given = os.fspath(name_or_path)
    known = {name.lower(): name for name in (*ON_HUB, *POCKET_CORPORA)}
    if isinstance(name_or_path, str) and given.lower() in known:
        return known[given.lower()]
    path = Path(given).expanduser()
    if given.strip() and os.path.exists(path):  # pathlib's raises on a name that is too long
        return path
    if os.sep in given or suffix_of(path):
        raise InputError(f"{given}: no such file or folder; check the path of the corpus")
    whole = [name for name in known if not name.endswith(":part")]
    near = difflib.get_close_matches(given.lower(), whole, n=1, cutoff=0.5)
    hint = f"did you mean {known[near[0]]}? " if near else ""
    raise InputError(
        f"unknown corpus {given!r}: {hint}Give {', '.join(known.values())}, "
        f"or a path to a folder or {', '.join(SUFFIXES)} file"
    )


def _make(id: str, texts: Sequence[str], source: dict[str, Any], protocol: dict) -> Corpus:
    kept = tuple(text for text in texts if text.strip())
    if not kept:
        found = f"all {len(texts)} documents are empty" if texts else "there are no documents"
        raise InputError(f"{id}: {found}; give a corpus with text ({source['path']})")
    source["empty"] = len(texts) - len(kept)
    return Corpus(id, kept, text_fingerprint(kept), source, protocol)


def _from_files(path: Path, documents: int | None, field: str | None, seed: int | None) -> Corpus:
    files = list_files(path)
    if field is not None and all(suffix_of(f) == ".txt" for f in files):
        raise InputError(f"field={field!r}: {path} is plain text, without fields; leave it out")
    name = field or "text"
    # Twice through the files: the order depends on how many rows there are, and a local copy
    # of Wikipedia does not fit in memory. The first pass also finds every broken row.
    rows = sum(1 for _ in read_texts(files, name))
    wanted = protocol_order(rows, seed)[:documents].tolist()
    chosen = set(wanted)
    texts = {i: text for i, text in enumerate(read_texts(files, name)) if i in chosen}
    source = {
        "kind": "file",
        "path": str(path),
        "files": [f.name for f in files],
        "field": None if all(suffix_of(f) == ".txt" for f in files) else name,
        "streaming": False,
    }
    order = "in order" if seed is None else "shuffled"
    protocol = {"order": order, "seed": seed, "requested": documents, "available": rows}
    return _make(path.resolve().name, [texts[i] for i in wanted], source, protocol)


def _from_pocket(name: str, documents: int | None) -> Corpus:
    from rbpkit.pocket.documents import load_pocket_documents

    pocket = load_pocket_documents(name.removeprefix("pocket:"))
    source = {
        "kind": "pocket",
        "path": "installed packages",
        "streaming": False,
        # Of all its documents, so that they compare whatever number of them is taken.
        "fingerprint_all": pocket.fingerprint,
        "fingerprint_expected": pocket.fingerprint_expected,
        "as_shipped": pocket.as_shipped,
    }
    available = len(pocket.documents)
    protocol = {"order": "in order", "seed": None, "requested": documents, "available": available}
    return _make(name, pocket.documents[:documents], source, protocol)


def _humaneval(name: str, documents: int | None, seed: int | None) -> Corpus:
    from rbpkit.pocket.documents import humaneval_path

    found = _from_files(humaneval_path(), documents, "+".join(ON_HUB["HumanEval"].fields), seed)
    source = {**found.source, "kind": "pocket", "path": "shipped with rbpkit"}
    return replace(found, id=name, source=source)


def _from_hub(
    name: str, documents: int | None, seed: int | None, streaming: bool, revision: str | None
) -> Corpus:
    hub = ON_HUB[name]
    seed = None if hub.in_order else seed
    streamed = streaming or hub.in_order
    found = read_hub(name, hub, documents, seed, streamed, revision, protocol_order)
    source = {
        "kind": "hub",
        "path": hub.path,
        "config": hub.config,
        "split": hub.split,
        "revision": found.revision,
        "field": "+".join(hub.fields),
        "streaming": streamed,
        "files": list(hub.files),
    }
    order = "in order" if seed is None else "stream-shuffled" if streamed else "shuffled"
    available = found.available
    protocol = {"order": order, "seed": seed, "requested": documents, "available": available}
    return _make(name, found.texts, source, protocol)
