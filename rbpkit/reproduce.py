"""The main job: measure a study, run the notebooks on it, compare with what is published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from rbpkit import paper, pocket
from rbpkit.curves import fits
from rbpkit.errors import InputError
from rbpkit.notebooks import notebook_names, run
from rbpkit.params import Params
from rbpkit.store import load_summaries
from rbpkit.summary import Summary
from rbpkit.sweep import sweep

AGREE = 1e-4  # the most that RBP_k may differ from the shipped value on the same text


def reproduce(
    params: Params,
    out: Path,
    *,
    figures: Path | None = None,
    say: Callable[[str], None] = print,
    progress: bool = False,
) -> bool:
    """Run a study into `out` (records, notebooks, comparison.csv); True where all is well.

    figures: the folder of the figures, by default `out`/figures. Not well is a job or a notebook
    that failed, and an RBP_k that is more than `AGREE` off the shipped one on the same text.
    Raises InputError where the study is at fault, before anything runs.
    """
    result = sweep(params, out / "records", say=say, progress=progress)
    if not result.measured:
        say("nothing was measured, so no notebook is run")
        return False
    values = {
        **params.model_dump(mode="json"),
        "records_dir": str((out / "records").resolve()),
        "figures_dir": str((figures or out / "figures").resolve()),
    }
    fine = not result.failures
    for name in notebook_names():
        try:
            say(f"notebook: {run(name, values, out / 'notebooks')}")
        except InputError as error:
            say(f"failed: {error}")
            fine = False
    measured = [one.summary for one in result.measured]
    agreed = compare_with_shipped(measured, params.ks, say)
    table = comparison(measured, params.ks)
    table.to_csv(out / "comparison.csv", index=False, float_format="%.6f")
    say("")
    say("slopes of log(-log RBP_k), and of log CE, on log S; the paper's are over its six corpora:")
    say(table.to_string(index=False, float_format=lambda v: f"{v:.4f}", na_rep="-"))
    for failure in result.failures:
        say(f"failed: {failure.model} on {failure.corpus}: {failure.reason}")
    return agreed and fine


def shipped_for(measured: Sequence[Summary]) -> dict[int, Summary]:
    """index in `measured` -> the shipped summary of the same model and corpus, if there is one."""
    folder = pocket.summaries_root()
    if not folder.is_dir():
        return {}
    shipped = {(s.manifest.model, s.manifest.corpus): s for s in load_summaries(folder)}
    keys = [(s.manifest.model, s.manifest.corpus) for s in measured]
    return {i: shipped[key] for i, key in enumerate(keys) if key in shipped}


def compare_with_shipped(
    measured: Sequence[Summary], ks: Sequence[int], say: Callable[[str], None]
) -> bool:
    """Say, a corpus a line, how far RBP_k and CE are from the shipped values; True if they agree.

    Where the text or the weights are others, that is said and nothing is compared.
    """
    pairs: dict[str, list[tuple[Summary, Summary]]] = {}
    for i, shipped in shipped_for(measured).items():
        pairs.setdefault(shipped.manifest.corpus, []).append((measured[i], shipped))
    agreed = True
    for corpus, both in pairs.items():
        texts = {a.manifest.fingerprint == b.manifest.fingerprint for a, b in both}
        weights = {a.manifest.revision == b.manifest.revision for a, b in both}
        if texts != {True}:
            say(
                f"{corpus}: the installed packages hold another text than the shipped numbers"
                " were computed on (other versions); nothing is compared"
            )
        elif weights != {True}:
            say(f"{corpus}: other weights than the shipped ones; nothing is compared")
        else:
            rbp = max(abs(a.rbp(k) - b.rbp(k)) for a, b in both for k in ks)
            ce = max(abs(a.ce() - b.ce()) for a, b in both)
            fine = rbp <= AGREE
            agreed &= fine
            say(
                f"{corpus}: {len(both)} models, largest difference from the shipped values:"
                f" RBP_k {rbp:.1e}, CE {ce:.1e} nats{'' if fine else f' (over {AGREE:g})'}"
            )
    return agreed


def comparison(measured: Sequence[Summary], ks: Sequence[int]) -> pd.DataFrame:
    """Slope and R2 measured, shipped and published, a row a (family, corpus, quantity).

    Published: the range of the paper's slopes for that family over its six corpora (Table 1),
    since no corpus here is one of the paper's; NaN where Table 1 has no such row.
    """
    now = fits(measured, ks).table
    keys = ["family", "corpus", "quantity"]
    table = now[[*keys, "n", "slope", "R2"]]
    shipped = list(shipped_for(measured).values())
    if shipped:
        before = fits(shipped, ks).table[[*keys, "slope"]].rename(columns={"slope": "shipped"})
        table = table.merge(before, on=keys, how="left")
        table["difference"] = table["slope"] - table["shipped"]
    published = paper.table1()
    published["quantity"] = ["CE" if k == "CE" else f"RBP_{k}" for k in published["k"]]
    span = published.groupby(["family", "quantity"])["slope"].agg(["min", "max"]).reset_index()
    span = span.rename(columns={"min": "paper_from", "max": "paper_to"})
    return table.merge(span, on=["family", "quantity"], how="left")
