"""`rbpkit bench`, `bench-batches`, `bench-dtypes`: speed, and what batch size and dtype change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rbpkit.cli.common import (
    AsJson,
    BatchTokens,
    CorpusName,
    Device,
    Dtype,
    Ks,
    MaxLength,
    Model,
    Threads,
    checked_ks,
    print_table,
    say,
)
from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.study.checks import MOST_THREADS, within

if TYPE_CHECKING:
    from rbpkit.tools.bench import Speed, StudyTime
    from rbpkit.tools.comparisons import SettingResult

SHAPES = ("pocket", "paper")
Documents = Annotated[int | None, typer.Option(help="How many to take, 0 for all.")]


def bench(
    model: Annotated[
        list[str] | None,
        typer.Option(help="Hub id or folder; with --shapes paper one of its 24; repeatable."),
    ] = None,
    shapes: Annotated[
        str | None,
        typer.Option(help="pocket: the shipped models; paper: its 24 shapes, random weights."),
    ] = None,
    device: Device = None,
    dtype: Dtype = "float32",
    tokens: Annotated[int, typer.Option(help="Random tokens that each model ranks.")] = 20_000,
    max_length: MaxLength = 512,
    batch_tokens: BatchTokens = 8192,
    rounds: Annotated[int, typer.Option(help="Runs of each kind; the median counts.")] = 3,
    threads: Threads = 0,
    predict: Annotated[
        str | None,
        typer.Option(
            help="From operations and bytes instead, nothing is run: A100, H100, H200, L4, RTX4090,"
            " or MATRIX,FP32,MEMORY (TFLOP/s, TFLOP/s, GB/s); cpu: beside what is measured here."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tokens a second with ranks, with the output head only, and with the body only.

    With --shapes paper also an estimate of the whole study: 24 models, 3 million tokens each.
    --predict gives both for a device that is not here; its --json goes to `plan --speeds` too.
    """
    within("--tokens", tokens, 1)
    within("--max-length", max_length, 2)
    within("--batch-tokens", batch_tokens, 1)
    within("--rounds", rounds, 1)
    within("--threads", threads, 0, MOST_THREADS)
    if shapes is not None and shapes not in SHAPES:
        raise InputError(f"--shapes {shapes!r} is not known; use {' or '.join(SHAPES)}")
    if shapes == "pocket" and model:
        raise InputError("--shapes pocket is all shipped models: leave out --model, or --shapes")

    from rbpkit.files.architectures import ARCHITECTURES
    from rbpkit.files.devices import SPREAD, torch_device
    from rbpkit.tools.bench import paper_speeds, study_time

    set_threads(threads)
    settings = {"tokens": tokens, "max_length": max_length, "rounds": rounds}
    settings["batch_tokens"] = batch_tokens
    if predict is not None:
        beside = predict == "cpu"
        if beside != (shapes == "pocket" or bool(model)) or (beside and dtype != "float32"):
            raise InputError(
                "--predict cpu needs models to measure, --shapes pocket or --model, in float32;"
                " another device is predicted for the paper's shapes: leave these out"
            )
        if beside:
            _print_beside(model, settings)
        else:
            _print_predicted(predict, dtype, max_length, batch_tokens, as_json)
        return
    place = torch_device(device)
    if shapes == "paper":
        if device == SPREAD:
            raise InputError("--shapes paper makes its models on one device: give --device cuda")
        names = tuple(model or ARCHITECTURES)
        found = paper_speeds(names, dtype=dtype, device=str(place), say=say, **settings)
    else:
        found = _loaded_speeds(model, dtype, device, settings)
    speeds = []
    for one in found:
        speeds.append(one)
        what = one.skipped or f"{one.with_ranks:,.0f} tokens/s with ranks"
        say(f"{one.model}: {'skipped, ' if one.skipped else ''}{what}")
    ran = [one for one in speeds if not one.skipped]
    study = study_time(speeds) if shapes == "paper" and ran else None
    if as_json:
        _print_json(speeds, study)
    else:
        typer.echo(_shown(speeds))
        if study:
            guess = f", {study.not_run} of them guessed from the largest that ran"
            typer.echo(
                f"The study ({study.models} models x {study.tokens:,} tokens):"
                f" {study.seconds / 3600:,.1f} hours{guess if study.not_run else ''}"
            )
    if not ran:
        raise InputError("every model was skipped: take a lower --dtype or another --device")


def bench_batches(
    model: Model,
    corpus: CorpusName = "pocket:code",
    budget: Annotated[
        list[int] | None,
        typer.Option("--batch-tokens", help="Most tokens of a forward pass; give two or more."),
    ] = None,
    documents: Documents = None,
    max_length: MaxLength = 512,
    dtype: Dtype = "float32",
    device: Device = None,
    k: Ks = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """How many ranks, and how much of CE and RBP_k, another batch size changes."""
    ks = _checked(k, documents, max_length, threads)
    for one in budget or ():
        within("--batch-tokens", one, 1)
    from rbpkit.corpora import load_corpus

    text = load_corpus(corpus, documents=documents)
    from rbpkit.models import load_model
    from rbpkit.tools.comparisons import BUDGETS, compare_batch_sizes

    set_threads(threads)
    loaded = load_model(model, dtype=dtype, device=device, progress=True)
    results = compare_batch_sizes(
        loaded, text, tuple(budget or BUDGETS), ks=ks, max_length=max_length, say=say
    )
    _print_comparison(results, as_json)


def bench_dtypes(
    model: Model,
    corpus: CorpusName = "pocket:code",
    dtype: Annotated[
        list[str] | None,
        typer.Option(help="float32, bfloat16, float16 (the default: all); repeatable."),
    ] = None,
    documents: Documents = None,
    max_length: MaxLength = 512,
    batch_tokens: BatchTokens = 8192,
    device: Device = None,
    k: Ks = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """The same tokens with a body in each dtype: ranks changed, ties, CE, RBP_k, tokens/s."""
    ks = _checked(k, documents, max_length, threads)
    within("--batch-tokens", batch_tokens, 1)
    from rbpkit.corpora import load_corpus

    text = load_corpus(corpus, documents=documents)
    from rbpkit.models import DTYPES
    from rbpkit.tools.comparisons import compare_dtypes

    set_threads(threads)
    results = compare_dtypes(
        model,
        text,
        tuple(dtype or DTYPES),
        device=device,
        ks=ks,
        max_length=max_length,
        batch_tokens=batch_tokens,
        say=say,
    )
    _print_comparison(results, as_json)


def _shipped() -> list[str]:
    from rbpkit.pocket import ladders

    sizes = {family: range(len(shapes)) for family, shapes in ladders.LADDERS.items()}
    return [str(ladders.model_folder(family, size)) for family in sizes for size in sizes[family]]


def _loaded_speeds(
    models: list[str] | None, dtype: str, device: str | None, settings: dict[str, int]
) -> Iterator[Speed]:
    from rbpkit.models import load_model
    from rbpkit.tools.bench import speed_of

    for model in models or _shipped():
        loaded = load_model(model, dtype=dtype, device=device, progress=True)
        yield speed_of(loaded, say=say, **settings)


def _print_predicted(
    device: str, dtype: str, max_length: int, batch_tokens: int, as_json: bool
) -> None:
    """The paper's shapes on a device that need not be here."""
    from rbpkit.tools.bench import study_time
    from rbpkit.tools.cost import cost_table, predicted_speeds, rates_of

    rates = rates_of(device)
    found = predicted_speeds(rates, dtype=dtype, length=max_length, batch_tokens=batch_tokens)
    speeds = [speed for speed, _ in found]
    study = study_time(speeds)
    if as_json:
        _print_json(speeds, study)
        return
    typer.echo(cost_table(found).to_string(index=False, float_format="{:.3f}".format))
    typer.echo(
        f"The study on {rates.name}, predicted ({study.models} models x {study.tokens:,} tokens):"
        f" {study.seconds / 60:,.0f} minutes"
    )


def _print_beside(models: list[str] | None, settings: dict[str, int]) -> None:
    """What this CPU does beside what its rates and the model of the cost say."""
    from transformers import AutoConfig

    from rbpkit.pocket import ladders
    from rbpkit.tools.cost import Shape, cost, cpu_rates

    length = min(settings["max_length"], ladders.CONTEXT)
    typer.echo("microseconds a token: body, head, ranks; speed with ranks over speed with head")
    for model in models or _shipped():
        try:
            speed = next(
                _loaded_speeds([model], "float32", "cpu", settings | {"max_length": length})
            )
            shape = Shape.of(speed.model, AutoConfig.from_pretrained(model))
        except InputError as error:
            say(f"{model}: {error}")
            continue
        guess = cost(shape, cpu_rates(shape, length), "float32", length=length)
        found = [1 / speed.body, 1 / speed.with_head - 1 / speed.body]
        found.append(1 / speed.with_ranks - 1 / speed.with_head)
        for name, times in (("measured", found), ("predicted", guess[:3])):
            numbers = " ".join(f"{1e6 * one:7.2f}" for one in times)
            ratio = sum(times[:2]) / sum(times)
            typer.echo(f"{speed.model:>16} {name:>9} {numbers}  {ratio:.3f}")


def _checked(
    k: list[int] | None, documents: int | None, max_length: int, threads: int
) -> tuple[int, ...]:
    """The k to show, once all four are checked."""
    within("--documents", documents or 0, 0)
    within("--max-length", max_length, 2)
    within("--threads", threads, 0, MOST_THREADS)
    return checked_ks(k, (1, 10, 100))


def _print_json(speeds: list[Speed], study: StudyTime | None) -> None:
    from rbpkit.tools.bench import plain_speeds

    found = {"speeds": plain_speeds(speeds), "study": study and asdict(study)}
    typer.echo(json.dumps(found))


def _shown(speeds: list[Speed]) -> str:
    """A row a model, rates as whole numbers, the cost of ranks in percent."""
    from rbpkit.tools.bench import speed_table

    table = speed_table(speeds)
    shown = ["model", "S", "V", "dtype", "batch_tokens", "body", "with_head", "with_ranks"]
    shown += ["ranks_cost", "skipped"] if table["skipped"].any() else ["ranks_cost"]
    forms = dict.fromkeys(("body", "with_head", "with_ranks"), "{:,.0f}".format)
    forms |= {"ranks_cost": "{:+.0%}".format, "S": "{:,}".format}
    return table[shown].to_string(index=False, formatters=forms, na_rep="")


def _print_comparison(results: list[SettingResult], as_json: bool) -> None:
    from rbpkit.tools.comparisons import comparison_table

    frame = comparison_table(results)
    if not as_json:
        frame["tokens_s"] = [f"{rate:,.0f}" for rate in frame["tokens_s"]]
    print_table(frame, as_json, digits=6)  # changes of RBP_k are a few in 100,000
