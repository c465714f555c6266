"""The seven questions of notebook 21: what was fixed beforehand, and what came out.

Margins and numbers are those of `rbpkit_pocket.reasons_judged`; `docs/margins.md` has the words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit_pocket import reasons_judged as judged
from rbpkit_pocket.reasons import KNOWN_TEXTS, LEVELS, Job, exponents, kappas, root_mean_square
from rbpkit_pocket.reasons_judged import Jobs, load_jobs, of_text

NEW_TEXTS = ("django", "javascript", "measurements")
Row = tuple[str, str, str, str]  # question; holds if; what came out; answer


def seven_answers(known: Jobs, shifts: pd.DataFrame, temperatures: dict[str, Jobs]) -> Markdown:
    """A row for each question; shifts: `reasons_judged.residuals` of the runs."""
    table = load_jobs("text-ranks")
    new_texts = [of_text(table, text) for text in NEW_TEXTS]
    rows = [
        _shape(new_texts),
        _entropy(shifts),
        _exponents(new_texts, known),
        _cancellation(new_texts),
        _odds(new_texts),
        _own_loss(known),
        _calibration(temperatures),
    ]
    lines = ["| | question | it holds if | what came out | answer |", "|---|---|---|---|---|"]
    for number, row in enumerate(rows, start=1):
        lines.append(f"| {number} | {' | '.join(row)} |")
    return Markdown("\n".join(lines))


def _listed(values: Sequence[float], form: str) -> str:
    return ", ".join(format(value, form) for value in values)


def _shape(new_texts: Sequence[Sequence[Job]]) -> Row:
    worst = [max(judged.shape_errors(jobs).values()) for jobs in new_texts]
    failures = sum(error > judged.SHAPE_FAILS for error in worst)
    holds = max(worst) <= judged.SHAPE_HOLDS
    answer = "holds" if holds else "fails" if failures >= 2 else "cannot be told"
    came = f"worst of three $k$: {_listed(worst, '.1f')}%"
    rule = f"Zipf is within {judged.SHAPE_HOLDS:g}% of the own mass on three new texts"
    return "Are predictions Zipf-shaped?", rule, came, answer


def _entropy(shifts: pd.DataFrame) -> Row:
    result = judged.judged(shifts)
    rule = rf"$q$ is at most {judged.Q_HOLDS:g} at two of three $k$"
    came = f"$q$ = {_listed(result['q'].tolist(), '.0f')}"
    question = "Do entropies say more than CE?"
    return question, rule, came, judged.entropy_verdict(result)


def _exponents(new_texts: Sequence[Sequence[Job]], known: Jobs) -> Row:
    measured = {text: exponents(of_text(known, text), Job.y) for text in KNOWN_TEXTS}
    holds, medians = [], []
    for jobs in new_texts:
        errors = judged.exponent_errors(jobs, measured)
        medians.append(errors["D"][0])
        low, high = judged.CALIBRATED
        facts = judged.text_facts(jobs)
        applies = facts["span"] >= judged.SPAN and judged.straightness(jobs) >= judged.STRAIGHT
        if applies and low <= facts["calibration"] <= high:
            holds.append(judged.zipf_exponents_hold(errors))
    answer = "cannot be told"
    if len(holds) >= 2:
        answer = "holds" if all(holds) else "fails" if not any(holds) else answer
    rule = f"median error at most {judged.MEDIAN:g}%, on new texts calibrated as prose"
    came = f"{_listed(medians, '.0f')}%; {len(holds)} such texts"
    return r"Does Zipf give the exponents $\varepsilon_k$?", rule, came, answer


def _cancellation(new_texts: Sequence[Sequence[Job]]) -> Row:
    errors = [judged.cancellation(jobs) for jobs in new_texts]
    near = [abs(error - judged.CANCELLATION) <= judged.CANCELLATION_WITHIN for error in errors]
    rule = f"{judged.CANCELLATION:g} ± {judged.CANCELLATION_WITHIN:g}% on three of three new texts"
    question = "Is Zipf's error at $k = 1$ always the same?"
    return question, rule, f"{_listed(errors, '.1f')}%", "holds" if all(near) else "fails"


def _odds(new_texts: Sequence[Sequence[Job]]) -> Row:
    ratios, holds, far = [], [], []
    for jobs in new_texts:
        kappa = list(kappas(jobs).values())
        ratios.append(max(kappa) / min(kappa))
        in_range, is_far = judged.odds_hold(jobs)
        holds.append(in_range)
        far.append(is_far)
    answer = "holds" if all(holds) else "fails" if sum(far) >= 2 else "cannot be told"
    rule = f"largest fall at most {judged.KAPPA_RATIO:g} times the smallest on each new text"
    return "Proportional odds?", rule, f"{_listed(ratios, '.2f')} times", answer


def _own_loss(known: Jobs) -> Row:
    losses = judged.own_and_other_loss(list(load_jobs("M").values()), known)
    own = losses.groupby("k")["own"].agg(root_mean_square)
    other = losses.groupby("k")["other"].agg(root_mean_square)
    near = all(own[k] <= judged.OWN_LOSS[k] for k in LEVELS)
    is_needed = other[1] >= judged.OTHER_LOSS
    answer = "holds" if near and is_needed else "cannot be told" if near else "fails"
    allowed = _listed(list(judged.OWN_LOSS.values()), ".0f")
    rule = f"own CE misses by at most {allowed}%, that of the other text by {judged.OTHER_LOSS:g}%"
    came = f"{_listed(own[list(LEVELS)].tolist(), '.1f')}%; other text {other[1]:.0f}%"
    return "Other mixtures: is the axis CE on the text itself?", rule, came, answer


def _calibration(temperatures: dict[str, Jobs]) -> Row:
    before, after = temperatures.values()
    calibrated = 0
    for text in KNOWN_TEXTS:
        errors = judged.calibration_errors(of_text(after, text))
        calibrated += max(map(abs, errors.values())) <= judged.CALIBRATION_WITHIN
    spread = judged.spread_of_hit_rates(after).mean() / judged.spread_of_hit_rates(before).mean()
    parts = calibrated == len(KNOWN_TEXTS), spread <= judged.SPREAD_LEFT
    answer = "holds" if all(parts) else "holds in part" if any(parts) else "fails"
    rule = f"own mass within {judged.CALIBRATION_WITHIN:g}% on five of five texts; spread halved"
    came = f"{calibrated} of {len(KNOWN_TEXTS)} texts; spread {np.round(spread, 2):.2f}"
    return "Does one temperature explain the texts' levels?", rule, came, answer
