"""Findings on the set-up: tokens a point, vocabularies, ties, the size S, the cells of Table 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from rbpkit import paper, setup_tables
from rbpkit.audit import precision, sizes
from rbpkit.audit.verdicts import Finding
from rbpkit.summary import Summary

FOOTNOTE_V = {"Pythia": 50_256, "Qwen": 151_936}
NOT_UNDER_FOOTNOTE = ("Qwen2.5-14B",)  # the footnote's number for Qwen is for those up to 7B


def findings_setup(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    precision_table: pd.DataFrame | None = None,
) -> list[Finding]:
    """sample-size, vocabularies, ties-do-not-matter, size-is-S and cells-are-fits.

    Both sources where there is a number: vocabularies and cells-are-fits are of the published
    models and table alone, ties of the pocket models alone (published points keep no ties).
    precision_table: as `precision.precision_all`; None or empty: no finding on ties. Of
    summaries, those of `corpora` and `families`.
    """
    chosen = [
        one
        for one in summaries
        if one.manifest.corpus in corpora and one.manifest.family in families
    ]
    found = [published_sample_size(), vocabularies(), published_size(), cells_are_fits()]
    if chosen:
        found.append(pocket_sample_size(chosen))
        found += pocket_size(chosen, corpora, families)
    if precision_table is not None and not precision_table.empty:
        found.append(ties(precision_table))
    return found


def published_sample_size() -> Finding:
    """sample-size of the four plotted corpora; of two possible counts the larger is taken."""
    table = paper.token_counts()
    larger = table[["tokens", "also_admissible"]].max(axis=1)
    smaller = table[["tokens", "also_admissible"]].min(axis=1)
    enough, least = (counts >= setup_tables.AT_LEAST for counts in (larger, smaller))
    short = table.loc[~enough, "dataset"].unique()
    return Finding(
        claim="sample-size",
        source="published",
        value=float(enough.mean()),
        n=len(table),
        of="(corpus, family)",
        note=(
            f"Counts inferred from the digits of RBP_k, four plotted corpora; {', '.join(short)}"
            f" have {table.loc[~enough, 'tokens'].min():,} to {larger[~enough].max():,}. Where two"
            f" counts fit, the larger is taken; by the smaller {least.sum()} of {len(table)}"
            " reach 500,000."
        ),
    )


def pocket_sample_size(summaries: Sequence[Summary]) -> Finding:
    """The same of the (corpus, family) that were measured."""
    tokens: dict[tuple[str, str], int] = {}
    for one in summaries:
        key = (one.manifest.corpus, one.manifest.family)
        tokens[key] = min(one.tokens, tokens.get(key, one.tokens))
    enough = sum(count >= setup_tables.AT_LEAST for count in tokens.values())
    return Finding(
        claim="sample-size",
        source="pocket",
        value=enough / len(tokens),
        n=len(tokens),
        of="(corpus, family)",
        note=(
            f"Our own corpora, small by choice: {min(tokens.values()):,} to"
            f" {max(tokens.values()):,} scored tokens. It says how our points stand, not the"
            " paper's."
        ),
    )


def vocabulary_table() -> pd.DataFrame:
    """Models whose V footnote 2 gives: family, model, footnote, V (rows of the output matrix)."""
    table = paper.models()
    there = table["family"].isin(FOOTNOTE_V) & ~table["model"].isin(NOT_UNDER_FOOTNOTE)
    table = table[there]
    return pd.DataFrame(
        {
            "family": table["family"],
            "model": table["model"],
            "footnote": table["family"].map(FOOTNOTE_V),
            "V": table["vocab_rows"],
        }
    ).reset_index(drop=True)


def vocabularies() -> Finding:
    """vocabularies: the models of which a number of the footnote is at hand."""
    table = vocabulary_table()
    same = table["footnote"] == table["V"]
    right = ", ".join(table.loc[same, "model"])
    return Finding(
        claim="vocabularies",
        source="published",
        value=float(same.mean()),
        n=len(table),
        of="models",
        note=(
            f"Only {right} agree. Pythia's tokenizer has {precision.TOKENIZER_TOKENS['Pythia']:,}"
            " tokens, its matrices 50,304 to 50,688 rows; neither is 50,256. All are off by less"
            " than 1%. Of GPT2, OPT and the 14B Qwen no number is at hand."
        ),
    )


def ties(table: pd.DataFrame) -> Finding:
    """ties-do-not-matter, from a `precision_all` table: the setting with most tied targets."""
    by = precision.by_setting(table).set_index("setting")
    most = by.loc[by["tied_most"].idxmax()]
    shift = precision.fitted(table)
    shift = shift.loc[shift["setting"] == most.name, "shift"].abs().max()
    rest = by.drop(most.name)["rule"]
    tokens = table.drop_duplicates("corpus")["tokens"]
    # How many tokens the rule decides is a count: its error if tokens were independent.
    error = (most["rule"] / tokens.min()) ** 0.5
    return Finding(
        claim="ties-do-not-matter",
        source="pocket",
        value=float(most["rule"]),
        n=int(most["models"]),
        of="(model, corpus)",
        when=f"ranks are not counted on {most.name}: elsewhere the change is {rest.max():.2g}",
        note=(
            f"{most.name}: {most['tied_least']:.0%} to {most['tied_most']:.0%} of targets tied;"
            f" largest at {most['at']} (standard error about {error:.1g}; a largest value leans"
            f" upward), median of models {most['typical']:.2g}; exponents move by {shift:.1%} at"
            f" most. float32: {by.loc['float32', 'tied_most']:.3%} tied at most, change"
            f" {by.loc['float32', 'rule']:.1g}. {' and '.join(f'{t:,}' for t in tokens)} tokens of"
            f" {', '.join(table['corpus'].unique())}; V = {table['V'].max():,}."
        ),
    )


def published_size() -> Finding:
    """size-is-S of the plotted cells at k = 1, 10, 50, 100."""
    table = sizes.by_size(sizes.published_lines(), sizes.published_sizes(), draws=sizes.DRAWS)
    return _size("published", table)


def pocket_size(
    summaries: Sequence[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Finding]:
    """size-is-S of what was measured, at the same k; none where no line can be fitted."""
    lines = sizes.measured_lines(summaries, corpora, families)
    table = sizes.by_size(lines, sizes.pocket_sizes(summaries), draws=sizes.DRAWS)
    return [] if table.empty else [_size("pocket", table)]


def _size(source: str, table: pd.DataFrame) -> Finding:
    *families, total = sizes.wins(table, "all").itertuples()
    shares = "; ".join(f"{one.family} {one.S_wins} of {one.lines}" for one in families)
    always = [one.family for one in families if one.S_wins == one.lines]
    return Finding(
        claim="size-is-S",
        source=source,
        value=total.S_wins / total.lines,
        n=total.lines,
        of="(corpus, family, k)",
        when=f"in {', '.join(always)}: every cell" if always else f"by family: {shares}",
        note=(
            f"{shares}. If the law were exact in S but for its own scatter, S would win in"
            f" {total.told:.0%} of such cells; if exact in all parameters, in"
            f" {total.misled:.0%}. The cells of a line (four k) are alike."
        ),
    )


def cells_are_fits() -> Finding:
    """cells-are-fits: the slopes that Table 1 prints."""
    table = paper.table1()
    flat = table[table["slope"] == 0]
    names = "; ".join(f"{r.dataset}, {r.family}, k = {r.k}" for r in flat.itertuples())
    rising = table[table["slope"] > 0]
    up = "; ".join(f"{r.dataset}, {r.family}, k = {r.k}" for r in rising.itertuples())
    return Finding(
        claim="cells-are-fits",
        source="published",
        value=float((table["slope"] != 0).mean()),
        n=len(table),
        of="cells of Table 1",
        when=f"all cells but {names}",
        note=(
            f"{names} prints slope 0.000 with R2 {flat['r2'].iloc[0]:.3f}: no line explains all of"
            " a slope of zero; presumably every RBP_k is 1 there and nothing was fitted."
            f" A rising line: {up}."
        ),
    )
