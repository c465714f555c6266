"""Training a pocket model: resumable, and bit for bit the same at a fixed thread count.

A run lives in one folder: `log.csv` (loss curve), `checkpoint.pt` (weights, optimizer state, step)
and, when it is done, `model/` in hub layout with fp16 weights and `result.json`.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

from rbpkit.errors import InputError, reason
from rbpkit.files.libraries import quiet
from rbpkit.files.writing import write_whole
from rbpkit.models import torch_device
from rbpkit_pocket.documents import CORPORA, load_pocket_documents
from rbpkit_pocket.families import END_OF_TEXT, POCKET_CONTEXT, Shape, initial_model, load_tokenizer
from rbpkit_pocket.recipes import Recipe, Run
from rbpkit_pocket.scan import training_scan

ORDER_SEED = 42
HEAD_ROWS = 128  # rows of a block of the loss: its logits stay in a core's cache
LOG_EVERY = 20
CHECKPOINT_SECONDS = 60.0
VALIDATIONS = 8


# --- tokens and loss -------------------------------------------------------------------------


@lru_cache(maxsize=2)
def token_stream(split: str) -> Tensor:
    """All documents of a split, of the four corpora together, as one stream of token ids.

    The documents are shuffled with a fixed seed; the end-of-text token follows each of them.
    Returns int64 of shape (tokens,). Raises InputError if the installed packages lack some.
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
    tokenizer = load_tokenizer()
    end = tokenizer.convert_tokens_to_ids(END_OF_TEXT)
    order = np.random.default_rng(ORDER_SEED).permutation(len(texts))
    encoded = tokenizer([texts[i] for i in order], add_special_tokens=False, verbose=False)
    ended = [np.array([*ids, end], dtype=np.int64) for ids in encoded["input_ids"]]
    return torch.from_numpy(np.concatenate(ended))


def rows_of(stream: Tensor, first: int, count: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of rows first, first + 1, ... of a stream: (count, 256) each."""
    start, length = first * POCKET_CONTEXT, count * POCKET_CONTEXT
    inputs = stream[start : start + length].view(count, POCKET_CONTEXT)
    return inputs, stream[start + 1 : start + length + 1].view(count, POCKET_CONTEXT)


class HeadLoss(torch.autograd.Function):
    """Mean cross-entropy of softmax(hidden @ weight.T) against the targets, in nats.

    hidden (T, d), weight (V, d), targets (T,). The target distribution has 1 - smoothing on the
    target and smoothing spread evenly over all V tokens. Goes by blocks of rows and computes the
    gradients at once: the V-wide part is most of a pocket model's work, and T x V numbers would
    leave the cache between the passes over them.
    """

    @staticmethod
    def forward(ctx, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        tokens, V = len(hidden), len(weight)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros(())
        for start in range(0, tokens, HEAD_ROWS):
            block = slice(start, start + HEAD_ROWS)
            h, t = hidden[block], targets[block, None]
            log_p = torch.log_softmax(h @ weight.T, 1)
            total -= (1 - smoothing) * log_p.gather(1, t).sum()
            if smoothing:
                total -= smoothing / V * log_p.sum()
            p = log_p.exp_()
            p.scatter_add_(1, t, p.new_full(t.shape, smoothing - 1))
            if smoothing:
                p -= smoothing / V
            torch.mm(p, weight, out=grad_hidden[block])
            grad_weight.addmm_(p.T, h)
        ctx.save_for_backward(grad_hidden.div_(tokens), grad_weight.div_(tokens))
        return total / tokens

    @staticmethod
    def backward(ctx, grad: Tensor):
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_weight, None, None


def mean_nll(
    model: PreTrainedModel, inputs: Tensor, targets: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Mean negative log-likelihood (nats) of a batch, differentiable; smoothed as in `HeadLoss`."""
    with training_scan(model):
        hidden = model.base_model(input_ids=inputs, use_cache=False).last_hidden_state
    head = model.get_output_embeddings().weight
    return HeadLoss.apply(hidden.flatten(0, 1), head, targets.flatten(), smoothing)


@torch.no_grad()
def validation_ce(model: PreTrainedModel, stream: Tensor, batch_rows: int = 16) -> float:
    """Mean negative log-likelihood (nats) over the whole rows of a token stream."""
    rows = (len(stream) - 1) // POCKET_CONTEXT
    total = 0.0
    for first in range(0, rows, batch_rows):
        count = min(batch_rows, rows - first)
        inputs, targets = rows_of(stream, first, count)
        total += float(mean_nll(model, inputs.to(model.device), targets.to(model.device))) * count
    return total / rows


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices, not on biases, norms and the rates of a state's decay."""
    groups = {True: [], False: []}
    for name, parameter in model.named_parameters():
        groups[parameter.ndim > 1 and not name.endswith("A_log")].append(parameter)
    decayed = {"params": groups[True], "weight_decay": recipe.weight_decay}
    others = {"params": groups[False], "weight_decay": 0.0}
    return torch.optim.AdamW([decayed, others], lr=0.0, betas=recipe.betas, fused=True)


# --- the run ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainedModel:
    """A finished run: its model's folder, the validation CE (nats) of the fp16 weights, seconds."""

    folder: Path
    valid_ce: float
    train_loss: float
    seconds: float


def train(
    family: str,
    shape: Shape,
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    watch: Callable[[dict], None] = lambda row: None,
) -> TrainedModel:
    """Train one pocket model into `folder`, going on from its last checkpoint if there is one.

    `watch` gets each row of the log. Sets torch's thread count and deterministic algorithms for the
    process, because the weights depend on them.

    Raises InputError for a device that is not here, a recipe shorter than a step or longer than
    the text, a loss that diverges, and a checkpoint that is damaged or of another recipe.
    """
    tokens_a_step = recipe.batch_rows * POCKET_CONTEXT
    if recipe.steps < 1:
        raise InputError(f"{recipe.tokens:,} tokens are less than one step of {tokens_a_step:,}")
    device = str(torch_device(device))  # "auto" is one device here
    torch.set_num_threads(recipe.threads)
    torch.use_deterministic_algorithms(device == "cpu")
    stream, valid = token_stream("train"), token_stream("valid")
    needed = recipe.steps * tokens_a_step + 1
    if len(stream) < needed:
        raise InputError(f"the training text has {len(stream):,} tokens, {needed:,} are asked for")

    # All that can change the weights, as JSON keeps it.
    key = {"family": family, **{n: v for n, v in asdict(shape).items() if v is not None}}
    key |= {**asdict(recipe), "torch": torch.__version__, "device": device}
    key["text"] = hashlib.sha256(stream.numpy().tobytes()).hexdigest()

    def loss(model: PreTrainedModel, step: int) -> Tensor:
        inputs, targets = rows_of(stream, step * recipe.batch_rows, recipe.batch_rows)
        return mean_nll(model, inputs.to(device), targets.to(device), recipe.smoothing)

    return run_steps(
        folder,
        key,
        recipe,
        shape.width,
        ("tokens", tokens_a_step),
        model=lambda: initial_model(family, shape, recipe.seed).to(device),
        loss=loss,
        valid=lambda model: validation_ce(model, valid),
        tokenizer=load_tokenizer(),
        watch=watch,
    )


def run_steps(
    folder: Path,
    key: dict,
    recipe: Recipe,
    width: int,
    a_step: tuple[str, int],
    *,
    model: Callable[[], PreTrainedModel],
    loss: Callable[[PreTrainedModel, int], Tensor],
    valid: Callable[[PreTrainedModel], float],
    tokenizer: PreTrainedTokenizerBase | ProcessorMixin,
    watch: Callable[[dict], None],
) -> TrainedModel:
    """The steps of a run, from its last checkpoint to its result; errors as `train`.

    key: all that can change the weights. a_step: what a step reads ("tokens") and how many of it.
    model: makes the untrained one. loss: of a step, from 0. valid: the validation CE. recipe: one,
    or what has the same `steps`, `rate_at` and settings of the optimizer.
    """
    key, (unit, count) = json.loads(json.dumps(key)), a_step
    result = folder / "result.json"
    if result.is_file():
        done = json.loads(result.read_text())
        if done.pop("key") == key:
            return TrainedModel(**{**done, "folder": folder / "model"})
    network = model()
    device = network.device
    optimizer = make_optimizer(network, recipe)
    step, before, rows = 0, 0.0, []
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.is_file():
        with reason(f"{checkpoint}: damaged; remove it and train again"):
            state = torch.load(checkpoint, map_location=device, weights_only=True)
            if state["key"] != key:
                raise InputError(
                    f"{checkpoint} was made by another recipe: remove it or train elsewhere"
                )
            network.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            step, before, rows = state["step"], state["seconds"], state["log"]
    start = saved = time.perf_counter()
    first_step, losses = step, []
    while step < recipe.steps:
        rate = recipe.rate_at(step, width)
        for group in optimizer.param_groups:
            group["lr"] = rate
        nll = loss(network, step)
        nll.backward()
        nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(nll.detach())
        step += 1
        last = step == recipe.steps
        if step % LOG_EVERY and not last:
            continue
        now = time.perf_counter()
        mean = float(torch.stack(losses).mean())
        losses.clear()
        if not math.isfinite(mean):
            raise InputError(f"training diverged at step {step}: lower the rate of {recipe}")
        due = last or step // LOG_EVERY % max(1, recipe.steps // LOG_EVERY // VALIDATIONS) == 0
        row = {
            "step": step,
            unit: step * count,
            "rate": f"{rate:.6g}",
            "loss": f"{mean:.5f}",
            "valid_ce": f"{valid(network):.5f}" if due else "",
            f"{unit}_per_second": f"{(step - first_step) * count / (now - start):.0f}",
            "seconds": f"{before + now - start:.1f}",
        }
        rows.append(row)
        write_whole(folder, {"log.csv": pd.DataFrame(rows).to_csv(index=False).encode()})
        watch(row)
        # Only at a logged step, so that no mean of the log is of part of its steps.
        if now - saved > CHECKPOINT_SECONDS or last:
            state = {"key": key, "step": step, "seconds": before + now - start, "log": rows}
            state |= {"model": network.state_dict(), "optimizer": optimizer.state_dict()}
            data = io.BytesIO()
            torch.save(state, data)
            write_whole(folder, {checkpoint.name: data.getvalue()})
            saved = now
    rounded = copy.deepcopy(network).to("cpu").half()
    with quiet():
        rounded.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    done = {
        "valid_ce": valid(rounded.float()),
        "train_loss": float(rows[-1]["loss"]),
        "seconds": float(rows[-1]["seconds"]),
    }
    text = json.dumps({"folder": "model", **done, "key": key})
    write_whole(folder, {"result.json": text.encode()})
    return TrainedModel(folder / "model", **done)


def train_runs(
    runs: Sequence[Run],
    out: Path,
    *,
    device: str = "cpu",
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> list[TrainedModel]:
    """Train models into `out`/NAME, one after the other.

    A finished run is not trained again; an interrupted one resumes. `say` gets a line for each
    model; `progress` shows a bar with loss and tokens/s on standard error.
    """
    trained = []
    for run in runs:
        with tqdm(
            total=run.recipe.steps, desc=run.name, unit=" steps", disable=not progress
        ) as bar:

            def watch(row: dict, bar: tqdm = bar) -> None:
                bar.set_postfix(loss=row["loss"], tokens_per_s=row["tokens_per_second"])
                bar.update(row["step"] - bar.n)

            one = train(
                run.family, run.shape, run.recipe, out / run.name, device=device, watch=watch
            )
        minutes = one.seconds / 60
        say(f"{run.name}: validation CE {one.valid_ce:.4f} nats, {minutes:.1f} min, {one.folder}")
        trained.append(one)
    return trained
