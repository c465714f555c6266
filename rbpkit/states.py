"""One forward pass: a batch of documents or captions -> the states at its scored tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rbpkit.corpora import Corpus
from rbpkit.encoding import Batch
from rbpkit.errors import InputError
from rbpkit.files.architectures import output_layer
from rbpkit.models import LoadedModel

Places = tuple[Tensor, Tensor]
"""(rows, columns), (T,) each: where the states of the scored tokens are."""


def states_of(
    model: LoadedModel, batch: Batch, captions: Corpus | None = None
) -> tuple[Tensor, Places]:
    """A forward pass -> states, and the (rows, columns) of the T scored tokens in them.

    captions: the corpus, if it has pictures.

    The states are hidden (B, L, d), or logits (B, L, V) if the model has no `head`. Both results
    are on one device: of a model on several, the last layer's. Raises InputError if captions do not
    fit with their pictures.
    """
    if captions is not None:
        return _caption_states(model, batch, captions)
    # Sent before the pass, not after it: a copy from the host waits for the GPU's pending work.
    ids = torch.from_numpy(batch.input_ids).to(model.device)
    rows = torch.from_numpy(batch.rows).to(model.device)
    columns = torch.from_numpy(batch.columns).to(model.device)
    states = model.logits(ids) if model.head is None else model.hidden(ids)
    return states, (rows.to(states.device), columns.to(states.device))


@torch.no_grad()
def _caption_states(model: LoadedModel, batch: Batch, corpus: Corpus) -> tuple[Tensor, Places]:
    captioner, pictures = model.captioner, corpus.pictures
    assert captioner is not None and pictures is not None
    _, first_of_row = np.unique(batch.rows, return_index=True)
    documents = batch.documents[first_of_row].tolist()
    texts = [corpus.documents[number] for number in documents]
    inputs = captioner.inputs([pictures[number] for number in documents], texts)
    rows, columns = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
    if captioner.start:
        length = batch.input_ids.shape[1] - 1  # nothing is predicted from the last token
        inputs["decoder_input_ids"] = torch.from_numpy(batch.input_ids[:, :length])
    else:
        # In the processor's ids a picture has more places than in the tokenizer's.
        ids_alone = captioner.tokenizer([captioner.prompt + text for text in texts])["input_ids"]
        length_alone = torch.tensor([len(ids) for ids in ids_alone])
        picture_places = inputs["attention_mask"].sum(1) - length_alone
        columns = columns + picture_places[rows]
        if not inputs["input_ids"][rows, columns + 1].equal(torch.from_numpy(batch.targets)):
            raise InputError(f"{model.name}: its processor does not put the caption last, as it is")
        length = int(columns.max()) + 1  # what follows the last scored token changes nothing
        _cut(inputs, length)
    if model.context is not None and length > model.context:
        raise InputError(
            f"{model.name}: {length:,} tokens with the picture's, and the context holds"
            f" {model.context:,}; cut captions shorter (--max-length)"
        )
    states = _last_states(model, inputs)
    columns = columns + states.shape[1] - length  # some put the picture's places before the text's
    return states, (rows.to(states.device), columns.to(states.device))


def _cut(inputs: Any, length: int) -> None:
    """Cut the inputs that have one entry for each token at this length."""
    shape = inputs["input_ids"].shape
    for name, value in inputs.items():
        if value.shape[:2] == shape and not value.is_floating_point():
            inputs[name] = value[:, :length]


def _last_states(model: LoadedModel, inputs: Any) -> Tensor:
    """The states that enter the output head, or the logits if the model has no `head`."""
    network = model.model
    inputs = inputs.to(model.device, network.dtype)
    layer = output_layer(network)
    if model.head is None or layer is None:
        return network(**inputs, use_cache=False).logits
    given_states: list[Tensor] = []

    def keep(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        given_states.append(given[0])
        return (given[0][:, -1:],)  # the logits of one place, and never all

    with layer.register_forward_pre_hook(keep):
        network(**inputs, use_cache=False)
    return given_states[0]
