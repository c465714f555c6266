"""Captions: what a captioner's own processor makes of pictures and texts, and its states.

A model may have picture and text in one sequence (LLaVA and its kin), or a decoder that looks at an
encoder's picture. Either way only the tokens of the caption are scored.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from transformers import PreTrainedModel

from rbpkit.encoding import PAD_ID, Batch
from rbpkit.errors import InputError, reason
from rbpkit.files.pictures import Picture

if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.models import LoadedModel

PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"


@dataclass(frozen=True, eq=False)
class Captioner:
    """How a model reads pictures.

    processor: the model's own, with its `tokenizer`. prompt: the text before each caption, which
    stands for the picture: a user's turn of the chat template with nothing but the picture, or the
    picture's token. decoder_start: the first input of the decoder, None if picture and text are one
    sequence. mode: of the pictures, "RGB" or "L". picture_tokens: how many places the picture
    takes (of a model that takes more for a larger picture, those of a small one).
    """

    processor: Any
    tokenizer: Any
    prompt: str
    decoder_start: int | None
    mode: str
    picture_tokens: int = 0

    def inputs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> dict[str, Tensor]:
        """What the model takes for pictures and captions: padded on the right, on the CPU.

        An encoder-decoder's `decoder_input_ids` are left to the caller.
        """
        images = [picture.read().convert(self.mode) for picture in pictures]
        with reason(f"{pictures[0].where}: the processor does not take its batch"):
            if self.decoder_start is not None:
                reader = getattr(self.processor, "image_processor", self.processor)
                return dict(reader(images=images, return_tensors="pt"))
            texts = [self.prompt + text for text in texts]
            padding = {"padding": True, "padding_side": "right"}
            nested = [[image] for image in images]
            return dict(self.processor(images=nested, text=texts, return_tensors="pt", **padding))

    def probe(self, device: Any, dtype: torch.dtype) -> dict[str, Tensor]:
        """Inputs for a text and a blank picture, twice; in the second row another last token."""
        blank = Picture("a blank picture", Image.new("RGB", (64, 64)))
        inputs, ids = self.inputs([blank] * 2, [PROBE_TEXT] * 2), "input_ids"
        if self.decoder_start is not None:
            ids, tokens = "decoder_input_ids", self.tokenizer(PROBE_TEXT)["input_ids"]
            inputs[ids] = torch.tensor([[self.decoder_start, *tokens]] * 2)
        inputs[ids][1, -1] = inputs[ids][1, -2]
        return moved(inputs, device, dtype)


def moved(inputs: dict[str, Tensor], device: Any, dtype: torch.dtype) -> dict[str, Tensor]:
    """The inputs on a device, and what is not whole numbers in the model's dtype."""
    return {k: v.to(device, dtype if v.is_floating_point() else None) for k, v in inputs.items()}


def opened_captioner(network: PreTrainedModel, processor: Any, tokenizer: Any) -> Captioner:
    """How this network reads pictures with this processor."""
    config, start, prompt = network.config, None, ""
    if hasattr(processor, "tokenizer"):  # the one whose ids are scored, able to pad
        processor = copy.copy(processor)
        processor.tokenizer = copy.deepcopy(tokenizer)
        if tokenizer.pad_token is None:
            pad = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(PAD_ID)
            processor.tokenizer.pad_token = pad
    if config.is_encoder_decoder:
        known = (network.generation_config, config, config.get_text_config(decoder=True))
        names = ("decoder_start_token_id", "bos_token_id")
        found = [getattr(one, name, None) for name in names for one in known]
        start = next((id for id in found if id is not None), None)
        if start is None:
            raise InputError(f"{type(network).__name__}: its config has no decoder_start_token_id")
    elif getattr(processor, "chat_template", None):
        turn = {"role": "user", "content": [{"type": "image"}]}
        prompt = processor.apply_chat_template([turn], add_generation_prompt=True)
        if tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:
            prompt = prompt.removeprefix(tokenizer.bos_token)
    else:
        prompt = str(getattr(processor, "image_token", None) or "")
    vision = getattr(config, "vision_config", None) or getattr(config, "encoder", None)
    mode = "L" if getattr(vision, "num_channels", 3) == 1 else "RGB"
    found = Captioner(processor, tokenizer, prompt, start, mode)
    inputs = found.probe(network.device, network.dtype)
    if start is None:
        places = inputs["input_ids"].shape[1] - len(tokenizer(prompt + PROBE_TEXT)["input_ids"])
    else:
        with torch.no_grad():
            places = network(**inputs, use_cache=False).encoder_last_hidden_state.shape[1]
    return replace(found, picture_tokens=places)


def caption_states(
    model: LoadedModel, batch: Batch, corpus: Corpus
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """As `states_of`: a pass over pictures and captions, and where the scored tokens are."""
    captioner = model.captioner
    documents = batch.documents[np.unique(batch.rows, return_index=True)[1]].tolist()
    texts = [corpus.documents[one] for one in documents]
    inputs = captioner.inputs([corpus.pictures[one] for one in documents], texts)
    rows, columns = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
    if captioner.decoder_start is not None:
        inputs["decoder_input_ids"] = ids = torch.from_numpy(batch.input_ids[:, :-1])
    else:
        # In the processor's ids the picture has more places than in the tokenizer's.
        ids, plain = inputs["input_ids"], captioner.tokenizer([captioner.prompt + t for t in texts])
        wider = inputs["attention_mask"].sum(1) - torch.tensor([*map(len, plain["input_ids"])])
        columns = columns + wider[rows]
        length = int(columns.max()) + 1
        if not ids[rows, columns + 1].equal(torch.from_numpy(batch.targets)):
            raise InputError(f"{model.name}: its processor does not put the caption last, as it is")
        for name, value in inputs.items():  # what follows the last scored token changes nothing
            if value.shape[:2] == ids.shape and not value.is_floating_point():
                inputs[name] = value[:, :length]
        ids = ids[:, :length]
    states = model.caption_states(inputs, ids)
    # Some models put the picture's own places before the text's.
    return states, (
        rows.to(states.device),
        (columns + states.shape[1] - ids.shape[1]).to(states.device),
    )
