"""What a pocket model is trained on, and towards: token rows, loss, optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from rbpkit.errors import InputError
from rbpkit.pocket.documents import CORPORA, load_pocket_documents
from rbpkit.pocket.ladders import CONTEXT, END_OF_TEXT, Recipe, load_tokenizer
from rbpkit.pocket.scan import training_scan

ORDER_SEED = 42
HEAD_ROWS = 128  # rows of a block of the loss: its logits stay in a core's cache


@lru_cache(maxsize=2)
def token_stream(split: str) -> Tensor:
    """All documents of a split, of the four corpora together, as one stream of token ids.

    The documents are shuffled with a fixed seed, each is followed by the end-of-text token.
    Returns int64 of shape (tokens,). Raises InputError where the installed packages lack some.
    """
    texts: list[str] = []
    for corpus in CORPORA:
        loaded = load_pocket_documents(corpus, split)
        if loaded.missing:
            raise InputError(
                f"{loaded.missing} documents of pocket:{corpus} ({split}) are not in the installed"
                " packages: install the versions of constraints.txt"
            )
        texts += loaded.documents
    return stream_of(texts, load_tokenizer())


def stream_of(texts: Sequence[str], tokenizer: PreTrainedTokenizerFast) -> Tensor:
    """Token ids of texts, int64: shuffled with a fixed seed, each followed by the end of text."""
    end = tokenizer.convert_tokens_to_ids(END_OF_TEXT)
    order = np.random.default_rng(ORDER_SEED).permutation(len(texts))
    encoded = tokenizer([texts[i] for i in order], add_special_tokens=False, verbose=False)
    ended = [np.array([*ids, end], dtype=np.int64) for ids in encoded["input_ids"]]
    return torch.from_numpy(np.concatenate(ended))


def rows_of(stream: Tensor, first: int, count: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets, both (count, CONTEXT), of rows first, first + 1, ... of a stream."""
    start, length = first * CONTEXT, count * CONTEXT
    inputs = stream[start : start + length].view(count, CONTEXT)
    return inputs, stream[start + 1 : start + length + 1].view(count, CONTEXT)


class HeadLoss(torch.autograd.Function):
    """Mean negative log-likelihood of targets under softmax(hidden @ weight.T), in nats.

    hidden (T, d), weight (V, d), targets (T,). Done by blocks of rows with the gradients
    computed at once: the V-wide part is most of a pocket model's work, and T x V numbers would
    leave the cache between each of the passes over them.
    """

    @staticmethod
    def forward(ctx, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        tokens = len(hidden)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros(())
        for start in range(0, tokens, HEAD_ROWS):
            block = slice(start, start + HEAD_ROWS)
            h, t = hidden[block], targets[block, None]
            log_p = torch.log_softmax(h @ weight.T, 1)
            total -= log_p.gather(1, t).sum()
            p = log_p.exp_()
            p.scatter_add_(1, t, p.new_full(t.shape, -1.0))
            torch.mm(p, weight, out=grad_hidden[block])
            grad_weight.addmm_(p.T, h)
        ctx.save_for_backward(grad_hidden.div_(tokens), grad_weight.div_(tokens))
        return total / tokens

    @staticmethod
    def backward(ctx, grad: Tensor):
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_weight, None


def mean_nll(model: PreTrainedModel, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood (nats) of a batch, differentiable."""
    with training_scan(model):
        hidden = model.base_model(input_ids=inputs, use_cache=False).last_hidden_state
    head = model.get_output_embeddings().weight
    return HeadLoss.apply(hidden.flatten(0, 1), head, targets.flatten())


@torch.no_grad()
def validation_ce(model: PreTrainedModel, stream: Tensor, batch_rows: int = 16) -> float:
    """Mean negative log-likelihood (nats) over the whole rows of a token stream."""
    rows = (len(stream) - 1) // CONTEXT
    device = next(model.parameters()).device
    total = 0.0
    for first in range(0, rows, batch_rows):
        count = min(batch_rows, rows - first)
        inputs, targets = rows_of(stream, first, count)
        total += float(mean_nll(model, inputs.to(device), targets.to(device))) * count
    return total / rows


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices, not on biases, norms and the rates of a state's decay."""
    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.ndim > 1 and not name.endswith("A_log")]
    vectors = [p for name, p in named if p.ndim <= 1 or name.endswith("A_log")]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=recipe.betas, fused=True)
