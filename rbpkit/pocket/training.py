"""Training a pocket model: resumable, and bit for bit the same at a fixed thread count.

A run lives in one folder: `log.csv` (loss curve), `checkpoint.safetensors` (weights, optimizer
state, step) and, when it is done, `model/` in hub layout with fp16 weights and a card.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from rbpkit.errors import InputError
from rbpkit.files.libraries import quiet
from rbpkit.models import torch_device
from rbpkit.pocket.configs import initial_model
from rbpkit.pocket.ladders import CONTEXT, Recipe, Run, Shape, load_tokenizer
from rbpkit.pocket.objective import (
    make_optimizer,
    mean_nll,
    rows_of,
    token_stream,
    validation_ce,
)
from rbpkit.pocket.training_state import load_checkpoint, replace_file, run_key, save_checkpoint

LOG_EVERY = 20
CHECKPOINT_SECONDS = 60.0
VALIDATIONS = 8
LOG_COLUMNS = ("step", "tokens", "rate", "loss", "valid_ce", "tokens_per_second", "seconds")


@dataclass(frozen=True)
class Progress:
    """What a run tells whoever watches it, every LOG_EVERY steps."""

    step: int
    steps: int
    loss: float
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class TrainedModel:
    """A finished run: its folder, the validation CE (nats) of the fp16 weights, its time."""

    folder: Path
    valid_ce: float
    train_loss: float
    seconds: float


@dataclass(frozen=True)
class Text:
    """What to train on in place of the shipped text: two token streams and their tokenizer."""

    train: Tensor
    valid: Tensor
    tokenizer: PreTrainedTokenizerFast


class _Log:
    """The run's CSV; reopened at a checkpoint's step it forgets what came after."""

    def __init__(self, path: Path, step: int):
        rows = []
        if path.is_file() and step:
            with open(path, newline="") as handle:
                rows = [row for row in csv.DictReader(handle) if int(row["step"]) <= step]

        def write_kept(temporary: Path) -> None:
            with open(temporary, "w", newline="") as handle:
                writer = csv.DictWriter(handle, LOG_COLUMNS)
                writer.writeheader()
                writer.writerows(rows)

        replace_file(path, write_kept)
        self._handle = open(path, "a", newline="")
        self._writer = csv.DictWriter(self._handle, LOG_COLUMNS)

    def write(self, **row: object) -> None:
        self._writer.writerow(row)
        self._handle.flush()

    def close(self) -> None:
        self._handle.close()


def train(
    family: str,
    shape: Shape,
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    watch: Callable[[Progress], None] | None = None,
    text: Text | None = None,
) -> TrainedModel:
    """Train one pocket model into `folder`, going on from its last checkpoint if there is one.

    Sets torch's thread count and deterministic algorithms for the process: the weights depend on
    them.
    Raises InputError for a device that is not here, a text shorter than the recipe asks, a
    recipe shorter than a step and a checkpoint that is damaged or of another recipe.
    """
    if recipe.steps < 1:
        raise InputError(
            f"{recipe.tokens:,} tokens are less than one step of {recipe.batch_rows * CONTEXT:,}"
        )
    device = str(torch_device(device))  # "auto" is one device here
    torch.set_num_threads(recipe.threads)
    torch.use_deterministic_algorithms(device == "cpu")
    if text is None:
        text = Text(token_stream("train"), token_stream("valid"), load_tokenizer())
    stream, valid = text.train, text.valid
    needed = recipe.steps * recipe.batch_rows * CONTEXT + 1
    if len(stream) < needed:
        raise InputError(f"the training text has {len(stream):,} tokens, {needed:,} are asked for")

    folder.mkdir(parents=True, exist_ok=True)
    model = initial_model(family, shape, recipe.seed).to(device)
    optimizer = make_optimizer(model, recipe)
    key = run_key(family, shape, recipe, stream, device)
    checkpoint = folder / "checkpoint.safetensors"
    step, before = 0, 0.0
    if checkpoint.is_file():
        facts = load_checkpoint(checkpoint, model, optimizer, key)
        step, before = int(facts["step"]), float(facts["seconds"])
    log = _Log(folder / "log.csv", step)
    start = saved = time.perf_counter()
    first_step, losses = step, []
    while step < recipe.steps:
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate_at(step, shape.width)
        inputs, targets = rows_of(stream, step * recipe.batch_rows, recipe.batch_rows)
        loss = mean_nll(model, inputs.to(device), targets.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        step += 1
        now = time.perf_counter()
        last = step == recipe.steps
        if step % LOG_EVERY == 0 or last:
            seconds = before + now - start
            speed = (step - first_step) * recipe.batch_rows * CONTEXT / (now - start)
            mean = float(torch.stack(losses).mean())
            if not math.isfinite(mean):
                raise InputError(f"training diverged at step {step}: lower the rate of {recipe}")
            losses.clear()
            due = last or step // LOG_EVERY % max(1, recipe.steps // LOG_EVERY // VALIDATIONS) == 0
            log.write(
                step=step,
                tokens=step * recipe.batch_rows * CONTEXT,
                rate=f"{recipe.rate_at(step - 1, shape.width):.6g}",
                loss=f"{mean:.5f}",
                valid_ce=f"{validation_ce(model, valid):.5f}" if due else "",
                tokens_per_second=f"{speed:.0f}",
                seconds=f"{seconds:.1f}",
            )
            if watch:
                left = (recipe.steps - step) * recipe.batch_rows * CONTEXT / speed
                watch(Progress(step, recipe.steps, mean, speed, left))
            # Only at a logged step, so that a resumed run's log has no torn average.
            if now - saved > CHECKPOINT_SECONDS or last:
                facts = {"key": key, "step": str(step), "seconds": f"{seconds:.1f}"}
                save_checkpoint(checkpoint, model, optimizer, {**facts, "loss": f"{mean:.5f}"})
                saved = now
    log.close()
    return _finish(model, text, folder, checkpoint)


def _save_half(
    model: PreTrainedModel, folder: Path, tokenizer: PreTrainedTokenizerFast
) -> PreTrainedModel:
    """Save the weights rounded to fp16; return the model holding the rounded weights in fp32."""
    half = copy.deepcopy(model).to("cpu").half()
    with quiet():
        half.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return half.float()


def _finish(model: PreTrainedModel, text: Text, folder: Path, checkpoint: Path) -> TrainedModel:
    with safe_open(checkpoint, framework="pt") as file:
        facts = file.metadata()
    rounded = _save_half(model, folder / "model", text.tokenizer)
    result = TrainedModel(
        folder=folder / "model",
        valid_ce=validation_ce(rounded, text.valid),
        train_loss=float(facts.get("loss", "nan")),
        seconds=float(facts["seconds"]),
    )
    text = json.dumps({**asdict(result), "folder": "model", "key": json.loads(facts["key"])})
    replace_file(folder / "result.json", lambda p: p.write_text(text))
    return result


def train_runs(
    runs: Sequence[Run],
    out: Path,
    *,
    device: str = "cpu",
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> list[TrainedModel]:
    """Train models into `out`/NAME, one after the other.

    A finished run is not trained again, an interrupted one goes on. `say` gets a line a model;
    progress shows a bar with loss, tokens/s and time left on standard error.
    """
    trained = []
    for run in runs:
        bar_of = {"total": run.recipe.steps, "desc": run.name, "unit": " steps"}
        with tqdm(**bar_of, disable=not progress) as bar:

            def watch(now: Progress, bar: tqdm = bar) -> None:
                speed = f"{now.tokens_per_second:,.0f}"
                bar.set_postfix(loss=f"{now.loss:.3f}", tokens_per_s=speed, refresh=False)
                bar.update(now.step - bar.n)

            one = train(
                run.family,
                run.shape,
                run.recipe,
                out / run.name,
                device=device,
                watch=watch,
            )
        minutes = one.seconds / 60
        say(f"{run.name}: validation CE {one.valid_ce:.4f} nats, {minutes:.1f} min, {one.folder}")
        trained.append(one)
    return trained
