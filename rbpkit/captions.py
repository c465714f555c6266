"""Captions: what a captioner's own processor makes of pictures and texts, and its hidden states.

Picture and text are one sequence (LLaVA and its kin), or a decoder looks at an encoder's picture.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from transformers import AutoImageProcessor, AutoProcessor, PreTrainedModel

from rbpkit.encoding import PAD_ID, Batch
from rbpkit.errors import InputError, reason
from rbpkit.files.architectures import output_layer, vision_parameters
from rbpkit.files.pictures import Picture

if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.models import LoadedModel

PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"


@dataclass(frozen=True, eq=False)
class Captioner:
    """How a model reads pictures.

    processor: the model's own. prompt: the text before each caption: a user's turn of the chat
    template with nothing but a picture, or else the picture's token. start: the decoder's first
    input, () if picture and text are one sequence. mode: of the pictures, RGB or L. places: how
    many the picture and the prompt take (those of a small picture, if a larger one takes more).
    S_vision: parameters outside the text decoder and its head, as `vision_parameters`.
    """

    processor: Any
    tokenizer: Any
    prompt: str
    start: tuple[int, ...]
    mode: str
    S_vision: int
    places: int = 0

    def inputs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Any:
        """What the processor makes of pictures and captions (a BatchFeature), padded on the right.

        An encoder-decoder's `decoder_input_ids` are left to the caller.
        """
        images = [picture.read().convert(self.mode) for picture in pictures]
        with reason(f"{pictures[0].where}: the processor does not take it"):
            if self.start:
                reader = getattr(self.processor, "image_processor", self.processor)
                return reader(images=images, return_tensors="pt")
            asked = {"text": [self.prompt + text for text in texts], "return_tensors": "pt"}
            asked |= {"padding": True, "padding_side": "right"}
            return self.processor(images=[[image] for image in images], **asked)

    def probe(self, network: PreTrainedModel) -> Any:
        """Inputs of a text and a blank picture, twice; in the second row another last token."""
        blank = Picture("a blank picture", Image.new("RGB", (64, 64)))
        inputs, name = self.inputs([blank] * 2, [PROBE_TEXT] * 2), "input_ids"
        if self.start:
            name, ids = "decoder_input_ids", self.tokenizer(PROBE_TEXT)["input_ids"]
            inputs[name] = torch.tensor([[*self.start, *ids]] * 2)
        inputs[name][1, -1] = inputs[name][1, -2]
        return inputs.to(network.device, network.dtype)


def load_processor(folder: Path, options: dict[str, Any]) -> Any:
    """The processor of a model's folder; that of the pictures if there is no joint one."""
    with reason(f"{folder}: the processor cannot be loaded"):
        found = AutoProcessor.from_pretrained(folder, **options)
        if hasattr(found, "image_processor"):
            return found
        return AutoImageProcessor.from_pretrained(folder, **options)


@torch.no_grad()
def opened_captioner(network: PreTrainedModel, processor: Any, tokenizer: Any) -> Captioner:
    """How this network reads pictures with this processor and this tokenizer in it."""
    config, start, prompt = network.config, (), ""
    if hasattr(processor, "tokenizer"):
        processor = copy.copy(processor)
        processor.tokenizer = copy.deepcopy(tokenizer)
        if tokenizer.pad_token is None:
            pad = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(PAD_ID)
            processor.tokenizer.pad_token = pad
    if config.is_encoder_decoder:
        known = config, network.generation_config, config.get_text_config(decoder=True)
        named = [getattr(one, "decoder_start_token_id", None) for one in known]
        named += [getattr(one, "bos_token_id", None) for one in known]
        start = (next(id for id in named if id is not None),)
    elif getattr(processor, "chat_template", None):
        turn = {"role": "user", "content": [{"type": "image"}]}
        prompt = processor.apply_chat_template([turn], add_generation_prompt=True)
        if tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:  # it would be there twice
            prompt = prompt.removeprefix(tokenizer.bos_token)
    else:
        prompt = str(getattr(processor, "image_token", ""))
    vision = getattr(config, "vision_config", None) or getattr(config, "encoder", None)
    mode = "L" if getattr(vision, "num_channels", 3) == 1 else "RGB"
    S_vision = vision_parameters(network)
    found = Captioner(processor, tokenizer, prompt, start, mode, S_vision)
    inputs = found.probe(network)
    if start:
        seen = network(**inputs, use_cache=False).encoder_last_hidden_state
        return replace(found, places=seen.shape[1])
    places = inputs["input_ids"].shape[1] - len(tokenizer(PROBE_TEXT)["input_ids"])
    return replace(found, places=places)


@torch.no_grad()
def caption_states(
    model: LoadedModel, batch: Batch, corpus: Corpus
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """As `states_of`, of captions. Raises InputError if they do not fit with their pictures."""
    captioner, network = model.captioner, model.model
    documents = batch.documents[np.unique(batch.rows, return_index=True)[1]].tolist()
    texts = [corpus.documents[one] for one in documents]
    inputs = captioner.inputs([corpus.pictures[one] for one in documents], texts)
    rows, columns = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
    length = batch.input_ids.shape[1] - 1
    if captioner.start:
        inputs["decoder_input_ids"] = torch.from_numpy(batch.input_ids[:, :length])
    else:
        # In the processor's ids a picture has more places than in the tokenizer's.
        ids, plain = inputs["input_ids"], captioner.tokenizer([captioner.prompt + t for t in texts])
        wider = inputs["attention_mask"].sum(1) - torch.tensor([*map(len, plain["input_ids"])])
        columns = columns + wider[rows]
        if not ids[rows, columns + 1].equal(torch.from_numpy(batch.targets)):
            raise InputError(f"{model.name}: its processor does not put the caption last, as it is")
        length = int(columns.max()) + 1  # what follows the last scored token changes nothing
        for name, value in inputs.items():
            if value.shape[:2] == ids.shape and not value.is_floating_point():
                inputs[name] = value[:, :length]
    if length > (model.context or length):
        over = f"{length:,} tokens with the picture's, and the context holds {model.context:,}"
        raise InputError(f"{model.name}: {over}; cut captions shorter (--max-length)")
    seen: list[Tensor] = []

    def keep(_: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        seen.append(given[0])
        return (given[0][:, -1:],)  # the logits of one place, and never all

    layer = nn.Identity() if model.head is None else output_layer(network)
    with layer.register_forward_pre_hook(keep):
        logits = network(**inputs.to(model.device, network.dtype), use_cache=False).logits
    states = logits if model.head is None else seen[0]
    columns = columns + states.shape[1] - length  # some put the picture's places before the text's
    return states, (rows.to(states.device), columns.to(states.device))
