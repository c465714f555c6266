"""Verdicts: a claim, the number that tests it, and margins that were fixed before the number.

`rbpkit/data/audit/claims.yaml` holds claims and margins. A margin is a range of the tested number:
in `holds` the claim is true as it stands; in `partly`, which contains `holds`, it is true under a
condition that the finding names; outside `partly` it is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import resources

import pandas as pd
import yaml

from rbpkit.errors import InputError

VERDICTS = ("holds", "holds when", "not supported", "contradicted")
SOURCES = ("published", "pocket")
Range = tuple[float, float]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, in our words.

    name: a short key. section: where the paper makes it. claim: what it says. test: the number that
    is computed, with its unit. holds, partly: closed ranges of it, `holds` within `partly`.
    """

    name: str
    section: str
    claim: str
    test: str
    holds: Range
    partly: Range

    def __post_init__(self) -> None:
        (low, high), (wide_low, wide_high) = self.holds, self.partly
        if not wide_low <= low <= high <= wide_high:
            raise InputError(f"claim {self.name}: `holds` must be a range within `partly`")


@dataclass(frozen=True)
class Finding:
    """What was computed of one claim on one source.

    value: the number of the claim's test. low, high: its 95% interval, or None where none is
    honest. n: how many `of` (cells, models, steps) it rests on. when: the condition under which the
    claim is true, for a value within `partly` but not `holds`. note: what a reader must know.
    """

    claim: str
    source: str
    value: float
    n: int
    of: str
    low: float | None = None
    high: float | None = None
    when: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        if self.source not in SOURCES:
            raise InputError(f"finding on {self.claim}: source {self.source!r} not in {SOURCES}")
        if not math.isfinite(self.value) or self.n < 1:
            raise InputError(f"finding on {self.claim}: needs a finite number and n of at least 1")
        if (self.low is None) != (self.high is None):
            raise InputError(f"finding on {self.claim}: an interval has two ends, or give none")
        if self.low is not None and not ends[0] <= self.value <= ends[1]:
            raise InputError(f"finding on {self.claim}: {self.value:g} is outside its interval")


def load_claims() -> dict[str, Claim]:
    """The claims by name, in the paper's order."""
    file = resources.files("rbpkit") / "data" / "audit" / "claims.yaml"
    claims = {}
    for name, entry in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        ranges = {key: tuple(map(float, entry.pop(key))) for key in ("holds", "partly")}
        claims[name] = Claim(name=name, **entry, **ranges)
    return claims


def judge(claim: Claim, finding: Finding) -> str:
    """One of VERDICTS.

    "holds": the number is within `holds`, and its interval (if any) within `partly`.
    "holds when": the number is within `partly`, and so is its interval.
    "contradicted": the number, and all of its interval, is outside `partly`.
    "not supported": anything else: the interval is too wide to tell.
    """
    low = finding.value if finding.low is None else finding.low
    high = finding.value if finding.high is None else finding.high
    first, last = claim.partly
    if first <= low and high <= last:
        if claim.holds[0] <= finding.value <= claim.holds[1]:
            return "holds"
        return "holds when"
    return "contradicted" if high < first or low > last else "not supported"


def verdict_table(findings: Iterable[Finding], claims: dict[str, Claim]) -> pd.DataFrame:
    """A row a finding, in the order of the claims, published before pocket.

    Columns: section, claim, test, source, value, low, high (95%; missing where none is honest), n,
    of, verdict, when (of "holds when" only), note. Raises InputError for an unknown claim or one
    that is judged twice.
    """
    order = {name: place for place, name in enumerate(claims)}
    every = list(findings)
    for one in every:
        if one.claim not in order:
            raise InputError(f"no claim {one.claim!r} in claims.yaml; there is {', '.join(order)}")
    keys = [(order[one.claim], SOURCES.index(one.source)) for one in every]
    twice = {every[i].claim for i, key in enumerate(keys) if keys.count(key) > 1}
    if twice:
        raise InputError(f"judged twice on one source: {', '.join(sorted(twice))}")
    rows = []
    for _, one in sorted(zip(keys, every, strict=True), key=lambda pair: pair[0]):
        claim = claims[one.claim]
        rows.append(
            {
                "section": claim.section,
                "name": claim.name,
                "claim": claim.claim,
                "test": claim.test,
                "source": one.source,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "n": one.n,
                "of": one.of,
                "verdict": (verdict := judge(claim, one)),
                "when": _condition(claim, one) if verdict == "holds when" else "",
                "note": one.note,
            }
        )
    frame = pd.DataFrame(rows)
    return frame.astype({"low": "float64", "high": "float64"}) if rows else frame


def claims_json(findings: Iterable[Finding], claims: dict[str, Claim]) -> str:
    """Each claim with margins, findings and verdicts; a margin without end is null."""
    every = list(findings)
    verdict_table(every, claims)  # refuses what cannot be judged
    content = [
        {
            **asdict(claim),
            "holds": _ends(claim.holds),
            "partly": _ends(claim.partly),
            "findings": [
                {**asdict(one), "verdict": judge(claim, one)} for one in every if one.claim == name
            ],
        }
        for name, claim in claims.items()
    ]
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _condition(claim: Claim, finding: Finding) -> str:
    """The condition that the finding names, or else how far the number is from the margin."""
    low, high = claim.holds
    asked = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return finding.when or f"{finding.value:.3g} will do where the claim asks for {asked}"


def _ends(margin: Range) -> list[float | None]:
    return [end if math.isfinite(end) else None for end in margin]
