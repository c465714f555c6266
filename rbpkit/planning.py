"""What a job is before it is run: its key. No model is loaded for it.

`measure`, a sweep and the status of a study take the key from here, so that each of them finds
what another has measured.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rbpkit import plugins
from rbpkit.corpora import Corpus
from rbpkit.errors import InputError
from rbpkit.files.architectures import context_of
from rbpkit.files.libraries import quiet
from rbpkit.files.manifest import JobKey

if TYPE_CHECKING:
    from rbpkit.ranker import Ranker


@dataclass(frozen=True)
class ModelFiles:
    """A model that was found but not loaded.

    name, revision: as of a `Ranker`.
    dtype: in which it is to be loaded.
    context: the most tokens in a sequence; None if the config sets no limit.
    """

    name: str
    revision: str
    dtype: str
    context: int | None


def find_model(
    source: str | os.PathLike[str],
    *,
    dtype: str,
    revision: str | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
) -> ModelFiles:
    """A model as its files describe it; the arguments are those of `load_model`.

    A plugin's model has its name from the plugin, wherever its folder is. The revision of a folder
    is a sha256 over what can change the numbers. Raises InputError as `find_checkpoint`, and
    whatever the library raises for a config that it cannot read.
    """
    from transformers import AutoConfig

    from rbpkit.files.model_folders import Source, find_checkpoint

    name, found = plugins.resolve_model(os.fspath(source))
    with quiet():
        checkpoint = find_checkpoint(found, Source(revision, tokenizer))
        config = AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True)
    if plugins.prefix_of(os.fspath(source)) is None:
        name = checkpoint.name
    return ModelFiles(name, checkpoint.revision, dtype, context_of(config))


def look_up(
    model: str,
    *,
    revision: str | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
) -> None:
    """InputError if a model cannot be found, before any work; its weights are not read.

    Of a model of the hub its config and its tokenizer are downloaded. What a plugin makes or opens,
    as a server's model, is not looked up. The arguments are those of `load_model`.
    """
    if plugins.opener_prefix(model) is not None:
        return
    found = plugins.resolve_model(model)[1]
    if callable(found):
        return
    from rbpkit.files.model_folders import Source, check_tokenizer_files, find_checkpoint

    source = Source(
        revision,
        tokenizer,
        trust_remote_code,
        local_files_only=local_files_only,
        weights=False,
    )
    with quiet():
        checkpoint = find_checkpoint(found, source)
    if checkpoint.gguf is None or checkpoint.tokenizer_name is not None:
        check_tokenizer_files(checkpoint.tokenizer)


def why_missing(
    model: str,
    *,
    revision: str | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
) -> str:
    """Why a model cannot be found on this machine; "" if it can, or if it is a plugin's."""
    if plugins.prefix_of(model) is not None:  # it may have to be trained first
        return ""
    try:
        look_up(model, revision=revision, tokenizer=tokenizer, local_files_only=True)
    except InputError as error:
        return str(error)
    return ""


def job_key(model: Ranker | ModelFiles, corpus: Corpus, max_length: int, stride: int) -> JobKey:
    """The key of a model on a corpus.

    A model whose context is shorter than `max_length` truncates there.
    """
    return JobKey(
        model=model.name,
        revision=model.revision,
        corpus=corpus.id,
        fingerprint=corpus.fingerprint,
        documents=len(corpus.documents),
        seed=corpus.protocol.get("seed") or 0,  # 0 also if nothing was shuffled
        dtype=model.dtype,
        max_length=min(max_length, model.context or max_length),
        stride=stride,
    )
