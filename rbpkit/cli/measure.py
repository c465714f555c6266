"""`rbpkit measure`, `show` and `fit`: measure a model on a corpus, show results, fit the law."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rbpkit.cli.axis import lines_in_ce, print_lines
from rbpkit.cli.common import (
    ALL,
    AsJson,
    Chosen,
    CorpusName,
    Ks,
    Out,
    RecordsDir,
    check_figure,
    each_k,
    print_rows,
    print_table,
    save_figure,
    say,
    say_if_k_is_all,
)
from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.files.manifest import HASHES, choosable
from rbpkit.settings import (
    ModelSettings,
    PlaceSettings,
    ReadingSettings,
    RunSettings,
    ServerSettings,
    TextSettings,
)
from rbpkit.study.checks import folder_to_write

# numpy, torch and all that imports them are imported in the functions that need them: they take
# seconds, and help and refusals should not.
if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.summary import Summary

TEXT, READING, MODEL, RUN = TextSettings(), ReadingSettings(), ModelSettings(), RunSettings()
SERVER = ServerSettings()


def measure(
    *,
    model: Annotated[
        list[str],
        Parameter(help="Hub ids, folders in their layout, or pocket:NAME; one or several."),
    ],
    corpus: CorpusName,
    out: Out,
    text: Annotated[TextSettings, Parameter(name="*", group="Text")] = TEXT,
    reading: Annotated[ReadingSettings, Parameter(name="*", group="Reading")] = READING,
    source: Annotated[ModelSettings, Parameter(name="*", group="Model")] = MODEL,
    run: Annotated[RunSettings, Parameter(name="*", group="Run")] = RUN,
    server: Annotated[ServerSettings, Parameter(name="*", group="Server")] = SERVER,
    force: Annotated[bool, Parameter(help="Measure again what is done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rank every scored token of a corpus under a model, or several, and keep the records."""
    if not model:
        raise InputError("--model: name one, or several")
    if len(model) > 1 and (source.name is not None or source.revision is not None):
        raise InputError("--name and --revision are of one model; give them one at a time")
    folder = folder_to_write(out)
    from rbpkit.corpora import check_text, load_corpus
    from rbpkit.planning import look_up

    # The corpus first: its faults show at once, a model may take minutes to load.
    documents = load_corpus(corpus, **text.model_dump(exclude={"changed_text"}))
    check_text(documents, text.changed_text)
    for one in model:
        look_up(one, **source.given)
    set_threads(run.threads)
    loading = source.model_dump(exclude={"name"}, exclude_none=True) | run.part(PlaceSettings)
    loading |= server.given
    measuring = reading.model_dump() | {
        "batch_tokens": run.batch_tokens,
        "changed_text": text.changed_text,
        "name": source.name,
        "force": force,
    }
    summaries = []
    for number, one in enumerate(model, start=1):
        if len(model) > 1:
            say(f"{number} of {len(model)}: {one}")
        # One that cannot be measured does not stop the others; alone it is bad input.
        try:
            summaries.append(_measured(one, documents, folder, loading, measuring))
        except InputError as error:
            if len(model) == 1:
                raise
            say(f"{one}: not measured: {error}")
    if summaries:
        from rbpkit.records import told_apart

        print_rows(measured_rows(told_apart(summaries), each_k(None)), as_json)
    if len(summaries) < len(model):
        say(f"{len(summaries)} of {len(model)} models measured")
        raise SystemExit(1)


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


def show(
    records: RecordsDir, /, *, chosen: Chosen = ALL, k: Ks = None, as_json: AsJson = False
) -> None:
    """CE and RBP_k with 95% intervals (other documents) of every model and corpus in a folder."""
    summaries = chosen.load(records, several=True)
    ks = each_k(k)
    say_if_k_is_all(summaries, ks)
    print_rows(measured_rows(summaries, ks, intervals=True), as_json)


def fit(
    records: RecordsDir,
    /,
    *,
    chosen: Chosen = ALL,
    k: Ks = None,
    against: Annotated[
        Literal["size", "ce"], Parameter(help="size, or ce: all families of a text on one line.")
    ] = "size",
    figure: Annotated[
        Path | None, Parameter(help="Draw the lines into this file: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus in a folder.

    Standard error tells which models each line has, and up to which k there are enough missed
    tokens to trust a line.
    """
    if figure is not None:
        check_figure(figure)
    from rbpkit.fit import curves_of_all, family_lines, fit_curves
    from rbpkit.stats.noise import trust_of_all

    summaries = chosen.load(records)
    if against == "ce":
        print_lines(lines_in_ce(summaries, each_k(k)), as_json, figure)
        return
    for line in family_lines(summaries):
        say(line)
    ks = each_k(k)
    say_if_k_is_all(summaries, ks)
    curves = curves_of_all(summaries, ks)
    fits = fit_curves(curves)
    if fits.table.empty:
        raise InputError(f"{records}: nothing could be fitted; {fits.refused[0]}")
    for reason in fits.refused:
        say(f"no fit: {reason}")
    print_table(fits.table, as_json)
    for trust in trust_of_all(summaries).values():
        say(trust.words)
    if figure is not None:
        from rbpkit.plots import curve_points
        from rbpkit.tools.law_figures import law_figure

        save_figure(law_figure(curves), curve_points("measured", curves), figure)


def measured_rows(
    summaries: Iterable[Summary], ks: Sequence[int], intervals: bool = False
) -> list[dict[str, Any]]:
    """One row per model and corpus, sorted by corpus, family, S.

    Columns:
    - corpus, family, model, S, V, documents, max_length, stride, dtype, revision, tokens (scored);
    - CE (nats), and RBP_<k> for each of `ks`; with `intervals` each of them also with _low and
      _high, NaN for a k or a text that has no interval;
    - bits_per_byte, NaN if an earlier version measured, which did not count the bytes;
    - other settings, only if a model has several of them on one corpus.

    Raises InputError if there is nothing to show, and for k < 1.
    """
    names = (
        *("corpus", "family", "model", "S", "V"),
        *("documents", "max_length", "stride", "dtype", "revision"),
    )
    other_settings = [name for name in choosable() if name not in names]
    rows = []
    for summary in summaries:
        manifest = summary.manifest
        row = {name: manifest.setting(name) for name in (*names, *other_settings, "tokens")}
        for name in HASHES:  # the beginning is enough
            row[name] = row[name][:15]
        row["CE"] = summary.ce()
        if intervals:
            row["CE_low"], row["CE_high"] = _interval_or_nan(summary.ce_interval)
        row["bits_per_byte"] = summary.bits_per_byte() if manifest.scored_bytes else math.nan
        for k in ks:
            row[f"RBP_{k}"] = summary.rbp(k)
            if intervals:
                of_k = functools.partial(summary.rbp_interval, k)
                row[f"RBP_{k}_low"], row[f"RBP_{k}_high"] = _interval_or_nan(of_k)
        rows.append(row)
    if not rows:
        raise InputError("no measured model to show")
    jobs = {(row["model"], row["corpus"]) for row in rows}
    for name in other_settings:
        values = {(row["model"], row["corpus"], row[name]) for row in rows}
        if len(values) == len(jobs):  # each has one, which tells nothing
            for row in rows:
                del row[name]
    return sorted(rows, key=lambda row: [row[name] for name in ("corpus", "family", "S", "model")])


def _interval_or_nan(interval: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """A 95% interval, NaN if there is none for this k or this text."""
    try:
        return interval()
    except InputError:
        return math.nan, math.nan
