"""The seven questions of `docs/margins.md`, three reasons for one axis, as they are counted.

Each function takes jobs (`reasons.Job`) and returns the numbers of its question; the margins stand
beside them as constants. `python -m rbpkit_pocket.reasons_judged WHAT` prints them from the
tables that ship: known, texts (1, 3, 4, 5), runs (2, 6), temperature (7) or real (beside 7).
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from rbpkit_pocket import paths
from rbpkit_pocket.ablations import Totals, load_totals
from rbpkit_pocket.reasons import (
    BEYOND,
    KNOWN_TEXTS,
    KS,
    LEVELS,
    MODELS,
    POOLED_TEXTS,
    SMALLEST,
    Job,
    by_entropy,
    by_odds,
    by_other,
    by_zipf,
    exponents,
    hit_curves,
    jobs_of,
    kappas,
    log_loss,
    loss_curve,
    mass_curves,
    own_mass,
    parabola,
    root_mean_square,
    scale_to_loss,
)

Jobs = Mapping[tuple[str, str], Job]
DRAWS = 10_000

# The margins; shares of y_k are in percent.
SPAN = 0.25
STRAIGHT = 0.98
CALIBRATED = (0.04, 0.10)
SHAPE_HOLDS, SHAPE_FAILS = 2.0, 5.0
Q_HOLDS, Q_FAILS, SLOPES = 0.6, 1.0, (0.5, 1.5)
MEDIAN, WORST, OF_RIVAL = 5.0, 12.0, 0.8
CANCELLATION, CANCELLATION_WITHIN = -8.0, 2.0
KAPPAS, KAPPA_RATIO, KAPPA_RATIO_FAILS = (0.55, 0.67), 1.15, 1.25
OWN_LOSS, OTHER_LOSS = {1: 3.0, 10: 3.0, 100: 6.0}, 10.0
CALIBRATION_WITHIN, SPREAD_LEFT = 2.0, 0.5
ENTROPIES = (0.75, 1.75, 2.75, 3.75, 4.75, 5.75)


def of_text(jobs: Jobs, text: str) -> list[Job]:
    """The 25 models on one text."""
    return [jobs[model, text] for model in MODELS]


# --- which texts count -----------------------------------------------------------------------


def text_facts(jobs: Sequence[Job]) -> dict[str, float]:
    """What is decided before ranks are seen: the span of ln CE, and the mean of ln(mean h / CE)."""
    log_CE = np.log([job.CE for job in jobs])
    log_h = np.log([job.total(job.entropy) for job in jobs])
    return {"span": float(np.ptp(log_CE)), "calibration": float(np.mean(log_h - log_CE))}


def straightness(jobs: Sequence[Job]) -> float:
    """The least R2 of the line of y_k in ln CE at k = 1, 10, 100."""
    log_CE = np.log([job.CE for job in jobs])
    squares = []
    for k in LEVELS:
        squares.append(np.corrcoef(log_CE, [job.y(k) for job in jobs])[0, 1] ** 2)
    return float(min(squares))


# --- questions 1, 3, 4, 5: the texts ---------------------------------------------------------


def shape_errors(jobs: Sequence[Job]) -> dict[int, float]:
    """Question 1: the root mean square over models of D - B at each level, percent."""
    errors = {}
    for k in LEVELS:
        errors[k] = 100 * root_mean_square(by_zipf(job, k) - own_mass(job, k) for job in jobs)
    return errors


def exponent_errors(
    jobs: Sequence[Job], known: Mapping[str, Mapping[int, float]]
) -> dict[str, tuple[float, float]]:
    """Question 3: median and worst of |ln(predicted / measured)| over six k, percent; by D, H, B.

    known: text -> eps_k, whose mean is H.
    """
    measured = exponents(jobs, Job.y)
    rival = {k: float(np.mean([eps[k] for eps in known.values()])) for k in KS}
    predicted = {"D": exponents(jobs, by_zipf), "H": rival, "B": exponents(jobs, own_mass)}
    errors = {}
    for name, eps in predicted.items():
        of_k = [100 * abs(np.log(eps[k] / measured[k])) for k in KS]
        errors[name] = float(np.median(of_k)), float(max(of_k))
    return errors


def zipf_exponents_hold(errors: Mapping[str, tuple[float, float]]) -> bool:
    """Whether D holds on a text."""
    median, worst = errors["D"]
    rivals = min(errors["H"][0], errors["B"][0])
    return median <= MEDIAN and worst <= WORST and median <= OF_RIVAL * rivals


def cancellation(jobs: Sequence[Job]) -> float:
    """Question 4: the mean over models of D - B at k = 1, percent; S says -8 within 2."""
    return 100 * float(np.mean([by_zipf(job, 1) - own_mass(job, 1) for job in jobs]))


def odds_hold(jobs: Sequence[Job]) -> tuple[bool, bool]:
    """Question 5: whether all kappa_k are in range and alike, and whether they are far from it."""
    kappa = list(kappas(jobs).values())
    ratio = max(kappa) / min(kappa)
    in_range = KAPPAS[0] <= min(kappa) and max(kappa) <= KAPPAS[1]
    return in_range and ratio <= KAPPA_RATIO, ratio > KAPPA_RATIO_FAILS


def odds_levels(jobs: Sequence[Job], draws: int = 100) -> pd.DataFrame:
    """Beside question 5: rms errors, percent, of L, and of A fitted to five random models."""
    smallest = next(job for job in jobs if job.model == SMALLEST)
    rest = [job for job in jobs if job is not smallest]
    log_CE = np.log([job.CE for job in rest])
    random = np.random.default_rng(0)
    chosen = [random.choice(len(rest), 5, replace=False) for _ in range(draws)]
    rows = []
    for k in LEVELS:
        y = np.array([job.y(k) for job in rest])
        by_five = []
        for five in chosen:
            others = np.setdiff1d(np.arange(len(rest)), five)
            fitted = parabola(log_CE[five], y[five])
            by_five.append(root_mean_square(fitted(log_CE[others]) - y[others]))
        error = root_mean_square(by_odds(job, smallest, k) - job.y(k) for job in rest)
        rows.append((k, 100 * error, 100 * float(np.median(by_five))))
    return pd.DataFrame(rows, columns=["k", "L", "A of five"])


# --- question 2: does entropy say more than CE? ----------------------------------------------


def residuals(runs: Iterable[Job], known: Jobs, unit_of: Mapping[str, str]) -> pd.DataFrame:
    """What is left of y_k, and of predictors C, B, Q, F, after a parabola in ln CE of the 25.

    unit_of: run -> recipe and size; seeds and texts are averaged. Runs whose ln CE is more than
    0.05 beyond the range of the 25 on a text are left out there. Index: unit, k. Columns: r, C, B,
    Q, F (ln), jobs.
    """
    pooled = [job for text in POOLED_TEXTS for job in of_text(known, text)]
    hits, masses, loss = hit_curves(pooled), mass_curves(pooled), loss_curve(pooled)

    def predictions(job: Job, others: Sequence[Job]) -> dict[tuple[str, int], float]:
        scaled = by_other(job, others, loss, hits)
        values: dict[tuple[str, int], float] = {}
        for k in LEVELS:
            values["r", k] = job.y(k)
            values["C", k] = by_entropy(job, hits[k])
            values["B", k] = own_mass(job, k)
            values["Q", k] = by_entropy(job, masses[k])
            values["F", k] = scaled[k]
        return values

    rows = []
    runs = list(runs)
    for text in KNOWN_TEXTS:
        reference = of_text(known, text)
        log_CE = np.log([job.CE for job in reference])
        expected = {}
        of_reference = []
        for job in reference:
            others = [other for other in reference if other is not job]
            of_reference.append(predictions(job, others))
        for key in of_reference[0]:
            expected[key] = parabola(log_CE, np.array([one[key] for one in of_reference]))
        for job in runs:
            x = np.log(job.CE)
            if job.text != text or not log_CE.min() - BEYOND <= x <= log_CE.max() + BEYOND:
                continue
            for (name, k), value in predictions(job, reference).items():
                rows.append((unit_of[job.model], k, name, value - float(expected[name, k](x))))
    table = pd.DataFrame(rows, columns=["unit", "k", "name", "value"])
    means = table.pivot_table(index=["unit", "k"], columns="name", values="value", aggfunc="mean")
    means["jobs"] = table[table["name"] == "r"].groupby(["unit", "k"]).size()
    return means[["r", "C", "B", "Q", "F", "jobs"]]


def excess(runs: Iterable[Job], known: Jobs) -> pd.DataFrame:
    """y_k of each run beyond a parabola in ln CE of the 25, percent: model, text, k, r.

    Runs whose ln CE is more than 0.05 beyond the range of the 25 on a text are left out there.
    """
    rows = []
    for job in runs:
        reference = of_text(known, job.text)
        log_CE = np.log([other.CE for other in reference])
        x = np.log(job.CE)
        if log_CE.min() - BEYOND <= x <= log_CE.max() + BEYOND:
            for k in LEVELS:
                y = np.array([other.y(k) for other in reference])
                r = job.y(k) - float(parabola(log_CE, y)(x))
                rows.append((job.model, job.text, k, 100 * r))
    return pd.DataFrame(rows, columns=["model", "text", "k", "r"])


def smoothed_minus_unchanged(table: pd.DataFrame) -> pd.DataFrame:
    """The difference of `excess` for each size and seed, percent, mean of texts: a column per k.

    Only texts count on which both runs do.
    """
    parts = table["model"].str.extract(r"(?P<size>.+)-(?P<change>smoothed|unchanged)-(?P<seed>.+)")
    runs = table.join(parts)
    pairs = runs.pivot(index=["size", "seed", "k", "text"], columns="change", values="r").dropna()
    difference = pairs["smoothed"] - pairs["unchanged"]
    return difference.groupby(["size", "seed", "k"]).mean().unstack()


def left_over(r: np.ndarray, c: np.ndarray) -> tuple[float, float]:
    """q = sum (r - c)^2 / sum r^2, and the slope b of r on c through 0."""
    return float(np.sum((r - c) ** 2) / np.sum(r**2)), float(np.sum(r * c) / np.sum(c**2))


def judged(table: pd.DataFrame, predictor: str = "C", draws: int = DRAWS) -> pd.DataFrame:
    """Question 2, at each level: q and b with 95% intervals of a bootstrap over units."""
    random = np.random.default_rng(42)
    rows = []
    for k in LEVELS:
        of_k = table.xs(k, level="k")
        r, c = of_k["r"].to_numpy(), of_k[predictor].to_numpy()
        drawn = random.integers(len(r), size=(draws, len(r)))
        qs = np.sum((r - c)[drawn] ** 2, axis=1) / np.sum(r[drawn] ** 2, axis=1)
        bs = np.sum((r * c)[drawn], axis=1) / np.sum(c[drawn] ** 2, axis=1)
        rows.append((k, len(r), *left_over(r, c), *_ends(qs), *_ends(bs)))
    columns = ["k", "units", "q", "b", "q_low", "q_high", "b_low", "b_high"]
    return pd.DataFrame(rows, columns=columns)


def _ends(draws: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def entropy_verdict(table: pd.DataFrame) -> str:
    """Question 2: "holds", "fails" or "cannot be told"."""
    slopes = (table["b_low"] >= SLOPES[0]) & (table["b_high"] <= SLOPES[1])
    holds = (table["q"] <= Q_HOLDS) & (table["q_high"] < 1) & slopes
    if holds.sum() >= 2:
        return "holds"
    return "fails" if (table["q"] >= Q_FAILS).sum() >= 2 else "cannot be told"


def chance_of_entropy(known: Jobs, units: int, trials: int = 1_000) -> dict[str, float]:
    """How often question 2 holds if entropies say nothing, and if they say all that CE does not.

    Units are drawn from the 25, with their own residuals averaged over texts. *nothing*: r of one
    model with c of another. *all*: c of a model, plus r of another as scatter.
    """
    table = residuals(list(known.values()), known, {model: model for model in MODELS})
    random = np.random.default_rng(1)
    models = list(MODELS)
    holds = {"nothing": 0, "all": 0}
    for _ in range(trials):
        own, other = random.choice(models, units), random.choice(models, units)
        for case in holds:
            parts = []
            for k in LEVELS:
                of_k = table.xs(k, level="k")
                c = of_k["C"].loc[own].to_numpy()
                scatter = of_k["r"].loc[other].to_numpy()
                r = scatter if case == "nothing" else c + scatter
                part = pd.DataFrame({"r": r, "C": c, "k": k, "unit": range(units)})
                parts.append(part.set_index(["unit", "k"]))
            holds[case] += entropy_verdict(judged(pd.concat(parts), draws=300)) == "holds"
    return {case: count / trials for case, count in holds.items()}


# --- question 6: is it one quality that all texts share? -------------------------------------


def ordinary_runs() -> list[Totals]:
    """Ordinary runs of fewer tokens, whose CE and RBP_k were known: they reach a higher CE."""
    contrasts = load_totals(paths.CONTRASTS)
    ordinary = [
        run for run in contrasts if run.manifest.model.split("-")[-2] in ("unchanged", "tokens")
    ]
    return [*load_totals(paths.GRID), *ordinary]


def own_and_other_loss(runs: Sequence[Job], known: Jobs) -> pd.DataFrame:
    """Question 6: errors, percent, of A at the CE of the text, and of A' at that of the other text.

    A: a parabola of y_k in ln CE through the 25 and `ordinary_runs`; A': a parabola of y_k in the
    ln CE of the other text, through the same models. A row per run, text and k.
    """
    CE: dict[tuple[str, str], float] = {key: job.CE for key, job in known.items()}
    y = {(*key, k): job.y(k) for key, job in known.items() for k in LEVELS}
    for run in ordinary_runs():
        key = run.manifest.model, run.manifest.corpus.removeprefix("pocket:")
        CE[key] = run.ce()
        y |= {(*key, k): log_loss(run.rbp(k)) for k in LEVELS}
    other_text = {"prose": "code", "code": "prose"}
    reference = sorted(
        {model for model, text in CE if text == "prose"} & {m for m, t in CE if t == "code"}
    )
    of_run = {(job.model, job.text): job for job in runs}
    rows = []
    for (model, text), job in of_run.items():
        if text not in other_text or (model, other_text[text]) not in of_run:
            continue
        other = of_run[model, other_text[text]]
        own_CE = np.log([CE[one, text] for one in reference])
        other_CE = np.log([CE[one, other.text] for one in reference])
        for k in LEVELS:
            losses = np.array([y[one, text, k] for one in reference])
            by_own = float(parabola(own_CE, losses)(np.log(job.CE)))
            by_other_text = float(parabola(other_CE, losses)(np.log(other.CE)))
            beyond = max(0.0, np.log(job.CE) - own_CE.max())
            errors = 100 * (by_own - job.y(k)), 100 * (by_other_text - job.y(k))
            rows.append((model, text, k, job.CE, beyond, *errors))
    columns = ["run", "text", "k", "CE", "beyond", "own", "other"]
    return pd.DataFrame(rows, columns=columns)


# --- question 7: calibration -----------------------------------------------------------------


def calibration_errors(jobs: Sequence[Job]) -> dict[int, float]:
    """The mean over models of B - y, percent, at each level."""
    return {k: 100 * float(np.mean([own_mass(job, k) - job.y(k) for job in jobs])) for k in LEVELS}


def spread_of_hit_rates(jobs: Jobs, texts: Sequence[str] = KNOWN_TEXTS) -> np.ndarray:
    """(6,) the standard deviation between texts of G_10 at six entropies."""
    curves = [hit_curves(of_text(jobs, text))[10] for text in texts]
    return np.std([curve(np.array(ENTROPIES)) for curve in curves], axis=0, ddof=1)


# --- the probability that chance passes a question --------------------------------------------


def chances(known: Jobs) -> dict[str, float]:
    """For questions 1 and 3 to 7 how often their rule is met by what is known, or by chance.

    - 1, 4, 5: the share of triples of the five known texts that pass.
    - 3: D has the exponents of another known text instead: the share of 20 that hold on a text.
    - 6, own: 8 runs of one text each, drawn from the changed contrasts of seeds 1 to 3: how often
      they pass the first part.
    - 7: the calibration errors of five texts are drawn from a normal distribution as wide as at
      T = 1, alike at all k.
    """
    measured = {text: exponents(of_text(known, text), Job.y) for text in KNOWN_TEXTS}
    triples = list(itertools.combinations(KNOWN_TEXTS, 3))
    shape = {text: max(shape_errors(of_text(known, text)).values()) for text in KNOWN_TEXTS}
    within = {
        text: abs(cancellation(of_text(known, text)) - CANCELLATION) <= CANCELLATION_WITHIN
        for text in KNOWN_TEXTS
    }
    odds = {text: odds_hold(of_text(known, text))[0] for text in KNOWN_TEXTS}

    borrowed = []
    for text, other in itertools.permutations(KNOWN_TEXTS, 2):
        rest = {one: eps for one, eps in measured.items() if one != text}
        errors = exponent_errors(of_text(known, text), rest)
        of_k = [100 * abs(np.log(measured[other][k] / measured[text][k])) for k in KS]
        errors["D"] = float(np.median(of_k)), float(max(of_k))
        borrowed.append(zipf_exponents_hold(errors))

    calibration = [calibration_errors(of_text(known, text))[1] for text in KNOWN_TEXTS]
    within_margin = 2 * stats.norm.cdf(CALIBRATION_WITHIN / np.std(calibration, ddof=1)) - 1
    return {
        "1": float(np.mean([max(shape[t] for t in three) <= SHAPE_HOLDS for three in triples])),
        "3": float(np.mean(borrowed)),
        "4": float(np.mean([all(within[t] for t in three) for three in triples])),
        "5": float(np.mean([all(odds[t] for t in three) for three in triples])),
        "6, own": _chance_of_own_loss(known),
        "7": float(within_margin**5),
    }


def _chance_of_own_loss(known: Jobs, trials: int = 10_000) -> float:
    errors: dict[tuple[str, str], dict[int, float]] = {}
    for text in ("prose", "code"):
        jobs = of_text(known, text)
        log_CE = np.log([job.CE for job in jobs])
        for k in LEVELS:
            fitted = parabola(log_CE, np.array([job.y(k) for job in jobs]))
            for run in load_totals(paths.CONTRASTS):
                about = run.manifest
                is_changed = about.model.split("-")[-2] not in ("unchanged", "tokens", "wide")
                if is_changed and about.corpus == f"pocket:{text}":
                    error = 100 * (log_loss(run.rbp(k)) - float(fitted(np.log(run.ce()))))
                    errors.setdefault((about.model, text), {})[k] = error
    table = np.array([[one[k] for k in LEVELS] for one in errors.values()])
    drawn = table[np.random.default_rng(0).integers(len(table), size=(trials, 8))]
    rms = np.sqrt((drawn**2).mean(axis=1))
    return float(np.mean((rms <= [OWN_LOSS[k] for k in LEVELS]).all(axis=1)))


# --- what is printed -------------------------------------------------------------------------


def load_jobs(name: str) -> dict[tuple[str, str], Job]:
    """The jobs of a table that ships (`data/tables/reasons`)."""
    return jobs_of(pd.read_csv(paths.REASONS / f"{name}.csv.gz"))


def load_both(name: str) -> dict[str, dict[tuple[str, str], Job]]:
    """The jobs of a table with temperatures: as the models are, and with the fitted ones."""
    table = pd.read_csv(paths.REASONS / f"{name}.csv.gz")
    as_it_is = table["T"] == 1
    return {"T = 1": jobs_of(table[as_it_is]), "fitted": jobs_of(table[~as_it_is])}


def held_out_errors(known: Jobs) -> pd.DataFrame:
    """Table (a): rms errors of y_k, percent, with everything fitted on the other families.

    Columns: a line and a parabola in ln CE; G_k of the model's own entropies; the same with them
    scaled to its CE; the same of the other model of the nearest CE; Zipf on its own entropies; its
    own mass.
    """
    errors: dict[tuple[str, int, str], list[float]] = {}
    for text in KNOWN_TEXTS:
        for family in dict.fromkeys(MODELS.values()):
            others = [known[model, text] for model in MODELS if MODELS[model] != family]
            own = [known[model, text] for model in MODELS if MODELS[model] == family]
            log_CE = np.log([job.CE for job in others])
            hits, loss = hit_curves(others), loss_curve(others)
            for k in LEVELS:
                y = np.array([job.y(k) for job in others])
                line, curved = parabola(log_CE, y, 1), parabola(log_CE, y)
                for job in own:
                    scale = scale_to_loss(job, loss, job.CE)
                    predicted = {
                        "line": float(line(np.log(job.CE))),
                        "parabola": float(curved(np.log(job.CE))),
                        "own h": by_entropy(job, hits[k]),
                        "own h, scaled": by_entropy(job, hits[k], scale),
                        "another's h": by_other(job, others, loss, {k: hits[k]})[k],
                        "Zipf": by_zipf(job, k),
                        "own mass": own_mass(job, k),
                    }
                    for name, value in predicted.items():
                        errors.setdefault((text, k, name), []).append(value - job.y(k))
    rms = {key: 100 * root_mean_square(values) for key, values in errors.items()}
    return pd.Series(rms).unstack()[list(predicted)].loc[list(KNOWN_TEXTS)]


def known_tables(known: Jobs) -> None:
    """Print what was known before the entry."""
    print("(a) rms error of y_k, percent, other families fitted")
    table = held_out_errors(known)
    print(table.round(1).to_string())
    print("median of 15:", table.median().round(1).to_dict())

    print("\n(b) mean of the 25 at k = 1, percent: calibration B - y, shape D - B, sum; ln(h / CE)")
    measured = {text: exponents(of_text(known, text), Job.y) for text in KNOWN_TEXTS}
    for text in KNOWN_TEXTS:
        jobs = of_text(known, text)
        calibration, shape = calibration_errors(jobs)[1], cancellation(jobs)
        ratio = text_facts(jobs)["calibration"]
        print(f"{text:10s} {calibration:+.1f} {shape:+.1f} {calibration + shape:+.1f} {ratio:+.3f}")

    print("\n(c) eps_k: measured, then median and worst error of D, H (other texts) and B, percent")
    for text in KNOWN_TEXTS:
        others = {other: eps for other, eps in measured.items() if other != text}
        errors = exponent_errors(of_text(known, text), others)
        eps = " ".join(f"{value:.2f}" for value in measured[text].values())
        pairs = ", ".join(f"{name} {a:.1f} {b:.1f}" for name, (a, b) in errors.items())
        print(f"{text:10s} {eps}   {pairs}")

    print("\n(d) kappa_k, and rms shape errors D - B at k = 1, 10, 100, percent")
    for text in KNOWN_TEXTS:
        jobs = of_text(known, text)
        kappa = " ".join(f"{value:.3f}" for value in kappas(jobs).values())
        shapes = " ".join(f"{value:.1f}" for value in shape_errors(jobs).values())
        print(f"{text:10s} {kappa}   {shapes}")
    print("sd of G_10 between texts:", spread_of_hit_rates(known).round(3))
    print("\nchance:", {name: round(share, 4) for name, share in chances(known).items()})
    print("chance, question 2, 20 units:", chance_of_entropy(known, 20))


def text_answers(known: Jobs) -> None:
    """Print questions 1, 3, 4 and 5, on the three new texts."""
    texts = load_jobs("text-ranks")
    measured = {text: exponents(of_text(known, text), Job.y) for text in KNOWN_TEXTS}
    for text in sorted({text for _, text in texts}):
        jobs = of_text(texts, text)
        facts = text_facts(jobs)
        print(f"\n{text}: {facts}, least R2 {straightness(jobs):.4f}")
        print("  1, D - B:", {k: round(error, 1) for k, error in shape_errors(jobs).items()})
        errors = exponent_errors(jobs, measured)
        print("  3, median and worst:", {name: np.round(e, 1) for name, e in errors.items()})
        print("  3 holds here:", zipf_exponents_hold(errors))
        print(f"  4, D - B at k = 1: {cancellation(jobs):+.1f}")
        kappa = kappas(jobs)
        print("  5, kappa:", {k: round(value, 3) for k, value in kappa.items()}, odds_hold(jobs))
        print(odds_levels(jobs).round(1).to_string(index=False))


def run_answers(known: Jobs, unit_of: Mapping[str, str]) -> None:
    """Print questions 2 and 6, on the runs that are finished."""
    runs = [job for name in ("E", "M", "P") for job in load_jobs(name).values()]
    table = residuals(runs, known, unit_of)
    print((100 * table.drop(columns="jobs")).round(1).assign(jobs=table["jobs"]).to_string())
    for predictor in ("C", "B", "Q", "F"):
        result = judged(table, predictor)
        print(f"\n2, {predictor}: {entropy_verdict(result)}")
        print(result.round(2).to_string(index=False))

    losses = own_and_other_loss(list(load_jobs("M").values()), known)
    print("\n6\n", losses.round(2).to_string(index=False))
    for k in LEVELS:
        of_k = losses[losses["k"] == k]
        own, other = root_mean_square(of_k["own"]), root_mean_square(of_k["other"])
        print(f"k = {k}: own {own:.1f} (at most {OWN_LOSS[k]}), other {other:.1f}")


def temperature_answers() -> None:
    """Print question 7. In the table the rows with a temperature come after those at T = 1."""
    at_1, fitted = load_both("temperature").values()
    for text in KNOWN_TEXTS:
        before, after = (calibration_errors(of_text(jobs, text)) for jobs in (at_1, fitted))
        print(text, {k: (round(before[k], 1), round(after[k], 1)) for k in LEVELS})
    spread, spread_left = spread_of_hit_rates(at_1), spread_of_hit_rates(fitted)
    print("sd of G_10 between texts:", spread.round(3), spread_left.round(3))
    of_means = spread_left.mean() / spread.mean()
    mean_ratio = (spread_left / spread).mean()
    print(f"{of_means:.2f} of their mean is left; the mean of the six ratios is {mean_ratio:.2f}")


def undone_answers() -> None:
    """Print the entry on smoothing undone by a temperature: its two questions."""
    known, runs = load_both("temperature"), load_both("undone")
    for way in known:
        jobs = list(runs[way].values())
        pairs = smoothed_minus_unchanged(excess(jobs, known[way]))
        print(f"{way}: {len(pairs)} pairs\n", pairs.agg(["mean", "std"]).round(2).to_string())
        for units, means in {"pairs": pairs, "seeds": pairs.groupby("seed").mean()}.items():
            low, high = stats.ttest_1samp(means, 0).confidence_interval()
            print(f"  95%, {units}:", np.column_stack([low, high]).round(2).tolist())
        unit_of = {job.model: re.sub(r"-seed\d+", "", job.model) for job in jobs}
        table = residuals(jobs, known[way], unit_of)
        print((100 * table.drop(columns="jobs")).round(1).assign(jobs=table["jobs"]).to_string())
        result = judged(table)
        print(f"C: {entropy_verdict(result)}\n{result.round(2).to_string(index=False)}\n")


def real_answers() -> None:
    """Print what stands beside question 7: B - y of the models of set R, percent, at T = 1."""
    for (model, text), job in load_jobs("R").items():
        ratio = np.log(job.total(job.entropy) / job.CE)
        errors = {k: round(error, 1) for k, error in calibration_errors([job]).items()}
        print(f"{model} {text}: {job.n.sum():.0f} tokens, CE {job.CE:.3f}, ln(h / CE) {ratio:+.3f}")
        print("  B - y:", errors)


if __name__ == "__main__":
    known = load_jobs("known")
    what = sys.argv[1] if len(sys.argv) > 1 else "known"
    if what == "known":
        known_tables(known)
    elif what == "texts":
        text_answers(known)
    elif what == "runs":
        names = {job.model for name in ("E", "M", "P") for job in load_jobs(name).values()}
        run_answers(known, {name: re.sub(r"-seed\d+", "", name) for name in names})
    elif what == "real":
        real_answers()
    elif what == "undone":
        undone_answers()
    else:
        temperature_answers()
