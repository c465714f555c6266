"""Read a folder's config, and its tokenizer by the rules of the folder."""

from __future__ import annotations

import itertools
import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast
from transformers import PreTrainedTokenizerBase as AnyTokenizer

from rbpkit.errors import one_line, reason
from rbpkit.files.model_folders import CONFIG, Checkpoint, Source, check_tokenizer_files

GENERIC_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")

# Special tokens that a folder may ask for at the ends of a text.
_ENDS = ("add_bos_token", "add_eos_token")


def reading_options(checkpoint: Checkpoint, source: Source) -> dict[str, Any]:
    """What every reader of the library is given: the config, and how to read the folder."""
    trust_remote_code = source.trust_remote_code
    options: dict[str, Any] = {
        "trust_remote_code": trust_remote_code,
        # All files are in the folder; only code may be kept in another repository.
        "local_files_only": source.local_files_only or not trust_remote_code,
    }
    if checkpoint.gguf is not None:
        options["gguf_file"] = checkpoint.gguf
    with reason(f"{checkpoint.folder}: the model cannot be loaded"):
        options["config"] = AutoConfig.from_pretrained(checkpoint.folder, **options)
    return options


def _probe_texts() -> list[str]:
    """Texts on which the rules of tokenizers part: every three of these pieces in a row."""
    pieces = " ,   ,\n,\t,a,The,'s,I'LL,7,1984,.,({,é,e\u0301,漢字,русский,\uff11,🙂".split(",")
    texts = []
    for first in pieces:
        triples = itertools.product([first], pieces, pieces)
        texts.append("".join(itertools.chain.from_iterable(triples)))
    return texts


def read_tokenizer(folder: Path, options: dict[str, Any]) -> tuple[AnyTokenizer, str]:
    """The tokenizer of a model's folder -> (the tokenizer, why it is not the library's, or "").

    The library rebuilds many tokenizers from vocabulary and merges by the rules of the class that
    `tokenizer_config.json` or the model's type names, and drops the rules in `tokenizer.json`. So
    both encode probe texts, and the file is used if they differ or if the library fails.

    options: as `reading_options`; a folder that is not the model's is read with its own config.

    Raises InputError if there is no tokenizer that can be read.
    """
    way_out = ""
    if any(folder.glob("*.model")) and not find_spec("sentencepiece"):
        way_out = "; pip install sentencepiece"
    with reason(f"{folder}: the tokenizer cannot be loaded{way_out}"):
        if "gguf_file" in options and (folder / options["gguf_file"]).is_file():
            return AutoTokenizer.from_pretrained(folder, **options), ""
        check_tokenizer_files(folder)
        has_config = (folder / CONFIG).is_file()
        left_out = {"gguf_file", "config"} if has_config else {"gguf_file"}
        options = {name: value for name, value in options.items() if name not in left_out}
        if not (folder / "tokenizer.json").is_file():
            return AutoTokenizer.from_pretrained(folder, **options), ""
        config_file = folder / "tokenizer_config.json"
        config = json.loads(config_file.read_text("utf-8")) if config_file.is_file() else {}
        own = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # Where texts are cut is decided here, and not by the file.
        own.no_truncation()
        own.no_padding()
        fault = "differs"
        try:
            tokenizer = _librarys_tokenizer(folder, config, options)
            if _encodes_as(tokenizer, own, config):
                return tokenizer, ""
        except Exception as error:
            if "trust_remote_code" in str(error):
                raise
            fault = f"fails ({one_line(error)})"
        remark = f"tokenizer.json, because what transformers makes of the folder {fault}"
        return _tokenizer_of_file(folder, config, own), remark


def _librarys_tokenizer(
    folder: Path, config: dict[str, Any], options: dict[str, Any]
) -> AnyTokenizer:
    """What transformers makes of a folder."""
    if config.get("tokenizer_class") in GENERIC_TOKENIZERS:
        # The file is all there is to know, and AutoTokenizer may take the model type's class.
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    return AutoTokenizer.from_pretrained(folder, **options)


def _ends(config: dict[str, Any]) -> dict[str, Any]:
    """What the folder asks for at the ends of a text; the file need not have it."""
    return {key: config[key] for key in _ENDS if config.get(key) is not None}


def _special_tokens(own: Tokenizer) -> list[AddedToken]:
    return [token for token in own.get_added_tokens_decoder().values() if token.special]


def _encodes_as(tokenizer: AnyTokenizer, own: Tokenizer, config: dict[str, Any]) -> bool:
    """Whether the library's tokenizer encodes the probe texts as the file's does."""
    if not type(tokenizer).__module__.startswith("transformers."):
        return True  # the tokenizer's own code, which was asked for
    if not config:
        # Only the file tells what is special, and the library may not know it.
        special = {str(token) for token in _special_tokens(own)}
        if not special <= set(tokenizer.all_special_tokens):
            return False
    # Also words of its own vocabulary, whatever its language is; the same ones each time.
    words = random.Random(0).choices(sorted(own.get_vocab().values()), k=4000)
    with_ends = not _ends(config)
    for text in (*_probe_texts(), own.decode(words)):
        ids = tokenizer(text, add_special_tokens=with_ends)["input_ids"]
        if ids != own.encode(text, add_special_tokens=with_ends).ids:
            return False
    return True


def _tokenizer_of_file(folder: Path, config: dict[str, Any], own: Tokenizer) -> AnyTokenizer:
    """The tokenizer of `tokenizer.json`, with the special tokens that the folder names."""
    generic = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    vocabulary = own.get_vocab()
    # A special token that the file lacks would get an id that the model does not know.
    named = {}
    for role, token in generic.special_tokens_map.items():
        if str(token) in vocabulary:
            named[role] = token
    return PreTrainedTokenizerFast(
        tokenizer_object=own,
        extra_special_tokens=_special_tokens(own),
        **named,
        **_ends(config),
    )
