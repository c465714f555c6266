"""Captioners: models that read a picture and write text, measured like any other `Ranker`.

Picture and text are one sequence, as in LLaVA. The model's own processor prepares both.
`load_captions` reads the corpus, `load_captioner` the model, and `rbpkit.measure` takes both.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from transformers import AutoModelForImageTextToText, AutoProcessor, PreTrainedModel

from rbpkit.architectures import output_layer
from rbpkit.checkpoints import FOLDER_ALONE, fetch_weights, find_checkpoint, read_config
from rbpkit.corpora import PROTOCOL_DOCUMENTS, Corpus, check_text, chosen
from rbpkit.encoding import (
    PAD_ID,
    Batch,
    EncodedCorpus,
    EncodedDocument,
    added_around,
    encoded_corpus,
    groups,
    padded,
    scored_from,
    special_ids,
    tokenized,
    truncated,
)
from rbpkit.errors import InputError, check_whole, reason
from rbpkit.libraries import quiet
from rbpkit.models import Dtype, LoadedModel, read_model, renamed
from rbpkit.output_head import PROBE_TEXT, can_be_padded, linear_head
from rbpkit.text_files import (
    Columns,
    Document,
    document_of,
    list_files,
    rows_of,
    value_in,
)
from rbpkit_pocket import paths
from rbpkit_pocket.picture_files import Picture, source_inside, undecoded

GLYPH_CORPORA = ("glyphs", "glyphs-shuffled", "glyphs-blank", "glyphs-seen")
"""Pictures with captions: characters of the test split; the same with each other's pictures; the
same with blank pictures; and training characters in new drawings."""
_CAN_BE_READ = "picture and text have to be one sequence, as in LLaVA"


# -- captions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Captions(Corpus):
    """A corpus whose documents are captions; pictures: what each of them is a caption of.

    The fingerprint is that of the texts with each picture's size and RGB pixels, so every picture
    is read once. Raises InputError for one that cannot be.
    """

    pictures: tuple[Picture, ...] = field(default=(), repr=False, compare=False)
    needs = "pictures"

    def __post_init__(self) -> None:
        super().__post_init__()
        digest = hashlib.sha256(self.fingerprint.encode())
        for picture in self.pictures:
            pixels = picture.read()
            digest.update(f"{pixels.size}".encode() + pixels.tobytes())
        object.__setattr__(self, "fingerprint", digest.hexdigest())


def captions_of(
    rows: Iterable[Any],
    name: str = "texts",
    *,
    image: str,
    field: str | None = None,
    unit: str | None = None,
) -> Captions:
    """Captions in memory: all rows by column (a `datasets.Dataset`, a list), in their own order.

    image: the column with the picture that the text describes: a PIL picture, an array, encoded
        bytes, the path of a file.
    field, unit: columns, as of `load_corpus`.
    """
    columns = Columns(field or "text", unit)
    found = []
    with reason(f"{name}: the documents must be rows by column"):
        for number, row in enumerate(undecoded(rows, image)):
            where = f"{name}, row {number}"
            picture = Picture(where, value_in(row, image, where))
            found.append((document_of(row, columns, where), picture))
    return _captions(name, found)


def load_captions(
    corpus: str | os.PathLike[str],
    *,
    image: str | None = None,
    images: str | os.PathLike[str] | None = None,
    documents: int | None = None,
    seed: int | None = 42,
    field: str | None = None,
    unit: str | None = None,
    changed_text: bool = False,
) -> Captions:
    """Captions of the glyphs, as "pocket:glyphs" (`GLYPH_CORPORA`), or of files.

    image: Column with the picture that the text describes. Of files: the name of its file, or
        (Parquet) the picture itself.
    images: Folder of the pictures, if it is not that of the corpus's own file. Their names are
        relative to it, and no other file is opened.
    documents: How many to take, 0 for all; by default 1000, all of the glyphs.
    seed: Seed of the shuffle that picks documents of files; in Python None takes them in order.
    field: Column with the text; a+b joins two.
    unit: Column with the text's author or source, which intervals resample.
    changed_text: Admit other glyphs than those of the reference numbers.

    A caption has no prompt. Raises InputError as `load_corpus`.
    """
    columns = Columns(field or "text", unit)
    for key, number in {"documents": documents, "seed": seed}.items():
        if number is not None:
            check_whole(key, number, 0)
    name = str(corpus).removeprefix("pocket:")
    if name in GLYPH_CORPORA:
        return _glyphs(f"pocket:{name}", documents, changed_text)
    if image is None:
        raise InputError(f"{corpus}: name the column with the pictures, --image (image=)")
    path = Path(corpus).expanduser()
    files = list_files(path)
    read = functools.partial(_rows, files, columns, image, images)
    count = PROTOCOL_DOCUMENTS if documents is None else documents
    found, available = chosen(read, count, seed)
    return _captions(path.resolve().name, found, seed=seed, available=available)


def _rows(
    files: Sequence[Path], columns: Columns, image: str, images: str | os.PathLike[str] | None
) -> Iterator[tuple[Document, Picture]]:
    """Each row's caption and its picture, which is not read yet."""
    for file in files:
        folder = file.parent if images is None else Path(images).expanduser()
        for where, row in rows_of(file):
            with reason(f"{where}: no row with a picture"):
                value = value_in(row, image, where)
                picture = Picture(where, source_inside(value, folder, where))
            yield document_of(row, columns, where), picture


def _captions(id: str, found: Sequence[tuple[Document, Picture]], **protocol: Any) -> Captions:
    """These captions; one without a visible character is empty, and is kept."""
    documents, pictures = zip(*found, strict=True) if found else ((), ())
    return Captions.of_documents(id, documents, pictures=pictures, **protocol)


def _glyphs(id: str, documents: int | None, changed_text: bool) -> Captions:
    """The first of the glyphs' names with their pictures, in their own order."""
    from rbpkit_pocket.glyphs import as_shipped, measured_glyphs

    check_text(id, as_shipped(), changed_text)
    names, drawn = measured_glyphs(id.removeprefix("pocket:glyphs"))
    found = []
    for row, (name, pixels) in enumerate(zip(names, drawn, strict=True)):
        found.append((Document(name), Picture(f"{id}, row {row}", pixels)))
    taken, available = chosen(lambda: found, documents or 0, None)
    return _captions(id, taken, available=available)


# -- how a model reads them -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Captioner:
    """How a model reads pictures: what it is given before each caption, and by which processor.

    prompt: the text before it, in which one token stands for the picture: a user's turn of the chat
        template with nothing but a picture, or else the picture's token; "" if there is neither.
    places: how many positions picture and prompt take (those of a small picture, if a larger one
        takes more).
    processor, tokenizer: the model's own.
    mode: of the pictures, RGB or L.
    """

    prompt: str
    places: int
    processor: Any
    tokenizer: Any
    mode: str

    def inputs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Any:
        """What the processor makes of pictures and captions (a BatchFeature), padded right."""
        images = [picture.read().convert(self.mode) for picture in pictures]
        with reason(f"{pictures[0].where}: the processor does not take it"):
            return self.processor(
                images=[[image] for image in images],  # a list for each text
                text=[self.prompt + text for text in texts],
                return_tensors="pt",
                padding=True,
                padding_side="right",
            )

    def inputs_of_blanks(self, network: PreTrainedModel, texts: Sequence[str]) -> Any:
        """Inputs for the model of texts, each with a blank picture."""
        blank = Picture("a blank picture", Image.new("RGB", (64, 64)))
        inputs = self.inputs([blank] * len(texts), texts)
        return inputs.to(network.device, network.dtype)

    def probe(self, network: PreTrainedModel) -> Any:
        """Inputs of a text and a blank picture, twice; in the second row another last token."""
        inputs = self.inputs_of_blanks(network, [PROBE_TEXT, PROBE_TEXT])
        ids = inputs["input_ids"]
        ids[1, -1] = ids[1, -2]  # the last two tokens of the text differ
        return inputs


@quiet()
def load_processor(folder: Path) -> Any:
    """The processor of a model's folder. Raises InputError if there is none for pictures."""
    more = "some need pip install 'rbpkit-pocket[pictures]'"
    with reason(f"{folder}: the processor cannot be loaded; {more}"):
        processor = AutoProcessor.from_pretrained(folder, **FOLDER_ALONE)
    if not hasattr(processor, "image_processor"):
        raise InputError(f"{folder}: no processor that joins picture and text ({_CAN_BE_READ})")
    return processor


@torch.no_grad()
def opened_captioner(network: PreTrainedModel, processor: Any, tokenizer: Any) -> Captioner:
    """How this network reads pictures with this processor and this tokenizer in it."""
    config = network.config
    processor = _with_tokenizer(processor, tokenizer)
    if getattr(processor, "chat_template", None):
        prompt = _chat_prompt(processor, tokenizer)
    else:
        prompt = str(getattr(processor, "image_token", ""))
    vision = getattr(config, "vision_config", None)
    reads_grey = getattr(vision, "num_channels", 3) == 1
    captioner = Captioner(
        prompt=prompt,
        places=0,  # the probe shows how many
        processor=processor,
        tokenizer=tokenizer,
        mode="L" if reads_grey else "RGB",
    )
    refusal = f"{config.model_type}: not a captioner that can be read ({_CAN_BE_READ})"
    if config.is_encoder_decoder:
        raise InputError(refusal)
    with reason(refusal):
        inputs = captioner.probe(network)
        network(**inputs, use_cache=False)
    text_length = len(tokenizer(PROBE_TEXT)["input_ids"])
    return replace(captioner, places=inputs["input_ids"].shape[1] - text_length)


def _with_tokenizer(processor: Any, tokenizer: Any) -> Any:
    """A copy of the processor with a copy of the tokenizer in it, which can pad."""
    # Copies, since the caller's own processor must stay as it is.
    processor = copy.copy(processor)
    processor.tokenizer = copy.deepcopy(tokenizer)
    if tokenizer.pad_token is None:
        pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(PAD_ID)
        processor.tokenizer.pad_token = pad_token
    return processor


def _chat_prompt(processor: Any, tokenizer: Any) -> str:
    """A user's turn with nothing but a picture, as the chat template writes it."""
    turn = {"role": "user", "content": [{"type": "image"}]}
    prompt = processor.apply_chat_template([turn], add_generation_prompt=True)
    # If the tokenizer puts the first token itself, it would be there twice.
    if tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:
        prompt = prompt.removeprefix(tokenizer.bos_token)
    return prompt


# -- the model --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CaptionBatch(Batch):
    """Captions padded on the right, with what the processor is given.

    pictures, texts: those of the batch's rows.
    """

    pictures: Sequence[Picture] = field(default=(), repr=False)
    texts: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class EncodedCaptions(EncodedCorpus):
    """Captions under one tokenizer; captions: the corpus itself."""

    captions: Captions = field(kw_only=True, repr=False)


@dataclass(eq=False, kw_only=True)
class CaptioningModel(LoadedModel):
    """A model that reads pictures. `context` and S are those of its text decoder."""

    captioner: Captioner = field(repr=False)

    def encode(self, corpus: Corpus, max_length: int, stride: int = 0) -> EncodedCaptions:
        """Captions after the prompt; they alone count towards max_length.

        A caption's first token is scored too, and its position is 1. Raises InputError for a corpus
        without pictures, for a stride, and if no caption has a scored token.
        """
        if not isinstance(corpus, Captions):
            raise InputError(f"{self.name}: it reads pictures; give captions, of `load_captions`")
        if stride:
            raise InputError(f"stride={stride}: captions are not read in windows; leave it out")
        if self.context is not None:
            max_length = min(max_length, self.context - self.captioner.places)
        check_whole("max_length", max_length, 2 + self.tokenizer.num_special_tokens_to_add())
        read = _read(corpus, self.captioner, max_length)
        encoded = encoded_corpus(corpus, self.tokenizer, read, max_length)
        return EncodedCaptions(**vars(encoded), captions=corpus)

    def batches(self, encoded: EncodedCorpus, batch_tokens: int) -> Iterator[CaptionBatch]:
        """As `LoadedModel.batches`, with the pictures.

        Where padding changes numbers each caption goes alone, as its picture may take more places
        than another's.
        """
        assert isinstance(encoded, EncodedCaptions), "encoded by this model"
        corpus = encoded.captions
        most = batch_tokens if self.pads else 1
        for group in groups(encoded, most, places=self.captioner.places):
            numbers = [caption.document for caption in group]
            yield CaptionBatch(
                **vars(padded(group)),
                pictures=[corpus.pictures[number] for number in numbers],
                texts=[corpus.documents[number] for number in numbers],
            )

    @torch.no_grad()
    def scored_states(self, batch: Batch) -> Tensor:
        """As `LoadedModel.scored_states`. InputError if captions do not fit with their pictures."""
        assert isinstance(batch, CaptionBatch), "made by this model"
        captioner = self.captioner
        inputs = captioner.inputs(batch.pictures, batch.texts)
        # In the processor's ids a picture has more places than in the tokenizer's.
        prompted = [captioner.prompt + text for text in batch.texts]
        ids_alone = captioner.tokenizer(prompted)["input_ids"]
        length_alone = torch.tensor([len(ids) for ids in ids_alone])
        picture_places = inputs["attention_mask"].sum(1) - length_alone
        rows = torch.from_numpy(batch.rows)
        columns = torch.from_numpy(batch.columns) + picture_places[rows]
        targets = torch.from_numpy(batch.targets)
        if not inputs["input_ids"][rows, columns + 1].equal(targets):
            raise InputError(f"{self.name}: its processor does not put the caption last, as it is")
        length = int(columns.max()) + 1  # what follows the last scored token changes nothing
        if self.context is not None and length > self.context:
            raise InputError(
                f"{self.name}: {length:,} tokens with the picture's, and the context holds"
                f" {self.context:,}; cut captions shorter (--max-length)"
            )
        _cut(inputs, length)
        states = self._last_states(inputs)
        # Some put the picture's places before the text's.
        columns = columns + states.shape[1] - length
        return states[rows.to(states.device), columns.to(states.device)]

    def _last_states(self, inputs: Any) -> Tensor:
        """The states that enter the output head, or the logits if the model has no `head`."""
        network = self.model
        inputs = inputs.to(self.device, network.dtype)
        layer = output_layer(network)
        if self.head is None or layer is None:
            return network(**inputs, use_cache=False).logits
        given_states: list[Tensor] = []

        def keep(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            given_states.append(given[0])
            return (given[0][:, -1:],)  # the logits of one place, and never all

        with layer.register_forward_pre_hook(keep):
            network(**inputs, use_cache=False)
        return given_states[0]


def _cut(inputs: Any, length: int) -> None:
    """Cut the inputs that have one entry for each token at this length."""
    shape = inputs["input_ids"].shape
    for name, value in inputs.items():
        if value.shape[:2] == shape and not value.is_floating_point():
            inputs[name] = value[:, :length]


def _read(corpus: Captions, captioner: Captioner, max_length: int) -> Iterator[EncodedDocument]:
    """Each caption after its prompt, cut at `max_length` tokens."""
    tokenizer = captioner.tokenizer
    special = special_ids(tokenizer)
    _, tail = added_around(tokenizer)
    before = tokenizer(captioner.prompt)["input_ids"] if captioner.prompt else []
    texts = [captioner.prompt + text for text in corpus.documents]
    for number, tokens in enumerate(tokenized(texts, tokenizer)):
        whole = np.array(tokens["input_ids"], dtype=np.int32)
        first = _common_prefix(whole, np.array(before))  # place of the caption's first token
        ids = truncated(whole, first + max_length, tail)
        scored = scored_from(first, ids, special)
        cut = len(whole) - len(ids)
        yield EncodedDocument(number, ids, scored, start=1 - first, cut=cut)


def _common_prefix(ids: np.ndarray, expected: np.ndarray) -> int:
    """How many ids are as expected, counted from the first."""
    alike = ids[: len(expected)] == expected[: len(ids)]
    return int(np.logical_and.accumulate(alike).sum())


def load_captioner(
    model: str | os.PathLike[str],
    *,
    name: str | None = None,
    family: str | None = None,
    revision: str | None = None,
    tokenizer: str | None = None,
    dtype: Dtype = "float32",
    device: str | None = None,
) -> CaptioningModel:
    """A model that reads pictures: a hub id, a folder, or a pocket captioner ("pocket:NAME").

    Any that `AutoModelForImageTextToText` knows, with its own processor. Arguments as of
    `load_model`; raises InputError as it does, and for a model that no processor is for.
    """
    found, own_name = os.fspath(model), None
    if found.startswith("pocket:"):
        own_name = found.removeprefix("pocket:")
        found = str(paths.CAPTIONERS / own_name)
        if not os.path.isdir(found):
            known = [folder.name for folder in paths.CAPTIONERS.iterdir()]
            raise InputError(f"no captioner {model!r}; there are {', '.join(known)}")
    with reason(f"{model}: the captioner cannot be loaded"):
        checkpoint = find_checkpoint(found, revision, tokenizer)
        config = read_config(checkpoint)
        processor = load_processor(checkpoint.folder)
        fetch_weights(checkpoint)
        about = read_model(checkpoint, config, dtype, device, kind=AutoModelForImageTextToText)
        return renamed(_captioning_model(processor, about), name or own_name, family)


@quiet()
def _captioning_model(processor: Any, about: dict[str, Any]) -> CaptioningModel:
    """A model that reads pictures with its processor; about: those fields that need no pass."""
    network = about["model"]
    reader = opened_captioner(network, processor, about["tokenizer"])
    head, V = linear_head(network, about["name"], reader.probe(network))
    alone = reader.inputs_of_blanks(network, [PROBE_TEXT])
    padded_beside_longer = reader.inputs_of_blanks(network, [PROBE_TEXT, PROBE_TEXT * 2])
    pads = can_be_padded(network, (alone, padded_beside_longer))
    return CaptioningModel(**about, V=V, head=head, pads=pads, captioner=reader)
