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
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

from rbpkit.errors import InputError, reason
from rbpkit.libraries import quiet, torch_device
from rbpkit.writing import write_whole
from rbpkit_pocket.documents import PACKAGE_CORPORA, load_pocket_documents
from rbpkit_pocket.families import END_OF_TEXT, POCKET_CONTEXT, Shape, initial_model, load_tokenizer
from rbpkit_pocket.recipes import Recipe, Run, Schedule
from rbpkit_pocket.scan import training_scan

ORDER_SEED = 42
HEAD_ROWS = 128  # rows of a block of the loss: its logits stay in a core's cache
LOG_EVERY = 20
DOCUMENTS_AT_ONCE = 1_000  # that become tokens
CHECKPOINT_SECONDS = 60.0
VALIDATIONS = 8


# --- tokens and loss -------------------------------------------------------------------------


@lru_cache(maxsize=3)
def token_stream(split: str, corpora: tuple[str, ...] = PACKAGE_CORPORA) -> Tensor:
    """All documents of a split as one stream of token ids, int64, each followed by its end.

    The documents of the corpora are shuffled together, with a fixed seed. A bar is shown on a
    terminal. Raises InputError if the installed packages lack some documents.
    """
    texts: list[str] = []
    for corpus in corpora:
        loaded = load_pocket_documents(corpus, split)
        if loaded.missing:
            raise InputError(
                f"{loaded.missing} documents of pocket:{corpus} ({split}) are not in the installed"
                " packages: install the versions of constraints.txt"
            )
        texts += loaded.documents
    order = np.random.default_rng(ORDER_SEED).permutation(len(texts))
    shuffled = [texts[i] for i in order]

    tokenizer = load_tokenizer()
    end = tokenizer.convert_tokens_to_ids(END_OF_TEXT)
    documents: list[np.ndarray] = []
    # Some at a time: all at once would need 5 GB.
    starts = range(0, len(shuffled), DOCUMENTS_AT_ONCE)
    for start in tqdm(starts, desc=f"{split} text into tokens", leave=False, disable=None):
        some = shuffled[start : start + DOCUMENTS_AT_ONCE]
        encoded = tokenizer(some, add_special_tokens=False, verbose=False)
        documents += [np.array([*ids, end], dtype=np.int64) for ids in encoded["input_ids"]]
    return torch.from_numpy(np.concatenate(documents))


def rows_of(stream: Tensor, first: int, count: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of rows first, first + 1, ... of a stream: (count, 256) each."""
    start, length = first * POCKET_CONTEXT, count * POCKET_CONTEXT
    inputs = stream[start : start + length]
    targets = stream[start + 1 : start + length + 1]
    return inputs.view(count, POCKET_CONTEXT), targets.view(count, POCKET_CONTEXT)


class HeadLoss(torch.autograd.Function):
    """Mean cross-entropy of softmax(hidden @ weight.T) against the targets, in nats.

    hidden (T, d), weight (V, d), targets (T,). The target distribution has 1 - smoothing on the
    target and smoothing spread evenly over all V tokens. Goes by blocks of rows and computes the
    gradients at once: the V-wide part is most of a pocket model's work, and T x V numbers would
    leave the cache between the passes over them.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float
    ) -> Tensor:
        tokens, V = len(hidden), len(weight)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros(())
        for start in range(0, tokens, HEAD_ROWS):
            rows = slice(start, start + HEAD_ROWS)
            target = targets[rows, None]
            log_p = torch.log_softmax(hidden[rows] @ weight.T, 1)
            # From here on everything is done in place: a second block would not fit in the cache.
            total -= (1 - smoothing) * log_p.gather(1, target).sum()
            if smoothing:
                total -= smoothing / V * log_p.sum()
            # The gradient of the loss with respect to the logits is p minus the target
            # distribution.
            grad_logits = log_p.exp_()
            grad_logits.scatter_add_(1, target, grad_logits.new_full(target.shape, smoothing - 1))
            if smoothing:
                grad_logits -= smoothing / V
            torch.mm(grad_logits, weight, out=grad_hidden[rows])
            grad_weight.addmm_(grad_logits.T, hidden[rows])
        ctx.save_for_backward(grad_hidden.div_(tokens), grad_weight.div_(tokens))
        return total / tokens

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
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
        nll = mean_nll(model, inputs.to(model.device), targets.to(model.device))
        total += float(nll) * count
    return total / rows


def make_optimizer(model: nn.Module, recipe: Schedule) -> torch.optim.AdamW:
    """AdamW, with weight decay on matrices only (not on biases, norms or Mamba's `A_log`)."""
    decayed: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        is_matrix = parameter.ndim > 1 and not name.endswith("A_log")
        (decayed if is_matrix else others).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": recipe.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=recipe.betas, fused=True)


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
    corpora: tuple[str, ...] = PACKAGE_CORPORA,
    keep_at: Sequence[int] = (),
    device: str = "cpu",
    watch: Callable[[dict], None] = lambda row: None,
) -> TrainedModel:
    """Train one pocket model into `folder`, going on from its last checkpoint if there is one.

    corpora: the mixture of texts that it reads.
    keep_at: after so many steps the model is kept as well, in half precision, as `folder`/step-N.
    watch: gets each row of the log.

    Sets torch's thread count and deterministic algorithms for the process, because the weights
    depend on them.

    Raises InputError for a device that is not here, a recipe shorter than a step or longer than
    the text, a loss that diverges, and a checkpoint that is damaged or of another recipe.
    """
    tokens_a_step = recipe.tokens_a_step
    if recipe.steps < 1:
        raise InputError(f"{recipe.tokens:,} tokens are less than one step of {tokens_a_step:,}")
    device = str(torch_device(device))  # "auto" is one device here
    torch.set_num_threads(recipe.threads)
    # A GPU has no deterministic program for some of these operations.
    torch.use_deterministic_algorithms(device == "cpu")
    stream, valid = token_stream("train", corpora), token_stream("valid")
    tokenizer = load_tokenizer()
    needed = recipe.steps * tokens_a_step + 1
    if len(stream) < needed:
        raise InputError(f"the training text has {len(stream):,} tokens, {needed:,} are asked for")

    def loss(model: PreTrainedModel, step: int) -> Tensor:
        if step in keep_at:
            _save(model, tokenizer, folder / f"step-{step}")
        inputs, targets = rows_of(stream, step * recipe.batch_rows, recipe.batch_rows)
        return mean_nll(model, inputs.to(device), targets.to(device), recipe.smoothing)

    # All that can change the weights. A field that a family does not use is left out, so that keys
    # of other families stay as they were before there was such a field.
    set_of_shape = {name: value for name, value in asdict(shape).items() if value is not None}
    key = {
        "family": family,
        **set_of_shape,
        **asdict(recipe),
        "torch": torch.__version__,
        "device": device,
        "text": hashlib.sha256(stream.numpy().tobytes()).hexdigest(),
    }

    def untrained() -> PreTrainedModel:
        model = initial_model(family, shape, recipe.seed)
        return model.to(device)  # type: ignore[arg-type]  # transformers' wrapper hides `self`

    return run_steps(
        folder,
        key,
        recipe,
        shape.width,
        ("tokens", tokens_a_step),
        model=untrained,
        loss=loss,
        valid=lambda model: validation_ce(model, valid),
        tokenizer=tokenizer,
        watch=watch,
    )


def run_steps(
    folder: Path,
    key: dict[str, Any],
    recipe: Schedule,
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

    - key: all that can change the weights.
    - a_step: what a step reads ("tokens") and how many of it.
    - model: makes the untrained one.
    - loss: of a step, from 0.
    - valid: the validation CE.
    """
    key = json.loads(json.dumps(key))  # as the files keep it: tuples become lists
    finished = _finished(folder, key)
    if finished is not None:
        return finished
    network = model()
    optimizer = make_optimizer(network, recipe)
    log = _resume(folder / "checkpoint.pt", key, network, optimizer)
    first_step, seconds_before = (log[-1]["step"], float(log[-1]["seconds"])) if log else (0, 0.0)
    unit, units_a_step = a_step
    began = saved = time.perf_counter()
    # Since the last row of the log. Tensors, because to read a number is to wait for the device.
    losses: list[Tensor] = []
    for steps in range(first_step + 1, recipe.steps + 1):
        rate = recipe.rate_at(steps - 1, width)
        losses.append(_take_step(loss(network, steps - 1), network, optimizer, rate, recipe.clip))
        is_last = steps == recipe.steps
        if steps % LOG_EVERY and not is_last:
            continue
        mean_loss = float(torch.stack(losses).mean())
        losses.clear()
        if not math.isfinite(mean_loss):
            raise InputError(f"training diverged at step {steps}: lower the rate of {recipe}")
        now = time.perf_counter()
        units_a_second = (steps - first_step) * units_a_step / (now - began)
        row = {
            "step": steps,
            unit: steps * units_a_step,
            "rate": f"{rate:.6g}",
            "loss": f"{mean_loss:.5f}",
            "valid_ce": f"{valid(network):.5f}" if _validates(steps, recipe.steps) else "",
            f"{unit}_per_second": f"{units_a_second:.0f}",
            "seconds": f"{seconds_before + now - began:.1f}",
        }
        log.append(row)
        write_whole(folder, {"log.csv": pd.DataFrame(log).to_csv(index=False).encode()})
        watch(row)
        # Only at a logged step, so that no mean of the log is of part of its steps.
        if now - saved > CHECKPOINT_SECONDS or is_last:
            _save_checkpoint(folder, key, network, optimizer, log)
            saved = now
    rounded = _save(network, tokenizer, folder / "model")
    # The CE is that of the weights as they ship, rounded to half precision.
    valid_ce, last_row = valid(rounded.float()), log[-1]
    numbers = (valid_ce, float(last_row["loss"]), float(last_row["seconds"]))
    trained = TrainedModel(folder / "model", *numbers)
    result = json.dumps({**asdict(trained), "folder": "model", "key": key})
    write_whole(folder, {"result.json": result.encode()})
    return trained


def _take_step(
    loss: Tensor, network: nn.Module, optimizer: torch.optim.Optimizer, rate: float, clip: float
) -> Tensor:
    """One step down the gradient of a loss, at a learning rate; returns the loss as it was."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()


def _validates(step: int, steps: int) -> bool:
    """Whether a logged step is validated: `VALIDATIONS` of them, evenly spread, and the last."""
    logged, every = step // LOG_EVERY, steps // LOG_EVERY // VALIDATIONS
    return step == steps or logged % max(1, every) == 0


def _save_checkpoint(
    folder: Path,
    key: dict[str, Any],
    network: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
    log: list[dict[str, Any]],
) -> None:
    """Write all that a run needs to go on from its last row of the log."""
    states = {"model": network.state_dict(), "optimizer": optimizer.state_dict()}
    data = io.BytesIO()
    torch.save({"key": key, "log": log, **states}, data)
    write_whole(folder, {"checkpoint.pt": data.getvalue()})


def _resume(
    checkpoint: Path,
    key: dict[str, Any],
    network: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
) -> list[dict[str, Any]]:
    """Go on from a run's last checkpoint, if it has one; returns the log so far."""
    if not checkpoint.is_file():
        return []
    with reason(f"{checkpoint}: damaged; remove it and train again"):
        state = torch.load(checkpoint, map_location=network.device, weights_only=True)
        if state["key"] != key:
            raise InputError(
                f"{checkpoint} was made by another recipe: remove it or train elsewhere"
            )
        network.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["log"]


def _finished(folder: Path, key: dict[str, Any]) -> TrainedModel | None:
    """The result of a run that is finished and has this key."""
    path = folder / "result.json"
    if not path.is_file():
        return None
    result = json.loads(path.read_text())
    if result.pop("key") != key:
        return None
    return TrainedModel(**{**result, "folder": folder / result["folder"]})


def _save(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | ProcessorMixin, folder: Path
) -> PreTrainedModel:
    """Write a model in half precision, in hub layout; returns it with the rounded weights."""
    rounded = copy.deepcopy(network).cpu().half()
    with quiet():
        rounded.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return rounded


def train_runs(
    runs: Sequence[Run],
    out: Path,
    *,
    device: str = "cpu",
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> list[TrainedModel]:
    """Train models into `out`/NAME, one after the other.

    A finished run is not trained again; an interrupted one resumes. `say` gets lines on what is to
    be done and what was done. A bar with loss, tokens/s and the time left goes to standard error,
    every 15 s without `progress`.
    """
    models = []
    for run in runs:
        steps, millions = run.recipe.steps, run.recipe.tokens / 1e6
        say(
            f"{run.name}: {steps:,} steps of training on {millions:g} million tokens. First the"
            " text becomes tokens, a minute or two, and then the time left is shown. Needs some"
            f" 2 GB of memory. Ctrl-C stops it, and the same command resumes."
        )
        seconds = 0.1 if progress else 15
        with tqdm(total=steps, desc=run.name, unit=" steps", mininterval=seconds) as bar:
            watch = partial(_show, bar)
            folder = out / run.name
            model = train(run.family, run.shape, run.recipe, folder, device=device, watch=watch)
        minutes = model.seconds / 60
        numbers = f"validation CE {model.valid_ce:.4f} nats, {minutes:.1f} min"
        say(f"{run.name}: {numbers}, {model.folder}")
        models.append(model)
    return models


def _show(bar: tqdm, row: dict[str, Any]) -> None:
    """Move a bar to a row of the log."""
    numbers = {"loss": row["loss"], "tokens_per_s": row["tokens_per_second"]}
    bar.set_postfix(numbers, refresh=False)
    bar.update(row["step"] - bar.n)
