"""Runs that ship as totals: the grid of sizes and tokens, controls, other seeds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from rbpkit.cli.pocket import save_losses
from rbpkit.corpora import POCKET_CORPORA
from rbpkit.errors import InputError
from rbpkit.pocket import recipes
from rbpkit.pocket.controls import (
    CONTROL_TOKENS,
    CONTROLS,
    SEEDS,
    controls_path,
    grid_path,
    load_totals,
    pairs_path,
    save_totals,
    size_and_tokens,
    totals_of,
)


@pytest.fixture(scope="module")
def grid():
    return load_totals(grid_path())


def changed(one, **fields):
    """A summary or totals with other fields of its manifest."""
    return dataclasses.replace(one, manifest=one.manifest.model_copy(update=fields))


def only(summaries, **fields):
    """Those whose manifests have these fields."""
    return [s for s in summaries if all(getattr(s.manifest, f) == fields[f] for f in fields)]


GRID_TOKENS = (1_500_000, 3_000_000, 6_000_000)  # and 12 million


def test_the_grid_is_whole_and_its_losses_are_those_of_the_totals(grid):
    table = size_and_tokens(grid, (1, 100))
    assert not table.duplicated(["corpus", "quantity", "S", "T"]).any()
    names = [run.name for run in recipes.runs_of("Pythia")]
    # The two largest, of over a million parameters, are trained on 12 million tokens alone.
    expected = {(name, 12e6) for name in names}
    expected |= {(name, float(T)) for name in names[:-2] for T in GRID_TOKENS}
    for _, part in table.groupby(["corpus", "quantity"]):
        assert set(zip(part["model"], part["T"], strict=True)) == expected
        assert len(part) == len(expected)
    assert set(table["corpus"]) == set(POCKET_CORPORA) and CONTROL_TOKENS in GRID_TOKENS
    one = grid[0]
    rows = table[(table["corpus"] == one.manifest.corpus) & (table["S"] == one.manifest.S)]
    rows = rows[rows["T"] == 1e6 * float(one.manifest.model.split("-")[-1][:-1])]
    expected = {"CE": one.ce(), "RBP_1": -np.log(one.rbp(1)), "RBP_100": -np.log(one.rbp(100))}
    assert dict(zip(rows["quantity"], rows["loss"], strict=True)) == pytest.approx(expected)
    with pytest.raises(InputError, match="pythia-w32-l2 is not of the grid"):
        size_and_tokens([changed(one, model="pythia-w32-l2")], (1,))


def test_a_control_ships_on_every_corpus():
    totals = load_totals(controls_path())
    ships = {one.manifest.model for one in totals}
    assert ships <= {run.name for run in CONTROLS}
    pairs = {(one.manifest.model, one.manifest.corpus) for one in totals}
    assert len(pairs) == len(totals) == len(ships) * len(POCKET_CORPORA)


def test_pairs_and_other_tokens_are_the_whole_of_every_model_of_the_grid(grid):
    others, pairs = (
        {(one.manifest.corpus, one.manifest.model): one for one in load_totals(pairs_path(kind))}
        for kind in (False, True)
    )
    assert pairs.keys() == others.keys()
    for one in grid:
        key = one.manifest.corpus, one.manifest.model
        both = pairs[key].plus(others[key])
        assert both.manifest.tokens == one.manifest.tokens
        # Up to a rank: they may have been measured on different processors.
        assert max(abs(hits - both.hits[k]) for k, hits in one.hits.items()) <= 2  # of 100,000
        assert both.ce() == pytest.approx(one.ce())


def test_every_other_seed_ships_with_its_loss_curve():
    for completed in (True, False):
        table = size_and_tokens(load_totals(pairs_path(completed)), (1,))
        seeds = table[table["seed"] > 0]
        names = seeds["model"] + "-seed" + seeds["seed"].astype(str)
        ships = set(zip(names, seeds["corpus"], strict=True))
        assert ships == {(run.name, corpus) for run in SEEDS for corpus in POCKET_CORPORA}
    for run in SEEDS:
        log = pd.read_csv(recipes.DATA / "runs" / f"{run.name.replace('-seed', '-12m-seed')}.csv")
        assert log["step"].iloc[-1] == run.recipe.steps


def test_totals_are_those_of_the_summary(shipped, tmp_path):
    one = only(shipped, corpus="pocket:humaneval")[0]
    whole = totals_of(one)
    assert whole.manifest == one.manifest and whole.ce() == one.ce()
    assert all(whole.rbp(int(k)) == one.rbp(int(k)) for k in one.k_grid)
    with pytest.raises(InputError, match=r"k = 11, .* was counted at k = 1, 2"):
        whole.rbp(11)
    path = tmp_path / "totals.jsonl.gz"
    save_totals([whole], path)
    assert load_totals(path) == [whole]
    path.write_bytes(path.read_bytes()[:-20])
    for broken in (path, tmp_path / "none.jsonl.gz"):
        with pytest.raises(InputError, match=f"{broken.name}: missing or damaged"):
            load_totals(broken)


def test_losses_are_drawn_from_a_folder_of_runs(tmp_path):
    for name, start in (("opt-w32-l2", 8.0), ("pythia-w32-l2", 7.5)):
        (tmp_path / name).mkdir()
        log = pd.DataFrame(
            {
                "step": [20, 40],
                "tokens": [81920, 163840],
                "loss": [start, start - 1],
                "valid_ce": [None, start - 0.9],
            }
        )
        log.to_csv(tmp_path / name / "log.csv", index=False)
    assert save_losses(tmp_path) == tmp_path / "losses.png"
    assert (tmp_path / "losses.png").stat().st_size > 5000
    points = pd.read_csv(tmp_path / "losses.csv")
    assert set(points["run"]) == {"opt-w32-l2", "pythia-w32-l2"} and len(points) == 4
    with pytest.raises(InputError, match="no log of a training run"):
        save_losses(tmp_path / "nowhere")
