"""The jobs of a study: which there are, in what order, and how several machines divide them.

Nothing is loaded for this: S comes from configs, the length of a corpus is estimated. So every
process that reads the same parameter file comes to the same list and the same division.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rbpkit import paper
from rbpkit.corpora import ON_HUB, POCKET_CORPORA, PROTOCOL_DOCUMENTS, Corpus, load_corpus
from rbpkit.errors import InputError, reason
from rbpkit.files.architectures import parameter_counts
from rbpkit.files.libraries import quiet
from rbpkit.files.text_files import list_files
from rbpkit.pocket import ladders
from rbpkit.study.params import Params
from rbpkit.study.token_budget import load_token_budget, model_tokenizers

MOST_SHARDS = 10_000  # a number far beyond is a slip

# Documents that there are, and tokens of one; for dividing work, not for any result.
_TYPICAL = {"HumanEval": (164, 260), "HotpotQA": (7405, 28)}
_TYPICAL |= {"pocket:prose": (422, 246), "pocket:code": (587, 155), "pocket:qa": (2570, 51)}
_TYPICAL |= {"pocket:readme": (424, 239), "pocket:humaneval": (164, 188)}
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Job:
    """A model on a corpus, by the names that their records carry."""

    model: str
    corpus: str


@dataclass(frozen=True)
class Group:
    """A model, loaded once, and the corpora that it is measured on.

    source: hub id or folder. S: non-embedding parameters, 0 where no config tells. embedding:
    parameters of the token and position embeddings. tokens: corpus -> expected tokens.
    """

    source: str
    model: str
    S: int
    embedding: int
    tokens: Mapping[str, int]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The group's jobs, in the order of its corpora."""
        return tuple(Job(self.model, corpus) for corpus in self.tokens)

    @property
    def costs(self) -> dict[str, int]:
        """Corpus -> parameters that a token passes, times tokens.

        These are S and the output head, which has about as many as the token embedding.
        """
        passed = max(1, self.S + self.embedding)
        return {corpus: passed * tokens for corpus, tokens in self.tokens.items()}

    def only(self, corpora: Collection[str]) -> Group:
        """The same model on these of its corpora."""
        kept = {corpus: n for corpus, n in self.tokens.items() if corpus in corpora}
        return replace(self, tokens=kept)


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, from 1. Raises InputError where there is none such."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count <= MOST_SHARDS:
            raise InputError(
                f"--shard {self.index}/{self.count}: give I/N, a part I from 1 to N,"
                f" N at most {MOST_SHARDS:,}"
            )

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Of "I/N". Raises InputError."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not found:
            raise InputError(f"--shard {text!r}: give I/N, as 2/8 for the second part of eight")
        return cls(int(found[1]), int(found[2]))


def models_of(params: Params) -> tuple[str, ...]:
    """The study's models: `model_ids`, or those of its families, smallest first.

    Folders for the pocket ladders, hub ids for the paper's; with source pocket a model id may be a
    shipped model's name. Raises InputError for a family that is not there, for none at all, for
    two folders of one name (their records would be one), and for models that are still to be
    trained.
    """
    if params.train_anew:
        raise InputError("train_anew: `rbpkit reproduce` trains these models and measures them")
    if params.model_ids:
        shipped = {p.name: str(p) for p in ladders.models_root().glob("*") if p.is_dir()}
        here = shipped if params.source == "pocket" else {}
        models = tuple(here.get(one, one) for one in params.model_ids)
    elif params.source == "pocket":
        models = tuple(
            str(ladders.model_folder(family, size))
            for family in map(ladders.family_named, params.families)
            for size in range(len(ladders.LADDERS[family]))
        )
    else:
        table = paper.models()
        for family in params.families:
            if family not in set(table["family"]):
                raise InputError(
                    f"no family {family!r} in the paper: {', '.join(table['family'].unique())}"
                )
        chosen = table[table["family"].isin(params.families)].sort_values(["family", "S"])
        models = tuple(chosen["hub_id"])
    if not models:
        raise InputError("the study names no models: give families or model_ids")
    names: dict[str, str] = {}
    for model in models:
        name = model_name(model)
        if name in names:
            raise InputError(
                f"{names[name]} and {model} are both called {name!r}: rename one folder"
            )
        names[name] = model
    return models


def model_name(model: str) -> str:
    """What the records call a hub id or a folder, as `find_checkpoint` has it."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return model
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/")
    return folder.resolve().name


def corpus_names(params: Params) -> dict[str, str]:
    """The study's corpora: what the records call each -> what the parameters do.

    Raises InputError for one that is not there, as `load_corpus` does, and for two of one name.
    """
    known = {name.lower(): name for name in (*ON_HUB, *POCKET_CORPORA)}
    names: dict[str, str] = {}
    for given in params.corpus_names:
        name = known.get(given.lower())
        if name is None and not (given.strip() and Path(given).expanduser().exists()):
            name = load_corpus(given).id  # tells what is wrong, and the nearest name
        name = name or Path(given).expanduser().resolve().name
        if name in names:
            raise InputError(f"two corpora are called {name!r}: rename one file or folder")
        names[name] = given
    return names


def read_corpora(params: Params, wanted: Collection[str]) -> dict[str, Corpus]:
    """These of the study's corpora, by the names of `corpus_names`. Raises as `load_corpus`."""
    corpora = {}
    tokenizers = model_tokenizers(models_of(params), params) if params.least_tokens else {}
    for name, given in corpus_names(params).items():
        if name in wanted:
            options = {
                "field": params.text_field if Path(given).exists() else None,
                "seed": params.seed,
                "revision": params.revision_of(ON_HUB[name].path) if name in ON_HUB else None,
            }
            if params.least_tokens:
                corpora[name], _ = load_token_budget(
                    given, params.least_tokens, tokenizers, **options
                )
            else:
                corpora[name] = load_corpus(given, documents=params.documents, **options)
    return corpora


def expected_tokens(name: str, given: str, params: Params) -> int:
    """About how many tokens a corpus has under these parameters, at least 1.

    From constants for the corpora that we know, from the size on disk for files.
    """
    wanted = params.documents
    if name in ON_HUB or name in POCKET_CORPORA:
        most, length = _TYPICAL.get(name, (PROTOCOL_DOCUMENTS, params.max_length))
        if wanted is None and name in ON_HUB:
            wanted = PROTOCOL_DOCUMENTS
        return (min(wanted, most) if wanted else most) * min(length, params.max_length)
    size = sum(file.stat().st_size for file in list_files(Path(given).expanduser()))
    wanted = PROTOCOL_DOCUMENTS if wanted is None else wanted
    there = max(1, size // _BYTES_PER_TOKEN)
    return min(there, wanted * params.max_length) if wanted else there


@cache
def model_size(model: str, revision: str | None = None) -> tuple[int, int]:
    """S and embedding parameters of a hub id or a folder, no weights loaded.

    The paper's models from its table, others from their config. Raises InputError where there
    is none to be read.
    """
    table = paper.models().set_index("hub_id")
    folder = Path(model).expanduser()
    if model in table.index and not folder.is_dir():
        return int(table.loc[model, "S"]), int(table.loc[model, "embedding_params"])
    from transformers import AutoConfig

    with quiet(), reason(f"{model}: its config.json cannot be read"):
        config = AutoConfig.from_pretrained(
            folder if folder.is_dir() else model, revision=revision or "main"
        )
    counts = parameter_counts(config)
    return counts.S, counts.embedding


def plan(params: Params, *, shard: Shard | None = None) -> tuple[Group, ...]:
    """The jobs of a study, or of a shard of it: the largest models first, each loaded once.

    What does not fit in memory, or takes longest, so shows first. A model whose size cannot be
    read comes last. Raises InputError as `models_of` and `corpus_names`; where there are shards
    also for a hub model whose size cannot be read, since another machine that can read it would
    divide otherwise.
    """
    names = corpus_names(params).items()
    tokens = {name: expected_tokens(name, given, params) for name, given in names}
    groups = []
    for model in models_of(params):
        try:
            S, embedding = model_size(model, params.revision_of(model))
        except InputError:
            if shard is not None and shard.count > 1 and not Path(model).expanduser().exists():
                raise
            S, embedding = 0, 0  # loading it will say what is wrong
        groups.append(Group(model, model_name(model), S, embedding, tokens))
    groups.sort(key=lambda group: -group.S)  # stable: equal sizes stay in the study's order
    return tuple(groups) if shard is None else divide(groups, shard)


def divide(groups: Collection[Group], shard: Shard) -> tuple[Group, ...]:
    """The shard's part of the groups: together they are everything, no job is in two.

    A model that costs more than half of a shard's even share is split by corpora, and loaded for
    each part. The parts then go, the costliest first, each to the shard that has least so far.
    """
    share = sum(sum(group.costs.values()) for group in groups) / shard.count
    # With whole shares as parts, one shard of 16 got a third too much of the paper's study; with
    # halves a sixth.
    parts = [part for group in groups for part in _split(group, share / 2)]
    mine: dict[str, set[str]] = {}
    for i in _spread([sum(part.costs.values()) for part in parts], shard.count)[shard.index - 1]:
        mine.setdefault(parts[i].model, set()).update(parts[i].tokens)
    return tuple(group.only(mine[group.model]) for group in groups if group.model in mine)


def _split(group: Group, most: float) -> list[Group]:
    """The group in as few parts of corpora as bring each under `most`, as far as that goes."""
    corpora, costs = list(group.costs), list(group.costs.values())
    inside: list[list[int]] = []
    for count in range(1, len(costs) + 1):
        inside = _spread(costs, count)
        if max(sum(costs[i] for i in part) for part in inside) <= most:
            break
    return [group.only({corpora[i] for i in part}) for part in inside]


def _spread(costs: Sequence[int], count: int) -> list[list[int]]:
    """Places of `costs` in `count` parts: the costliest first, each to where least is so far."""
    parts: list[list[int]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for i in sorted(range(len(costs)), key=lambda i: -costs[i]):
        load, number = heapq.heappop(loads)
        heapq.heappush(loads, (load + costs[i], number))
        parts[number].append(i)
    return parts
