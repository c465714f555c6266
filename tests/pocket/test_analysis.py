"""The pocket ladders as an experiment: other sizes, controls, the law along training."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from rbpkit.errors import InputError
from rbpkit.fit import fit_all
from rbpkit.pocket import analysis, analysis_figures, ladders
from rbpkit.pocket.controls import (
    CONTROLS,
    along_path,
    controls_path,
    grid_path,
    load_totals,
    save_totals,
    totals_of,
)
from rbpkit.records import load_summaries


@pytest.fixture(scope="module")
def shipped():
    return load_summaries(ladders.summaries_root())


def changed(one, **fields):
    """A summary or totals with other fields of its manifest."""
    return dataclasses.replace(one, manifest=dataclasses.replace(one.manifest, **fields))


def only(summaries, **fields):
    """Those whose manifests have these fields."""
    return [s for s in summaries if all(getattr(s.manifest, f) == fields[f] for f in fields)]


@pytest.mark.parametrize(
    ("family", "size", "S", "over_time"),
    [
        ("Pythia", 2, 200_064, 6 * 4 * 64 * 256),  # width 64, 4 layers: attention
        ("Mamba", 0, 39_840, 4 * 2 * 32 * 16 * 3 * 2 * 3),  # width 32, 4 layers: a scan
    ],
)
def test_flops_are_six_a_token_and_weight_and_attention_or_scan(family, size, S, over_time):
    run = ladders.ladder_runs(family)[size]
    tokens = 6_000_000 // 4096 * 4096
    a_token = 6 * (S + run.shape.width * 4096) + over_time
    assert analysis.training_flops(S, run) == tokens * a_token


def test_against_S_the_fit_is_the_law_itself(shipped):
    corpora, families = ["pocket:code", "pocket:legal"], ["Pythia", "nobody"]
    table = analysis.by_size_measure(shipped, corpora, families, (1, 10))
    assert len(table) == 2 * 3 * 3  # corpora, quantities, sizes
    keys = ["corpus", "family", "quantity"]
    law = fit_all(shipped, (1, 10)).table.set_index(keys)
    for _, row in table[table["size"] == "S"].iterrows():
        same = law.loc[tuple(row[keys])]
        assert row["slope"] == pytest.approx(same["slope"])
        assert (row["low"], row["high"]) == pytest.approx((same["low"], same["high"]))
    # The head makes the smallest models larger, so the same losses lie on a shorter axis.
    spans = table.groupby("size")["decades"].first()
    assert spans["S + dV"] < spans["S"] and spans["FLOPs"] < spans["S"]
    steeper = table.pivot(index=keys, columns="size", values="slope")
    assert (steeper["S + dV"] < steeper["S"]).all()


def test_lines_read_at_one_size_are_the_laws_own(shipped):
    families = ["OPT", "Pythia", "nobody"]
    table = analysis.at_one_size(shipped, ["pocket:code", "nowhere"], families, (1,))
    assert list(table["family"]) == ["OPT", "Pythia"] * 2
    assert list(table["quantity"]) == ["CE", "CE", "RBP_1", "RBP_1"]
    sizes = {f: [s.manifest.S for s in only(shipped, family=f)] for f in families[:2]}
    least, most = max(map(min, sizes.values())), min(map(max, sizes.values()))
    assert set(table["S"]) == {math.sqrt(least * most)}
    law = fit_all(shipped, (1,)).table.set_index(["corpus", "family", "quantity"])
    for _, row in table.iterrows():
        same = law.loc[row["corpus"], row["family"], row["quantity"]]
        columns = ["n", "slope", "low", "high", "R2"]
        assert list(row[columns]) == pytest.approx(list(same[columns]))
        at_S = same["intercept"] + same["slope"] * math.log(row["S"])
        assert math.log(row["loss"]) == pytest.approx(at_S)


def test_nothing_to_compare_is_an_empty_table_and_another_text_an_error(shipped):
    table = analysis.at_one_size(shipped, ["nowhere"], ["Pythia"], (1,))
    assert table.empty and {"family", "slope", "loss"} <= set(table.columns)
    code = only(shipped, corpus="pocket:code")
    other = [changed(s, fingerprint="another") for s in only(code, family="OPT")]
    other += only(code, family="Pythia")
    with pytest.raises(InputError, match="measured on different text"):
        analysis.at_one_size(other, ["pocket:code"], ["OPT", "Pythia"], (1,))
    with pytest.raises(InputError, match="measured more than once"):
        analysis.at_one_size([*code, *code], ["pocket:code"], ["OPT"], (1,))


def test_families_that_share_no_size_have_no_line_to_compare(shipped):
    code = only(shipped, corpus="pocket:code", family="Pythia")
    pythia = sorted(code, key=lambda s: s.manifest.S)
    small = [changed(s, family="small") for s in pythia[:3]]
    with pytest.raises(InputError, match="pocket:code: no S lies in the range of every family"):
        analysis.at_one_size([*small, *pythia[3:]], ["pocket:code"], ["small", "Pythia"], (1,))


def test_a_control_that_changes_nothing_is_on_its_base(shipped):
    control = CONTROLS[0]
    same = [changed(s, model=control.run.name) for s in only(shipped, model=control.against)]
    table = analysis.controls_table(shipped, same, (1, 10))
    assert len(table) == len(same) * 3
    assert np.allclose(table["against base"], 0)
    assert table["against line"].abs().max() < 5
    assert (table["loss"] == table["base"]).all()


def test_a_control_without_its_ladder_is_refused(shipped):
    control = CONTROLS[0]
    (one,) = only(shipped, model=control.against, corpus="pocket:code")
    others = [s for s in shipped if s.manifest.model != control.against]
    with pytest.raises(InputError, match=f"{control.run.name} on pocket:code: .* is not there"):
        analysis.controls_table(others, [changed(one, model=control.run.name)], (1,))


def test_slope_between_the_ends_by_training_tokens(shipped):
    table = analysis.slopes_between_ends(shipped, load_totals(controls_path()), (1,))
    assert table["tokens"].nunique() == 3 and len(table) == 4 * 3 * 2
    once = table[(table["tokens"] == sorted(set(table["tokens"]))[1])]
    row = once[(once["corpus"] == "pocket:code") & (once["quantity"] == "RBP_1")].iloc[0]
    names = ("pythia-w32-l2", "pythia-w128-l5")
    ends = [only(shipped, corpus="pocket:code", model=name)[0] for name in names]
    S, loss = [one.manifest.S for one in ends], [-np.log(one.rbp(1)) for one in ends]
    assert row["slope"] == pytest.approx(np.log(loss[1] / loss[0]) / np.log(S[1] / S[0]))
    assert analysis.slopes_between_ends(shipped, [], (1,))["tokens"].nunique() == 1


def test_along_training_the_end_is_the_ladder(shipped):
    code = only(shipped, corpus="pocket:code", family="Pythia")
    along = [changed(s, model=f"{s.manifest.model}-t90112") for s in code]
    table = analysis.along_training(along, shipped, (1,))
    assert set(table["corpus"]) == {"pocket:code"} and set(table["quantity"]) == {"CE", "RBP_1"}
    early, late = (table[table["tokens"] == t] for t in (90_112, 5_996_544))
    assert len(early) == len(late) == 2 and (early["n"] == len(code)).all()
    columns = ["slope", "low", "high", "R2", "smallest", "largest"]
    assert np.allclose(early[columns], late[columns])
    assert (table["smallest"] > table["largest"]).all()


def test_the_grid_is_whole_and_its_losses_are_those_of_the_totals():
    totals = load_totals(grid_path())
    table = analysis.size_and_tokens(totals, (1, 100))
    assert not table.duplicated(["corpus", "quantity", "S", "T"]).any()
    grid, larger = table[table["S"] < 1e6], table[table["S"] > 1e6]
    for part, shape in ((grid, [6, 4]), (larger, [2, 1])):
        counted = part.groupby(["corpus", "quantity"])[["S", "T"]].nunique()
        assert len(counted) == 5 * 3 and (counted == shape).all(axis=None)
    assert len(grid) == 5 * 3 * 24 and len(larger) == 5 * 3 * 2 and (larger["T"] == 12e6).all()
    of_text = {(one.manifest.corpus, one.manifest.fingerprint) for one in totals}
    assert len(of_text) == 5
    one = totals[0]
    rows = table[(table["corpus"] == one.manifest.corpus) & (table["S"] == one.manifest.S)]
    rows = rows[rows["T"] == 1e6 * float(one.manifest.model.split("-")[-1][:-1])]
    expected = {"CE": one.ce(), "RBP_1": -np.log(one.rbp(1)), "RBP_100": -np.log(one.rbp(100))}
    assert dict(zip(rows["quantity"], rows["loss"], strict=True)) == pytest.approx(expected)
    with pytest.raises(InputError, match="pythia-w32-l2 is no model of the grid"):
        analysis.size_and_tokens([changed(one, model="pythia-w32-l2")], (1,))


@pytest.mark.parametrize("path", [controls_path, along_path])
def test_what_ships_beside_the_ladders_is_on_the_same_text(path, shipped):
    texts = {
        s.manifest.corpus: (s.manifest.fingerprint, s.manifest.documents, s.tokens) for s in shipped
    }
    extra = [one.manifest for one in load_totals(path())]
    assert {one.corpus for one in extra} == set(texts)
    for one in extra:
        assert (one.fingerprint, one.documents, one.tokens) == texts[one.corpus]
        assert (one.V, one.max_length) == (ladders.V, ladders.CONTEXT)


def test_totals_are_those_of_the_summary(shipped, tmp_path):
    one = only(shipped, corpus="pocket:legal")[0]
    whole = totals_of(one)
    assert whole.manifest == one.manifest and whole.ce() == one.ce()
    assert all(whole.rbp(int(k)) == one.rbp(int(k)) for k in one.k_grid)
    with pytest.raises(InputError, match=f"k = 11: {one.manifest.model} was counted at k = 1, 2"):
        whole.rbp(11)
    path = tmp_path / "totals.jsonl.gz"
    save_totals([whole], path)
    assert load_totals(path) == [whole]
    path.write_bytes(path.read_bytes()[:-20])
    for broken in (path, tmp_path / "none.jsonl.gz"):
        with pytest.raises(InputError, match=f"{broken.name}: missing or damaged"):
            load_totals(broken)


def test_losses_are_drawn_from_a_folder_of_runs(tmp_path):
    for name, start in (("a", 8.0), ("b", 7.5)):
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
    assert analysis_figures.save_losses(tmp_path) == tmp_path / "losses.png"
    assert (tmp_path / "losses.png").stat().st_size > 5000
    points = pd.read_csv(tmp_path / "losses.csv")
    assert set(points["run"]) == {"a", "b"} and len(points) == 4


def test_no_runs_no_figure(tmp_path):
    with pytest.raises(InputError, match="no log of a training run"):
        analysis_figures.save_losses(tmp_path)
    with pytest.raises(InputError, match="nothing to draw"):
        analysis_figures.family_losses({}, {"GPT2": ["gpt2-w32-l2"]})
    with pytest.raises(InputError, match="nothing to draw"):
        analysis_figures.along_panels(pd.DataFrame(columns=["corpus", "quantity"]), ["CE"])
