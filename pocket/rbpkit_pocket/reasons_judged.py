"""The seven questions of `docs/margins.md`, three reasons for one axis, as they are counted.

Each function takes jobs (`reasons.Job`) and returns the numbers of its question; the margins stand
beside them as constants. `python -m rbpkit_pocket.reasons_judged WHAT` prints the answers from the
tables that ship: texts (1, 3, 4, 5), runs (2, 6), temperature (7), real (beside 7) or undone (the
entry on smoothing). The code of the entry itself, at 2bfad478, prints what was known before it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from rbpkit.fit import root_mean_square
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
)

Jobs = Mapping[tuple[str, str], Job]
Numbers = dict[tuple[str, int], float]
NumbersOf = Callable[[Job, Sequence[Job]], Numbers]

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
        of_models = [by_zipf(job, k) - own_mass(job, k) for job in jobs]
        errors[k] = 100 * root_mean_square(of_models)
    return errors


def exponent_errors(
    jobs: Sequence[Job], known: Mapping[str, Mapping[int, float]]
) -> dict[str, tuple[float, float]]:
    """Question 3: median and worst of |ln(predicted / measured)| over six k, percent; by D, H, B.

    known: text -> eps_k, whose mean is H.
    """
    measured = exponents(jobs, Job.y)
    rival = pd.DataFrame(known).mean(axis="columns").to_dict()
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


def odds_levels(jobs: Sequence[Job]) -> pd.DataFrame:
    """Beside question 5: rms errors, percent, of L, and of A fitted to five random models."""
    smallest = next(job for job in jobs if job.model == SMALLEST)
    rest = [job for job in jobs if job is not smallest]
    log_CE = np.log([job.CE for job in rest])
    random = np.random.default_rng(0)
    chosen = [random.choice(len(rest), 5, replace=False) for _ in range(100)]
    rows = []
    for k in LEVELS:
        y = np.array([job.y(k) for job in rest])
        by_five = []
        for five in chosen:
            others = np.setdiff1d(np.arange(len(rest)), five)
            fitted = parabola(log_CE[five], y[five])
            by_five.append(root_mean_square(fitted(log_CE[others]) - y[others]))
        error = root_mean_square([by_odds(job, smallest, k) - job.y(k) for job in rest])
        rows.append((k, 100 * error, 100 * float(np.median(by_five))))
    return pd.DataFrame(rows, columns=["k", "L", "A of five"])


# --- question 2: does entropy say more than CE? ----------------------------------------------


def _beyond_loss(runs: Iterable[Job], known: Jobs, numbers_of: NumbersOf) -> pd.DataFrame:
    """What is left of numbers of runs after a parabola in ln CE of the 25: model, text, k, name.

    numbers_of: a job and the others whose entropies it may have -> (name, k) -> a number.
    Runs whose ln CE is more than 0.05 beyond the range of the 25 on a text are left out there.
    """
    runs = list(runs)
    rows = []
    for text in KNOWN_TEXTS:
        reference = of_text(known, text)
        log_CE = np.log([job.CE for job in reference])
        of_reference = []
        for job in reference:
            others = [other for other in reference if other is not job]
            of_reference.append(numbers_of(job, others))
        expected = {}
        for key in of_reference[0]:
            expected[key] = parabola(log_CE, np.array([numbers[key] for numbers in of_reference]))
        for job in runs:
            x = np.log(job.CE)
            if job.text != text or not log_CE.min() - BEYOND <= x <= log_CE.max() + BEYOND:
                continue
            for (name, k), number in numbers_of(job, reference).items():
                rows.append((job.model, text, k, name, number - float(expected[name, k](x))))
    return pd.DataFrame(rows, columns=["model", "text", "k", "name", "value"])


def residuals(runs: Iterable[Job], known: Jobs, unit_of: Mapping[str, str]) -> pd.DataFrame:
    """What is left of y_k, and of predictors C, B, Q, F, after a parabola in ln CE of the 25.

    unit_of: run -> recipe and size; seeds and texts are averaged. Runs far beyond the 25 are left
    out, as in `excess`. Index: unit, k. Columns: r, C, B, Q, F (ln), jobs.
    """
    pooled = [job for text in POOLED_TEXTS for job in of_text(known, text)]
    hits, masses, loss = hit_curves(pooled), mass_curves(pooled), loss_curve(pooled)

    def predictions(job: Job, others: Sequence[Job]) -> Numbers:
        scaled = by_other(job, others, loss, hits)
        values: Numbers = {}
        for k in LEVELS:
            values["r", k] = job.y(k)
            values["C", k] = by_entropy(job, hits[k])
            values["B", k] = own_mass(job, k)
            values["Q", k] = by_entropy(job, masses[k])
            values["F", k] = scaled[k]
        return values

    table = _beyond_loss(runs, known, predictions)
    table["unit"] = table["model"].map(unit_of)
    means = table.pivot_table(index=["unit", "k"], columns="name", values="value", aggfunc="mean")
    means["jobs"] = table[table["name"] == "r"].groupby(["unit", "k"]).size()
    return means[["r", "C", "B", "Q", "F", "jobs"]]


def excess(runs: Iterable[Job], known: Jobs) -> pd.DataFrame:
    """y_k of each run beyond a parabola in ln CE of the 25, percent: model, text, k, r.

    Runs whose ln CE is more than 0.05 beyond the range of the 25 on a text are left out there.
    """

    def measured(job: Job, others: Sequence[Job]) -> Numbers:
        return {("r", k): job.y(k) for k in LEVELS}

    table = _beyond_loss(runs, known, measured)
    return table.assign(r=100 * table["value"])[["model", "text", "k", "r"]]


def smoothed_minus_unchanged(table: pd.DataFrame) -> pd.DataFrame:
    """The difference of `excess` for each size and seed, percent, mean of texts: a column per k.

    Only texts count on which both runs do.
    """
    parts = table["model"].str.extract(r"(?P<size>.+)-(?P<change>smoothed|unchanged)-(?P<seed>.+)")
    runs = table.join(parts)
    pairs = runs.pivot(index=["size", "seed", "k", "text"], columns="change", values="r").dropna()
    difference = pairs["smoothed"] - pairs["unchanged"]
    return difference.groupby(["size", "seed", "k"]).mean().unstack()


def left_over(r: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q = sum (r - c)^2 / sum r^2, and the slope b of r on c through 0, over the last axis."""
    q = np.sum((r - c) ** 2, axis=-1) / np.sum(r**2, axis=-1)
    b = np.sum(r * c, axis=-1) / np.sum(c**2, axis=-1)
    return q, b


def judged(table: pd.DataFrame, predictor: str = "C", draws: int = 10_000) -> pd.DataFrame:
    """Question 2, at each level: q and b with 95% intervals of a bootstrap over units."""
    random = np.random.default_rng(42)
    rows = []
    for k in LEVELS:
        of_k = table.xs(k, level="k")
        r, c = of_k["r"].to_numpy(), of_k[predictor].to_numpy()
        q, b = left_over(r, c)
        drawn = random.integers(len(r), size=(draws, len(r)))
        qs, bs = left_over(r[drawn], c[drawn])
        ends = [*np.quantile(qs, [0.025, 0.975]), *np.quantile(bs, [0.025, 0.975])]
        rows.append((k, len(r), q, b, *ends))
    columns = ["k", "units", "q", "b", "q_low", "q_high", "b_low", "b_high"]
    return pd.DataFrame(rows, columns=columns)


def entropy_verdict(table: pd.DataFrame) -> str:
    """Question 2: "holds", "fails" or "cannot be told"."""
    slopes = (table["b_low"] >= SLOPES[0]) & (table["b_high"] <= SLOPES[1])
    holds = (table["q"] <= Q_HOLDS) & (table["q_high"] < 1) & slopes
    if holds.sum() >= 2:
        return "holds"
    return "fails" if (table["q"] >= Q_FAILS).sum() >= 2 else "cannot be told"


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
    errors = {}
    for k in LEVELS:
        of_models = [own_mass(job, k) - job.y(k) for job in jobs]
        errors[k] = 100 * float(np.mean(of_models))
    return errors


def spread_of_hit_rates(jobs: Jobs, texts: Sequence[str] = KNOWN_TEXTS) -> np.ndarray:
    """(6,) the standard deviation between texts of G_10 at six entropies."""
    curves = [hit_curves(of_text(jobs, text))[10] for text in texts]
    return np.std([curve(np.array(ENTROPIES)) for curve in curves], axis=0, ddof=1)


# --- what is printed -------------------------------------------------------------------------


def load_jobs(name: str) -> dict[tuple[str, str], Job]:
    """The jobs of a table that ships (`data/tables/reasons`)."""
    return jobs_of(pd.read_csv(paths.REASONS / f"{name}.csv.gz"))


def load_both(name: str) -> dict[str, dict[tuple[str, str], Job]]:
    """The jobs of a table with temperatures: as the models are, and with the fitted ones."""
    table = pd.read_csv(paths.REASONS / f"{name}.csv.gz")
    as_it_is = table["T"] == 1
    return {"T = 1": jobs_of(table[as_it_is]), "fitted": jobs_of(table[~as_it_is])}


def text_answers() -> None:
    """Print questions 1, 3, 4 and 5, on the three new texts."""
    known, texts = load_jobs("known"), load_jobs("text-ranks")
    measured = {text: exponents(of_text(known, text), Job.y) for text in KNOWN_TEXTS}
    for text in sorted({text for _, text in texts}):
        jobs = of_text(texts, text)
        errors = exponent_errors(jobs, measured)
        print(f"\n{text}: {text_facts(jobs)}, least R2 {straightness(jobs):.4f}")
        print("  1, D - B:", _rounded(shape_errors(jobs), 1))
        print("  3, median and worst:", {name: np.round(e, 1) for name, e in errors.items()})
        print("  3 holds here:", zipf_exponents_hold(errors))
        print(f"  4, D - B at k = 1: {cancellation(jobs):+.1f}")
        print("  5, kappa:", _rounded(kappas(jobs), 3), odds_hold(jobs))
        print(odds_levels(jobs).round(1).to_string(index=False))


def run_answers() -> None:
    """Print questions 2 and 6, on the runs that are finished."""
    known = load_jobs("known")
    runs = [job for name in ("E", "M", "P") for job in load_jobs(name).values()]
    _print_entropy(runs, known, ("C", "B", "Q", "F"))
    losses = own_and_other_loss(list(load_jobs("M").values()), known)
    print("\n6\n", losses.round(2).to_string(index=False))
    rms = losses.groupby("k")[["own", "other"]].agg(root_mean_square)
    print(rms.assign(allowed=OWN_LOSS).round(1).to_string())


def _print_entropy(jobs: Sequence[Job], known: Jobs, predictors: Sequence[str]) -> None:
    """Print question 2 on some runs: what each unit has beyond CE, percent, and the verdicts."""
    unit_of = {job.model: re.sub(r"-seed\d+", "", job.model) for job in jobs}
    table = residuals(jobs, known, unit_of)
    in_percent = 100 * table.drop(columns="jobs")
    print(in_percent.round(1).assign(jobs=table["jobs"]).to_string())
    for predictor in predictors:
        result = judged(table, predictor)
        print(f"\n2, {predictor}: {entropy_verdict(result)}")
        print(result.round(2).to_string(index=False))


def temperature_answers() -> None:
    """Print question 7. In the table the rows with a temperature come after those at T = 1."""
    at_1, fitted = load_both("temperature").values()
    for text in KNOWN_TEXTS:
        before, after = (calibration_errors(of_text(jobs, text)) for jobs in (at_1, fitted))
        print(text, _rounded(before, 1), _rounded(after, 1))
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
        _print_entropy(jobs, known[way], ("C",))


def real_answers() -> None:
    """Print what stands beside question 7: B - y of the models of set R, percent, at T = 1."""
    for (model, text), job in load_jobs("R").items():
        ratio = np.log(job.total(job.entropy) / job.CE)
        print(f"{model} {text}: {job.n.sum():.0f} tokens, CE {job.CE:.3f}, ln(h / CE) {ratio:+.3f}")
        print("  B - y:", _rounded(calibration_errors([job]), 1))


def _rounded(numbers: Mapping[int, float], digits: int) -> dict[int, float]:
    return {k: round(number, digits) for k, number in numbers.items()}


ANSWERS = {
    "texts": text_answers,
    "runs": run_answers,
    "temperature": temperature_answers,
    "undone": undone_answers,
    "real": real_answers,
}

if __name__ == "__main__":
    ANSWERS[sys.argv[1]]()
