"""One page of a study that was reproduced: fits, comparison, figures, what was run and where.

A notebook of Markdown cells, turned into a self-contained page by nbconvert: no script, no request.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pandas as pd
from nbconvert import HTMLExporter
from nbformat.v4 import new_markdown_cell, new_notebook

import rbpkit
from rbpkit.errors import InputError
from rbpkit.files.writing import write_whole
from rbpkit.study.params import Params
from rbpkit.summary import Summary

NAME = "report.html"
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "pandas", "matplotlib")
STYLE = """
body { margin: 0 auto; max-width: 62rem; padding: 1rem 1.5rem; line-height: 1.5;
  font-family: system-ui, sans-serif; color: #1b1b1b; background: #fff; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid #ddd; text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }
img { max-width: 100%; height: auto; background: #fff; }
a.anchor-link { display: none; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } th, td { border-color: #444; } }
"""


def write_report(
    params: Params,
    measured: Sequence[Summary],
    comparison: pd.DataFrame,
    figures_dir: Path,
    out: Path,
    *,
    failed: Sequence[str] = (),
    seconds: float | None = None,
) -> Path:
    """Write `out`/report.html and return its path.

    measured: the study's summaries. comparison: of `reproduce.comparison`. figures_dir: each PNG in
    it is put into the page. failed: a line for each job or notebook that failed. seconds: of the
    whole run. Raises InputError where nothing was measured.
    """
    if not measured:
        raise InputError("a report needs at least one measured job")
    tables = sorted(figures_dir.glob("*_table_1.md"))
    pictures = sorted(figures_dir.glob("*.png"))
    faults = "\n".join(f"- {_text(line)}" for line in failed)
    cells = [
        "# A study of -log RBP_k ~ S^-alpha",
        _about(params, measured, seconds),
        *([f"## What failed\n\n{faults}"] if failed else []),
        "## Measured, shipped, published\n\n"
        "Slopes of log(-log RBP_k), and of log CE, on log S; the paper's range is over its six"
        " corpora (Table 1).\n\n" + _table(comparison),
        *(
            f"## {_text(path.stem.replace('_', ' '))}\n\n{path.read_text(encoding='utf-8')}"
            for path in tables
        ),
        "## Jobs\n\n" + _table(_jobs(measured)),
        *(f"## {_text(path.stem.replace('_', ' '))}\n\n{_picture(path)}" for path in pictures),
    ]
    notebook = new_notebook(
        cells=[new_markdown_cell(cell, id=f"report-{i:03d}") for i, cell in enumerate(cells)]
    )
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rbpkit report</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>{body}</body></html>\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out, {NAME: page.encode("utf-8")})
    return out / NAME


def _about(params: Params, measured: Sequence[Summary], seconds: float | None) -> str:
    manifests = [one.manifest for one in measured]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    python = manifests[0].versions.get("python", "")
    lines = [
        f"rbpkit {rbpkit.__version__}; {versions}; Python {python}",
        f"{len(manifests)} jobs: {len({m.model for m in manifests})} models,"
        f" {len({m.corpus for m in manifests})} corpora,"
        f" {sum(m.tokens for m in manifests):,} scored tokens",
        f"source {params.source}, at most {params.max_length} tokens a document,"
        f" seed {params.seed}, {', '.join(sorted({m.dtype for m in manifests}))}"
        f" on {', '.join(sorted({m.device for m in manifests}))}",
        f"ranking took {sum(m.seconds for m in manifests):,.0f} s in all"
        + (f", the whole run {seconds:,.0f} s" if seconds is not None else ""),
    ]
    return "\n".join(f"- {_text(line)}" for line in lines)


def _jobs(measured: Sequence[Summary]) -> pd.DataFrame:
    rows = [
        {
            **{
                name: getattr(one.manifest, name)
                for name in ("model", "corpus", "S", "V", "tokens")
            },
            "CE": one.ce(),
            "RBP_1": one.rbp(1),
            "seconds": one.manifest.seconds,
            "revision": one.manifest.revision[:12],
        }
        for one in measured
    ]
    return pd.DataFrame(rows).sort_values(["corpus", "S", "model"], ignore_index=True)


def _table(frame: pd.DataFrame) -> str:
    """As HTML, which Markdown passes on; text is escaped."""
    return frame.to_html(index=False, border=0, na_rep="", float_format=lambda v: f"{v:.4f}")


def _picture(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{_text(path.stem)}" src="data:image/png;base64,{data}">'


def _text(line: str) -> str:
    return html.escape(" ".join(line.split()))
