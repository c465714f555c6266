"""Captions: what a captioner's own processor makes of pictures and texts.

Picture and text are one sequence (LLaVA and its kin), or a decoder looks at an encoder's picture.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoProcessor, PreTrainedModel

from rbpkit.encoding import PAD_ID, CaptionPrompt
from rbpkit.errors import InputError, reason
from rbpkit.files.architectures import vision_parameters
from rbpkit.files.pictures import Picture

_CAN_BE_READ = (
    "picture and text in one sequence, as LLaVA, or a decoder that looks at an encoder of pictures"
    " alone, as TrOCR"
)

PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"


@dataclass(frozen=True, eq=False)
class Captioner(CaptionPrompt):
    """How a model reads pictures: what it is given before each caption, and by which processor.

    prompt: a user's turn of the chat template with nothing but a picture, or else the picture's
        token.
    start, places: as `CaptionPrompt`.
    processor, tokenizer: the model's own.
    mode: of the pictures, RGB or L.
    S_vision: parameters outside the text decoder and its head, as `vision_parameters`.
    """

    processor: Any
    tokenizer: Any
    mode: str
    S_vision: int

    def inputs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Any:
        """What the processor makes of pictures and captions (a BatchFeature), padded on the right.

        An encoder-decoder's `decoder_input_ids` are left to the caller.
        """
        images = [picture.read().convert(self.mode) for picture in pictures]
        with reason(f"{pictures[0].where}: the processor does not take it"):
            if self.start:
                reader = getattr(self.processor, "image_processor", self.processor)
                return reader(images=images, return_tensors="pt")
            return self.processor(
                images=[[image] for image in images],  # a list for each text
                text=[self.prompt + text for text in texts],
                return_tensors="pt",
                padding=True,
                padding_side="right",
            )

    def probe(self, network: PreTrainedModel) -> Any:
        """Inputs of a text and a blank picture, twice; in the second row another last token."""
        blank = Picture("a blank picture", Image.new("RGB", (64, 64)))
        inputs = self.inputs([blank, blank], [PROBE_TEXT, PROBE_TEXT])
        name = "input_ids"
        if self.start:
            name = "decoder_input_ids"
            ids = [*self.start, *self.tokenizer(PROBE_TEXT)["input_ids"]]
            inputs[name] = torch.tensor([ids, ids])
        inputs[name][1, -1] = inputs[name][1, -2]  # the last two tokens of the text differ
        return inputs.to(network.device, network.dtype)

    def padding_probe(self, network: PreTrainedModel) -> tuple[Any, Any]:
        """Inputs of a text and a blank picture: alone; and in the first row of two, padded."""
        blank = Picture("a blank picture", Image.new("RGB", (64, 64)))
        texts = [PROBE_TEXT, PROBE_TEXT + PROBE_TEXT]
        alone = self.inputs([blank], texts[:1])
        padded = self.inputs([blank, blank], texts)
        if self.start:
            ids = torch.tensor([[*self.start, *self.tokenizer(PROBE_TEXT)["input_ids"]]])
            more = torch.full_like(ids, PAD_ID)
            alone["decoder_input_ids"] = ids
            padded["decoder_input_ids"] = torch.cat((ids, more), dim=1).repeat(2, 1)
        return alone.to(network.device, network.dtype), padded.to(network.device, network.dtype)


def load_processor(folder: Path, options: dict[str, Any]) -> Any:
    """The processor of a model's folder; that of the pictures if there is no joint one."""
    with reason(f"{folder}: the processor cannot be loaded"):
        processor = AutoProcessor.from_pretrained(folder, **options)
        if hasattr(processor, "image_processor"):
            return processor
        return AutoImageProcessor.from_pretrained(folder, **options)


@torch.no_grad()
def opened_captioner(network: PreTrainedModel, processor: Any, tokenizer: Any) -> Captioner:
    """How this network reads pictures with this processor and this tokenizer in it."""
    config = network.config
    if hasattr(processor, "tokenizer"):
        processor = _with_tokenizer(processor, tokenizer)
    start: tuple[int, ...] = ()
    prompt = ""
    if config.is_encoder_decoder:
        start = (_decoder_start(network),)
    elif getattr(processor, "chat_template", None):
        prompt = _chat_prompt(processor, tokenizer)
    else:
        prompt = str(getattr(processor, "image_token", ""))
    vision = getattr(config, "vision_config", None) or getattr(config, "encoder", None)
    one_channel = getattr(vision, "num_channels", 3) == 1  # reads grey pictures
    captioner = Captioner(
        prompt=prompt,
        start=start,
        places=0,  # the probe shows how many
        processor=processor,
        tokenizer=tokenizer,
        mode="L" if one_channel else "RGB",
        S_vision=vision_parameters(network),
    )
    with reason(f"{config.model_type}: not a captioner that can be read ({_CAN_BE_READ})"):
        inputs = captioner.probe(network)
        outputs = network(**inputs, use_cache=False)
    if start:
        return replace(captioner, places=outputs.encoder_last_hidden_state.shape[1])
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


def _decoder_start(network: PreTrainedModel) -> int:
    """The id that a decoder begins with: the first one that its configs name."""
    config = network.config
    configs = (config, network.generation_config, config.get_text_config(decoder=True))
    for name in ("decoder_start_token_id", "bos_token_id"):
        for place in configs:
            token_id = getattr(place, name, None)
            if token_id is not None:
                return token_id
    raise InputError(f"{config.model_type}: no decoder_start_token_id in its config; add it")


def _chat_prompt(processor: Any, tokenizer: Any) -> str:
    """A user's turn with nothing but a picture, as the chat template writes it."""
    turn = {"role": "user", "content": [{"type": "image"}]}
    prompt = processor.apply_chat_template([turn], add_generation_prompt=True)
    # If the tokenizer puts the first token itself, it would be there twice.
    if tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:
        prompt = prompt.removeprefix(tokenizer.bos_token)
    return prompt
