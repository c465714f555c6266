"""The parameter file of a study: flat YAML, the same for `rbpkit reproduce` and `papermill -f`.

An unknown or wrongly typed key is refused before anything runs. papermill makes a variable of each
key, so no key may have the name of a module.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt

from rbpkit.check import Names, Shown
from rbpkit.errors import InputError

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


def _pins(pins: tuple[str, ...]) -> tuple[str, ...]:
    for pin in pins:
        if "@" not in pin:
            raise ValueError(f"{pin!r} is not owner/name@revision")
    if len({pin.partition("@")[0] for pin in pins}) < len(pins):
        raise ValueError("pins something twice")
    return pins


class Params(Shown):
    """A study: which models, on which corpora, how they are measured, what the notebooks show.

    Which models:
        source: "pocket" (the pocket models, or another plugin's) or "hub" (the paper's models).
        families: of that source.
        model_ids: hub ids, folders, names of a plugin's models or addresses of servers
            (http://HOST:PORT/v1) to measure instead; `families` then only says what the notebooks
            show. `rbpkit reproduce` first trains the models that have to be trained: NAME-seedN, or
            NAME-3m-seedN for 3 million tokens, where NAME is a pocket model.
        revisions: "owner/name@revision" pins a model or data set of the hub to a commit, tag or
            branch; the others are taken at their newest.
    On which text:
        corpus_names: names, files or folders. In a notebook an empty list, as one of `families`,
            shows whatever was measured. The columns (field, unit, prompt) are those of your
            own files.
    What the notebooks show:
        ks, Ns: k of RBP_k and N of p_{N,k}.
        records_dir: where they read records; empty for those of the pocket models.
        figures_dir: where they write figures; empty for nowhere.
    How it is measured: all other keys, which are arguments of `load_corpus`, `load_model` and
        `measure`, with their defaults.
    """

    source: str
    model_ids: Names = ()
    corpus_names: Names  # to be given here
    revisions: Annotated[Names, AfterValidator(_pins)] = ()

    documents: NonNegativeInt | None = None
    seed: NonNegativeInt | None = 42
    field: Text | None = None
    unit: Text | None = None
    prompt: Text | None = None
    max_bytes: NonNegativeInt = 0
    changed_text: bool = False
    tokenizer: Text | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device: Text | None = None
    max_length: Annotated[int, Field(ge=2)] = 512
    stride: NonNegativeInt = 0
    batch_tokens: PositiveInt = 8192

    def files_of(self, model: str) -> dict[str, Any]:
        """From which files a model is read: arguments of `load_model`."""
        return {"revision": self.revision_of(model), "tokenizer": self.tokenizer}

    def revision_of(self, hub_id: str) -> str | None:
        """The revision that a model or data set of the hub is pinned to; None for its newest."""
        pins = dict(pin.split("@", 1) for pin in self.revisions)
        return pins.get(hub_id)


class _Loader(yaml.SafeLoader):
    """Of a key that is there twice YAML's own loader takes the second, without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        values = super().construct_mapping(node, deep)
        if len(values) < len(node.value):
            names = Counter(str(key.value) for key, _ in node.value)
            raise ValueError(f"{names.most_common(1)[0][0]} is there twice")
        return values


def load_params(path: str | Path) -> Params:
    """Read and check a parameter file.

    Raises InputError, one line that names the file and every key at fault, if the file is missing
    or is not YAML, and for unknown, missing or wrongly typed keys, and for one that is there twice.
    """
    try:
        values = yaml.load(Path(path).read_text(encoding="utf-8"), _Loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        fault = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read: {fault}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a list of `key: value` lines")
    return Params.of({str(key): value for key, value in values.items()}, str(path))
