"""The predictors of three reasons for one axis, by a second implementation in plain loops.

It shares the tables of bins with the first, and no code.
"""

import csv
import gzip
import itertools
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from rbpkit_pocket import paths, reasons, reasons_judged

V = 4096
JOBS = [("gpt2-w32-l2", "prose"), ("pythia-w192-l7", "readme"), ("qwen-w96-l3", "humaneval")]


def rows_of_known():
    """(model, text) -> bin -> [n, entropy, nll, hits at 1, 10, 100], as floats."""
    jobs = defaultdict(lambda: defaultdict(lambda: [0.0] * 6))
    columns = ["n", "entropy", "nll", "hits_1", "hits_10", "hits_100"]
    with gzip.open(paths.REASONS / "known.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            sums = jobs[row["model"], row["text"]][int(row["bin"])]
            for i, column in enumerate(columns):
                sums[i] += float(row[column])
    return jobs


def zipf(h, k):
    """The mass of the first k ranks under a Zipf law of entropy h; its exponent by bisection."""
    low, high = 0.0, 50.0
    for _ in range(50):
        s = (low + high) / 2
        weights = [r**-s for r in range(1, V + 1)]
        total = math.fsum(weights)
        mean_log = math.fsum(w * math.log(r) for r, w in enumerate(weights, start=1)) / total
        entropy = math.log(total) + s * mean_log
        low, high = (s, high) if entropy > h else (low, s)
    return math.fsum(weights[:k]) / total


@pytest.fixture(scope="module")
def jobs():
    return rows_of_known()


@pytest.fixture(scope="module")
def known():
    return reasons_judged.load_jobs("known")


@pytest.mark.parametrize("place", JOBS)
def test_hit_rate_given_the_entropy(jobs, known, place):
    """Predictor C at k = 10."""
    pooled = defaultdict(lambda: [0.0, 0.0, 0.0])
    for (_, text), bins in jobs.items():
        if text in ("prose", "code", "qa"):
            for number, (n, entropy, _, _, hits, _) in bins.items():
                for i, value in enumerate((n, entropy, hits)):
                    pooled[number][i] += value
    assert min(n for n, _, _ in pooled.values()) >= 30  # so that no bins are joined
    nodes = [(entropy / n, hits / n) for n, entropy, hits in (pooled[b] for b in sorted(pooled))]

    def rate(h):
        if h <= nodes[0][0]:
            return nodes[0][1]
        for (left, below), (right, above) in itertools.pairwise(nodes):
            if h <= right:
                return below + (above - below) * (h - left) / (right - left)
        return nodes[-1][1]

    bins = jobs[place].values()
    total = math.fsum(n for n, *_ in bins)
    mean = math.fsum(n * rate(entropy / n) for n, entropy, *_ in bins) / total
    texts = reasons.POOLED_TEXTS
    reference = [known[model, text] for model in reasons.MODELS for text in texts]
    curve = reasons.hit_curves(reference)[10]
    assert reasons.by_entropy(known[place], curve) == pytest.approx(
        math.log(-math.log(mean)), abs=5e-6
    )


def test_zipf_contexts(jobs, known):
    """Predictor D at k = 1 and 100."""
    bins = jobs[JOBS[0]].values()
    total = math.fsum(n for n, *_ in bins)
    for k in (1, 100):
        mean = math.fsum(n * zipf(entropy / n, k) for n, entropy, *_ in bins) / total
        expected = math.log(-math.log(mean))
        assert reasons.by_zipf(known[JOBS[0]], k) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize("place", JOBS)
def test_proportional_odds(jobs, known, place):
    """Predictor L at k = 100."""
    totals = {}
    for model in (place[0], "gpt2-w32-l2"):
        n, _, nll, _, _, hits = map(math.fsum, zip(*jobs[model, place[1]].values(), strict=True))
        totals[model] = nll / n, hits / n
    CE, _ = totals[place[0]]
    CE_of_smallest, share = totals["gpt2-w32-l2"]
    logit = math.log(share / (1 - share)) - 0.613 * (CE - CE_of_smallest)
    expected = math.log(-math.log(1 / (1 + math.exp(-logit))))
    smallest = known["gpt2-w32-l2", place[1]]
    assert reasons.by_odds(known[place], smallest, 100) == pytest.approx(expected, abs=5e-6)


def test_a_planted_reason_is_found():
    """Question 2 on units whose residual is what entropies say, and on units where it is not."""
    random = np.random.default_rng(0)
    c = random.normal(0, 0.02, 20)
    for r, verdict in ((c + random.normal(0, 0.004, 20), "holds"), (-c, "fails")):
        parts = []
        for k in reasons.LEVELS:
            table = {"unit": range(20), "k": k, "r": r, "C": c}
            parts.append(pd.DataFrame(table).set_index(["unit", "k"]))
        table = reasons_judged.judged(pd.concat(parts), draws=500)
        assert reasons_judged.entropy_verdict(table) == verdict


def test_what_is_left_of_smoothing_by_plain_sums():
    """The six pairs of the entry on smoothing, at T = 1 and with temperatures, k = 10."""
    off = {True: {}, False: {}}
    tables = {}
    for name in ("temperature", "undone"):
        table = pd.read_csv(paths.REASONS / f"{name}.csv.gz")
        sums = table.groupby([table["T"] == 1, "text", "model"])[["n", "nll", "hits_10"]].sum()
        sums["x"] = np.log(sums["nll"] / sums["n"])
        sums["y"] = np.log(-np.log(sums["hits_10"] / sums["n"]))
        tables[name] = sums
    for is_1, text in itertools.product((True, False), reasons.KNOWN_TEXTS):
        x, y = tables["temperature"].loc[is_1, text][["x", "y"]].to_numpy().T
        a, b, c = np.linalg.lstsq(np.vander(x, 3), y, rcond=None)[0]
        for model, run in tables["undone"].loc[is_1, text].iterrows():
            known = min(run["x"], x.max())  # beyond it the parabola goes on as its tangent
            expected = a * known**2 + b * known + c
            expected += (2 * a * known + b) * (run["x"] - known)
            off[is_1].setdefault(model, []).append(run["y"] - expected)
    for is_1, mean in ((True, -1.84), (False, -0.93)):
        pairs = []
        for model in off[is_1]:
            if "smoothed" in model:
                other = model.replace("smoothed", "unchanged")
                pairs.append(np.mean(off[is_1][model]) - np.mean(off[is_1][other]))
        assert len(pairs) == 6 and 100 * np.mean(pairs) == pytest.approx(mean, abs=0.006)
