"""The claims of the paper, the number that tests each, and the verdict on it.

`rbpkit/data/audit/claims.yaml` holds the paper's words, the tests, their margins and the sentences;
here are the numbers. No verdict rests on one margin: a test is read at each of its margins, and
where the readings differ the verdict says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path

import pandas as pd
import yaml

from rbpkit.errors import InputError
from rbpkit.files.writing import write_whole

SOURCES = ("published", "pocket")
OURS = "shipped models"  # what pages call the source "pocket"
# What notebook 12 shows together, in its order; no version of the paper claims what is "besides".
GROUPS = ("set-up", "law in S", "large k", "law in k", "windows", "two laws", "besides")
VERDICTS = ("holds", "in most cases", "in some cases", "contradicted", "depends on the margin")
VERDICTS += ("undecided", "cannot be told", "depends on the reading", "not at these sizes")
VERDICTS += ("withdrawn", "assumption, holds", "assumption, contradicted")
VERDICTS += ("assumption, depends on the margin", "assumption, undecided")
# What becomes of "contradicted" where the paper does not claim the row as it is tested.
SOFTENED = {"loose": "depends on the reading", "limit": "not at these sizes"}
STANDINGS = ("claimed", "assumed", "withdrawn", *SOFTENED)


# -- claims and verdicts -----------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """One entry of claims.yaml; its header says what the fields are.

    margins: labels for kind "share", closed ranges for kind "value"; mild to strict. sentences: by
    source. group: one of GROUPS. standing: one of STANDINGS.
    """

    name: str
    group: str
    where: str
    test: str
    kind: str
    margin: str
    margins: tuple
    sentences: Mapping[str, str]
    words: str = ""
    versions: str = ""
    standing: str = "claimed"

    def __post_init__(self) -> None:
        if self.standing not in STANDINGS:
            raise InputError(f"claim {self.name}: standing is one of {', '.join(STANDINGS)}")
        if self.standing == "assumed" and self.kind != "value":
            raise InputError(f"claim {self.name}: an assumption is tested by a value")
        if self.group not in GROUPS or self.kind not in ("share", "value") or not self.margins:
            raise InputError(f"claim {self.name}: group, kind or margins are not as they must be")
        if (self.table == "paper") != bool(self.words):
            raise InputError(f"claim {self.name}: a claim of the paper has its words, no other has")
        if self.kind == "value" and any(low > high for low, high in self.margins):
            raise InputError(f"claim {self.name}: a margin must be a range, low end first")
        if self.kind == "value" and any(
            low < wide[0] or high > wide[1]
            for wide, (low, high) in zip(self.margins, self.margins[1:], strict=False)
        ):
            raise InputError(f"claim {self.name}: margins go from mild to strict")

    @property
    def table(self) -> str:
        """ "paper" or "besides"."""
        return "besides" if self.group == "besides" else "paper"


@dataclass(frozen=True)
class Finding:
    """The numbers of one claim on one source.

    of: what is counted ("cells", "models"). counts: of a share, (cases, of how many) at each
    margin. value, low, high, n: of a value, its 95% interval (None where none is honest) and how
    many it rests on. numbers: what the claim's sentence names. blind: in how many of the cases at
    the first margin the test is too weak to find the opposite.
    """

    claim: str
    source: str
    of: str
    counts: tuple[tuple[int, int], ...] = ()
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    numbers: Mapping[str, object] = field(default_factory=dict)
    blind: int = 0

    def __post_init__(self) -> None:
        about = f"finding on {self.claim}"
        if self.source not in SOURCES:
            raise InputError(f"{about}: source {self.source!r} not in {SOURCES}")
        if bool(self.counts) == (self.value is not None):
            raise InputError(f"{about}: give counts or a value")
        if any(not 0 <= cases <= n or n < 1 for cases, n in self.counts):
            raise InputError(f"{about}: counts must be cases of at least one, not {self.counts}")
        if self.blind and not 0 < self.blind <= max((n for _, n in self.counts[:1]), default=0):
            raise InputError(f"{about}: {self.blind} blind cases of {self.counts}")
        if self.value is not None:
            ends = (self.value if end is None else end for end in (self.low, self.high))
            low, high = ends
            if not (math.isfinite(self.value) and low <= self.value <= high and self.n > 0):
                raise InputError(f"{about}: needs a finite number in its interval, and its n")


def load_claims() -> dict[str, Claim]:
    """The claims by name, in the order of their tables."""
    file = resources.files("rbpkit") / "data" / "audit" / "claims.yaml"
    claims = {}
    for name, entry in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        sentences = {source: entry.pop(source) for source in SOURCES if source in entry}
        margins = tuple(m if isinstance(m, str) else tuple(map(float, m)) for m in entry["margins"])
        claims[name] = Claim(name=name, sentences=sentences, **{**entry, "margins": margins})
    return claims


def verdict(claim: Claim, finding: Finding) -> str:
    """One of VERDICTS.

    A share "holds" if it is so in all cases, "in most cases" in more than half, "in some cases" in
    half or fewer, and is "contradicted" in none. Over several margins it "holds" if it does at
    each; it is "in most cases" if it is all or most at each, "in some cases" if it is that or none
    at each; else it "depends on the margin". All or most becomes "cannot be told" if the test is
    blind in more than half of the cases.

    A value holds inside a margin and is contradicted outside; where margins differ it "depends on
    the margin". "undecided": its interval reaches from inside to outside of the widest margin.

    A claim that is "loose" or of a "limit" is not contradicted but what SOFTENED says; on what the
    paper assumes, "assumption, " stands before the word.
    """
    if claim.standing == "withdrawn":
        return "withdrawn"
    word = _share_verdict(claim, finding) if claim.kind == "share" else _value_word(claim, finding)
    if word == "contradicted":
        word = SOFTENED.get(claim.standing, word)
    return f"assumption, {word}" if claim.standing == "assumed" else word


def _share_verdict(claim: Claim, finding: Finding) -> str:
    if len(finding.counts) > len(claim.margins):
        raise InputError(f"{claim.name}: {len(claim.margins)} margins, {finding.counts}")
    words = {_share_word(*count) for count in finding.counts}
    if words <= {"holds", "in most cases"}:
        if 2 * finding.blind > finding.counts[0][1]:
            return "cannot be told"
        return words.pop() if len(words) == 1 else "in most cases"
    if words <= {"contradicted", "in some cases"}:
        return words.pop() if len(words) == 1 else "in some cases"
    return "depends on the margin"


def _value_word(claim: Claim, finding: Finding) -> str:
    words = {"holds" if low <= finding.value <= high else "contradicted"
             for low, high in claim.margins}  # fmt: skip
    if finding.low is not None:
        low, high = claim.margins[0]
        inside = low <= finding.low and finding.high <= high
        if not inside and not (finding.high < low or finding.low > high):
            return "undecided"
    return words.pop() if len(words) == 1 else "depends on the margin"


def _share_word(cases: int, n: int) -> str:
    if cases in (0, n):
        return "holds" if cases else "contradicted"
    return "in most cases" if 2 * cases > n else "in some cases"


def sentence(claim: Claim, finding: Finding) -> str:
    """The claim's sentence for the source, with the finding's numbers; "" where it has none."""
    text = claim.sentences.get(finding.source, "")
    try:
        return text.format(**finding.numbers)
    except (KeyError, ValueError) as error:
        raise InputError(f"claims.yaml, {claim.name}: no number for {error}") from None


def number(claim: Claim, finding: Finding) -> str:
    """The finding in figures: "20, 18 of 24 cells (within 20%, 15%)", "0.64 [0.6, 0.7] (...)"."""
    if claim.kind == "value":
        text = _figure(finding.value)
        if finding.low is not None:
            text += f" [{_figure(finding.low)}, {_figure(finding.high)}]"
        margins = ", ".join(_range(*margin) for margin in claim.margins)
        plural = "s" if len(claim.margins) > 1 else ""
        return f"{text} ({_counted(finding.n, finding.of)}; margin{plural} {margins})"
    labels = claim.margins[: len(finding.counts)]
    if len({n for _, n in finding.counts}) == 1:
        cases = ", ".join(str(cases) for cases, _ in finding.counts)
        of = _counted(finding.counts[0][1], finding.of)
        text = f"{cases} of {of} ({', '.join(labels)})"
    else:
        each = zip(finding.counts, labels, strict=True)
        text = "; ".join(f"{cases} of {n} ({label})" for (cases, n), label in each)
    if finding.blind:
        text += f"; the test cannot tell in {finding.blind} of {finding.counts[0][1]}"
    return text


def _counted(n: int, of: str) -> str:
    first, *others = of.split(" ")
    return " ".join([str(n), first.removesuffix("s") if n == 1 else first, *others])


def _range(low: float, high: float) -> str:
    if high == math.inf:
        return f"at least {low:g}"
    return f"{low:g} to {high:g}" if low else f"at most {high:g}"


def _figure(value: float) -> str:
    if value == int(value):
        return f"{value:.0f}"
    size = abs(value)
    if 0.95 <= size < 1:  # where margins have three digits
        return f"{value:.3f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def verdict_table(findings: Iterable[Finding], claims: Mapping[str, Claim]) -> pd.DataFrame:
    """A row a finding, in the order of the claims, published before pocket.

    Columns: table, name, where, versions, words, test, source, number, verdict, margin, sentence.
    Raises InputError for an unknown claim, or one that is judged twice on a source.
    """
    order = {name: place for place, name in enumerate(claims)}
    every = list(findings)
    for one in every:
        if one.claim not in order:
            raise InputError(f"no claim {one.claim!r} in claims.yaml; there is {', '.join(order)}")
    keys = [(order[one.claim], SOURCES.index(one.source)) for one in every]
    if twice := sorted({every[i].claim for i, key in enumerate(keys) if keys.count(key) > 1}):
        raise InputError(f"judged twice on one source: {', '.join(twice)}")
    rows = []
    for _, one in sorted(zip(keys, every, strict=True), key=lambda pair: pair[0]):
        claim = claims[one.claim]
        row = {key: getattr(claim, key) for key in ("table", "name", "where", "versions", "words")}
        row |= {"test": claim.test, "source": one.source, "number": number(claim, one)}
        row |= {"verdict": verdict(claim, one), "margin": claim.margin}
        rows.append(row | {"sentence": sentence(claim, one)})
    return pd.DataFrame(rows)


def as_markdown(verdicts: pd.DataFrame, table: str, ours: str = OURS) -> str:
    """The claims of one table ("paper" or "besides") of `verdict_table`, a row each.

    ours: the heading of the source "pocket".
    """
    asked = ["the paper's words", "where", "our test"]
    asked = asked if table == "paper" else ["what we asked", "where"]
    heading = [*asked, *(_named(source, ours) for source in SOURCES)]
    lines = [_row(heading), _row(["---"] * len(heading))]
    for name, rows in verdicts[verdicts["table"] == table].groupby("name", sort=False):
        one = rows.iloc[0]
        if table == "paper":
            cells = [f"“{one['words']}” (`{name}`)", f"{one['where']}; {one['versions']}"]
            cells.append(f"{one['test']}; margin {one['margin']}")
        else:
            cells = [f"{one['test']} (`{name}`)", one["where"]]
        for source in SOURCES:
            of = rows[rows["source"] == source]
            cells.append(f"**{of['verdict'].iloc[0]}** {of['number'].iloc[0]}" if len(of) else "")
        lines.append(_row(cells))
    return "".join(lines)


def counts(verdicts: pd.DataFrame) -> str:
    """How many claims of the paper have which verdict on its own points, in a sentence."""
    own = verdicts.query("table == 'paper' and source == 'published'")["verdict"]
    each = own.value_counts().reindex([word for word in VERDICTS if word in set(own)])
    listed = "; ".join(f"{word} ({count})" for word, count in each.items())
    return f"{len(own)} statements of the paper are tested on its own points: {listed}."


def page(verdicts: pd.DataFrame, ours: str = OURS) -> str:
    """Counts, both tables, a sentence on each finding, as Markdown; `ours` as in `as_markdown`."""
    parts = [f"## The paper's claims\n\n{counts(verdicts)}\n\n"]
    parts.append(as_markdown(verdicts, "paper", ours))
    if (verdicts["table"] == "besides").any():
        parts += ["\n## What we asked besides\n\n", as_markdown(verdicts, "besides", ours)]
    parts.append("\n## Each number\n\n")
    spoken = verdicts[verdicts["sentence"] != ""]
    parts += [
        f"- `{r.name}`, {_named(r.source, ours)}: {r.sentence}\n"
        for r in spoken.itertuples(index=False)
    ]
    return "".join(parts)


def _named(source: str, ours: str) -> str:
    return ours if source == "pocket" else source


def claims_json(findings: Iterable[Finding], claims: Mapping[str, Claim]) -> str:
    """Each claim with its margins, findings, sentences and verdicts; an endless margin is null."""
    every = list(findings)
    verdict_table(every, claims)  # refuses what cannot be judged
    content = []
    for name, claim in claims.items():
        entry = asdict(claim) | {"table": claim.table}
        entry["margins"] = [m if isinstance(m, str) else _ends(m) for m in claim.margins]
        del entry["sentences"]
        entry["findings"] = [
            {
                **{key: getattr(one, key) for key in ("source", "of", "counts")},
                **{key: _six(getattr(one, key)) for key in ("value", "low", "high")},
                **{
                    "n": one.n,
                    "blind": one.blind,
                    "verdict": verdict(claim, one),
                    "sentence": sentence(claim, one),
                },
            }
            for one in every
            if one.claim == name
        ]
        content.append(entry)
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _ends(margin: tuple[float, float]) -> list[float | None]:
    return [end if math.isfinite(end) else None for end in margin]


def _six(value: float | None) -> float | None:
    """Six significant digits: the others go by the processor."""
    return None if value is None else float(f"{value:.6g}")


def save_verdicts(
    findings: Sequence[Finding], claims: Mapping[str, Claim], figures_dir: str, ours: str = OURS
) -> None:
    """verdicts.csv, verdicts.md and claims.json, each whole or not at all; nothing if not asked.

    ours: as in `as_markdown`.
    """
    if not figures_dir:
        return
    table = verdict_table(findings, claims)
    files = {
        "verdicts.csv": table.to_csv(index=False, lineterminator="\n"),
        "verdicts.md": page(table, ours),
        "claims.json": claims_json(findings, claims),
    }
    write_whole(Path(figures_dir), {name: text.encode() for name, text in files.items()})


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |\n"
