"""`rbpkit measure`, `show` and `fit`: measure a model on a corpus, show results, fit the law."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rbpkit.cli.common import (
    AsJson,
    BatchTokens,
    Checkpoint,
    CorpusName,
    Device,
    Dtype,
    Ks,
    MaxLength,
    Models,
    Out,
    RecordsDir,
    Threads,
    print_rows,
    print_table,
    say,
    say_if_k_is_all,
    with_settings,
)
from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.study.checks import folder_to_write

# numpy, torch and all that imports them are imported in the functions that need them: they take
# seconds, and help and refusals should not.
if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.fit import Curve
    from rbpkit.summary import Summary


def measure(
    model: Models,
    corpus: CorpusName,
    out: Out,
    documents: Annotated[
        int | None,
        typer.Option(
            help="How many to take, 0 for all; by default 1000, all of a plugin's corpus.", min=0
        ),
    ] = None,
    max_length: MaxLength = 512,
    stride: Annotated[
        int, typer.Option(help="Score all, in windows this far apart; 0: off.", min=0)
    ] = 0,
    field: Annotated[str | None, typer.Option(help="Column with the text; a+b joins two.")] = None,
    image: Annotated[str | None, typer.Option(help="Column with the text's picture.")] = None,
    images: Annotated[
        str | None, typer.Option(help="Folder of the pictures, if it is not the corpus's.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Column with the text's author or source, which intervals resample."),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(help="Column that is read before the text, and not scored.")
    ] = None,
    changed_text: Annotated[
        bool, typer.Option("--changed-text", help="Admit another text than the reference's.")
    ] = False,
    dtype: Dtype = "float32",
    device: Device = None,
    revision: Annotated[str | None, typer.Option(help="Of a model on the hub.")] = None,
    name: Annotated[str | None, typer.Option(help="Call the model so in the records.")] = None,
    family: Annotated[str | None, typer.Option(help="By default the model's type.")] = None,
    batch_tokens: BatchTokens = 8192,
    seed: Annotated[int, typer.Option(help="Of the shuffle that picks the documents.")] = 42,
    threads: Threads = 0,
    allow_pickle: Annotated[bool, typer.Option(help="Admit pickled weights.")] = False,
    trust_remote_code: Annotated[bool, typer.Option(help="Run code that comes with it.")] = False,
    force: Annotated[bool, typer.Option(help="Measure again what is done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank every scored token of a corpus under a model, or several, and keep the records."""
    if stride >= max_length:
        raise InputError(f"--stride must be below --max-length ({max_length}), got {stride}")
    if len(model) > 1 and (name is not None or revision is not None):
        raise InputError("--name and --revision are of one model; give them one at a time")
    folder = folder_to_write(out)
    from rbpkit.corpora import check_text, load_corpus

    # The corpus first: its faults show at once, a model may take minutes to load.
    text = load_corpus(
        corpus,
        documents=documents,
        field=field,
        image=image,
        images=images,
        unit=unit,
        prompt=prompt,
        seed=seed,
    )
    check_text(text, changed_text)
    set_threads(threads)
    loading = {
        "dtype": dtype,
        "device": device,
        "revision": revision,
        "family": family,
        "allow_pickle": allow_pickle,
        "trust_remote_code": trust_remote_code,
    }
    measuring = {
        "max_length": max_length,
        "stride": stride,
        "batch_tokens": batch_tokens,
        "changed_text": changed_text,
        "force": force,
        "name": name,
    }
    summaries = []
    for number, source in enumerate(model, start=1):
        if len(model) > 1:
            say(f"{number} of {len(model)}: {source}")
        # One that cannot be measured does not stop the others; alone it is bad input.
        try:
            summaries.append(_measured(source, text, folder, loading, measuring))
        except InputError as error:
            if len(model) == 1:
                raise
            say(f"{source}: not measured: {error}")
    if summaries:
        print_rows(measured_rows(summaries, _ks(None)), as_json)
    if len(summaries) < len(model):
        say(f"{len(summaries)} of {len(model)} models measured")
        raise typer.Exit(1)


def _measured(
    source: str, text: Corpus, folder: Path, loading: dict[str, Any], measuring: dict[str, Any]
) -> Summary:
    """Load a model and measure it, with lines for people."""
    from rbpkit.measuring import measure as run
    from rbpkit.models import load_model

    loaded = load_model(source, progress=True, image=text.pictures is not None, **loading)
    lines_shown: list[str] = []

    def tell(line: str) -> None:
        lines_shown.append(line)
        say(line)

    shows_bar = sys.stderr.isatty()
    measurement = run(loaded, text, folder, progress=shows_bar, say=tell, **measuring)
    summary = measurement.summary
    if measurement.found_done:
        state = "done before, not measured again"
    else:
        speed = summary.tokens / max(summary.manifest.seconds, 1e-9)
        state = f"{speed:,.0f} tokens/s"
    new = []  # what no line has said yet
    if measurement.coverage not in lines_shown:  # it has been said if text is left out
        new.append(measurement.coverage)
    if not any(line.startswith("done before") for line in lines_shown):
        new.append(state)
    if new:
        say("; ".join(new))
    return summary


@with_settings
def show(
    records: RecordsDir,
    settings: dict[str, Any],
    k: Ks = None,
    checkpoint: Checkpoint = None,
    as_json: AsJson = False,
) -> None:
    """CE and RBP_k with 95% intervals (other documents) of every model and corpus in a folder."""
    from rbpkit.records import load_summaries

    summaries = load_summaries(records, several=True, checkpoint=checkpoint, **settings)
    say_if_k_is_all(summaries, _ks(k))
    print_rows(measured_rows(summaries, _ks(k), intervals=True), as_json)


@with_settings
def fit(
    records: RecordsDir,
    settings: dict[str, Any],
    k: Ks = None,
    checkpoint: Checkpoint = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the lines into this file: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus in a folder.

    Standard error tells which models each line has, and up to which k there are enough missed
    tokens to trust a line.
    """
    if figure is not None:
        _check_figure(figure)
    from rbpkit.fit import curves_of_all, family_lines, fit_curves
    from rbpkit.records import load_summaries
    from rbpkit.stats.noise import trust_lines

    summaries = load_summaries(records, checkpoint=checkpoint, **settings)
    for line in family_lines(summaries):
        say(line)
    say_if_k_is_all(summaries, _ks(k))
    curves = curves_of_all(summaries, _ks(k))
    fits = fit_curves(curves)
    if fits.table.empty:
        raise InputError(f"{records}: nothing could be fitted; {fits.refused[0]}")
    for reason in fits.refused:
        say(f"no fit: {reason}")
    print_table(fits.table, as_json)
    for line in trust_lines(summaries):
        say(line)
    if figure is not None:
        _draw(curves, figure)
        say(f"drawn: {figure}, and its points in {figure.with_suffix('.csv')}")


def _check_figure(figure: Path) -> None:
    """InputError unless it is the name of a figure; ModuleNotFoundError without the extra."""
    from rbpkit.plots import FORMATS

    folder_to_write(str(figure.parent))
    if figure.suffix.lstrip(".") not in FORMATS:
        raise InputError(f"--figure {figure}: end the name in .{', .'.join(FORMATS)}")


def _draw(curves: Sequence[Curve], figure: Path) -> None:
    """A panel for each corpus and quantity, with the line of each family."""
    from rbpkit import plots

    points = plots.curve_points("measured", curves)
    points["panel"] = points["corpus"] + ": " + points["quantity"]
    label = r"$-\log\,\mathrm{RBP}_k$, or CE in nats"
    columns = min(points["quantity"].nunique(), 4)  # a row for each corpus
    picture = plots.law_grid(points, panel="panel", columns=columns, ylabel=label, share=False)
    points = points.drop(columns="panel")
    form = figure.suffix.lstrip(".")
    plots.save(picture, points, str(figure.parent), figure.stem, form)


def _ks(asked: list[int] | None) -> tuple[int, ...]:
    """The k that were asked for, each once, or the default."""
    from rbpkit.summary import DEFAULT_KS

    return tuple(dict.fromkeys(asked or DEFAULT_KS))


def measured_rows(
    summaries: Iterable[Summary], ks: Sequence[int], intervals: bool = False
) -> list[dict[str, Any]]:
    """One row per model and corpus, sorted by corpus, family, S.

    Columns:
    - corpus, family, model, S, V, documents, max_length, tokens (scored);
    - CE (nats), and RBP_<k> for each of `ks`; with `intervals` each of them also with _low and
      _high, NaN for a k or a text that has no interval;
    - other settings, only if a model has several of them on one corpus.

    Raises InputError if there is nothing to show, and for k < 1.
    """
    names = ("corpus", "family", "model", "S", "V", "documents", "max_length")
    other_settings = ["revision", "fingerprint", "seed", "stride", "dtype"]
    rows = []
    for summary in summaries:
        manifest = summary.manifest
        row = {name: getattr(manifest, name) for name in (*names, *other_settings, "tokens")}
        for name in ("revision", "fingerprint"):  # hashes, of which the beginning is enough
            row[name] = row[name][:15]
        row["CE"] = summary.ce()
        if intervals:
            row["CE_low"], row["CE_high"] = _interval_or_nan(summary.ce_interval)
        for k in ks:
            row[f"RBP_{k}"] = summary.rbp(k)
            if intervals:
                of_k = functools.partial(summary.rbp_interval, k)
                row[f"RBP_{k}_low"], row[f"RBP_{k}_high"] = _interval_or_nan(of_k)
        rows.append(row)
    if not rows:
        raise InputError("no measured model to show")
    for name in other_settings:
        if not _differs(rows, name):  # it tells nothing
            for row in rows:
                del row[name]
    return sorted(rows, key=lambda row: [row[name] for name in ("corpus", "family", "S", "model")])


def _differs(rows: Iterable[dict[str, Any]], setting: str) -> bool:
    """Whether a model was measured on one corpus with several values of a setting."""
    values: dict[tuple[str, str], set[Any]] = {}
    for row in rows:
        values.setdefault((row["model"], row["corpus"]), set()).add(row[setting])
    return any(len(of_model) > 1 for of_model in values.values())


def _interval_or_nan(interval: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """A 95% interval, NaN if there is none for this k or this text."""
    try:
        return interval()
    except InputError:
        return math.nan, math.nan
