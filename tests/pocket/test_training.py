"""Pocket models: the recipe, the loss, the run that is killed and goes on, and what is shipped."""

import csv
import dataclasses
import json
import math
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
from made_summaries import records_of
from safetensors import safe_open
from safetensors.torch import load_file, save
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, MambaConfig

from rbpkit import paper
from rbpkit.corpora import POCKET_CORPORA
from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES, family_of, paper_config
from rbpkit.models import load_model, non_embedding_parameters
from rbpkit.pocket import ladders, objective, scan, shipping, training
from rbpkit.pocket.configs import config_of, initial_model
from rbpkit.pocket.controls import CONTROL_TOKENS, CONTROLS, control_named, load_totals
from rbpkit.pocket.documents import PocketDocuments, load_pocket_documents
from rbpkit.pocket.families import CONTEXT, FAMILIES, Shape, V
from rbpkit.pocket.ladders import LADDERS, Recipe
from rbpkit.pocket.objective import (
    HEAD_ROWS,
    HeadLoss,
    make_optimizer,
    rows_of,
    validation_ce,
)
from rbpkit.pocket.training import train, train_runs

SHAPE = Shape(32, 2, 1)
STEPS = 38  # the last step is no multiple of LOG_EVERY
TINY = Recipe(tokens=2 * CONTEXT * STEPS, batch_rows=2)
LOG_EVERY = 4
MIB = 2**20


@pytest.fixture(autouse=True)
def torch_as_it_was():
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


# --- the recipe and the ladders --------------------------------------------------------------


@pytest.mark.parametrize("recipe", [Recipe(), TINY, Recipe(tokens=100 * 4096, warmup=0.1)])
def test_rate_warms_up_and_falls_to_zero(recipe):
    steps, warm = recipe.steps, round(recipe.warmup * recipe.steps)
    assert steps == recipe.tokens // (recipe.batch_rows * 256)
    rates = [recipe.rate_at(step, 64) for step in range(steps)]
    peak = recipe.peak_rate(64)
    assert max(rates) == rates[warm - 1] == pytest.approx(peak)
    for step in range(warm):
        assert rates[step] == pytest.approx(peak * (step + 1) / warm)
    falls = [a - b for a, b in zip(rates[warm:-1], rates[warm + 1 :], strict=True)]
    assert falls == pytest.approx([peak / (steps - warm)] * len(falls))
    # Zero is reached one step after the last, which still learns.
    assert rates[-1] == pytest.approx(peak / (steps - warm))
    assert recipe.rate_at(steps, 64) == 0.0
    one_step = dataclasses.replace(recipe, tokens=256 * recipe.batch_rows)
    assert one_step.rate_at(0, 64) == pytest.approx(peak)


def S_by_hand(family: str, shape: Shape) -> int:
    """S by the family's architecture, written out: its layers and the norm after the last."""
    d = shape.width
    if family == "Qwen":  # q and o d x d, one head of k and v, biases on q, k, v, a gated MLP
        head = d // shape.heads
        layer = 2 * d * d + 2 * d * head + d + 2 * head + 3 * d * shape.inner + 2 * d
        return shape.layers * layer + d
    if family == "Mamba":  # projections in and out 6 d^2; for 2 d channels a convolution of 4
        # with bias, D, a state of 16, what makes step sizes, B and C; a norm
        rank = math.ceil(d / 16)
        layer = 6 * d * d + 2 * d * (4 + 1 + 1 + 16 + (rank + 2 * 16) + (rank + 1)) + d
        return shape.layers * layer + d
    # Attention 4 d^2 + 4 d, feed-forward 8 d^2 + 5 d, two norms with bias 4 d.
    return shape.layers * (12 * d * d + 13 * d) + 2 * d


@pytest.mark.parametrize("family", LADDERS)
def test_S_of_a_ladder_is_that_of_its_architecture_and_rises(family):
    sizes = []
    for shape in LADDERS[family]:
        config = config_of(family, shape)
        assert family_of(config) == family
        assert config.vocab_size == V == 4096
        if shape.heads:
            assert config.max_position_embeddings == CONTEXT == 256
            assert shape.width % shape.heads == 0
        else:
            assert not hasattr(config, "max_position_embeddings")
        S = non_embedding_parameters(config)
        assert S == S_by_hand(family, shape)
        sizes.append(S)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] > 10 * sizes[0]
    assert len({ladders.name_of(family, shape) for shape in LADDERS[family]}) == len(sizes)


def test_ladders_span_what_they_are_to_span():
    numbers = {family: len(shapes) for family, shapes in LADDERS.items()}
    assert numbers == {"GPT2": 5, "OPT": 6, "Pythia": 8, "Qwen": 6, "Mamba": 5}
    S = [non_embedding_parameters(config_of(f, s)) for f in paper.FAMILIES for s in LADDERS[f]]
    assert 25_000 < min(S) < 26_000 and 3_000_000 < max(S) < 3_500_000


@pytest.mark.parametrize("family", LADDERS)
def test_the_rate_is_between_the_two_best_of_a_search_that_ends_at_neither(family):
    search = pd.read_csv(ladders.models_root().parent / "runs" / "rate_search.csv")
    search = search[search["family"] == family].drop_duplicates("run")
    best = []
    for _, tried in search.groupby("width"):
        ces = tried.set_index("rate")["final_ce"].sort_index()
        best.append(ces.idxmin())
        assert ces.index[0] < best[-1] < ces.index[-1]
        assert list(ces.index[1:] / ces.index[:-1]) == pytest.approx([2] * (len(ces) - 1))
    assert len(best) == 2
    # Three digits of it are the recipe's.
    assert FAMILIES[family].rate == pytest.approx(math.sqrt(best[0] * best[1]), rel=1e-3)


def test_runs_of_other_tokens_have_other_names_and_the_familys_rate():
    runs, short = ladders.ladder_runs("Qwen"), ladders.ladder_runs("Qwen", tokens=1_500_000)
    assert [run.name for run in runs] == [ladders.name_of("Qwen", s) for s in LADDERS["Qwen"]]
    for run, other in zip(runs, short, strict=True):
        assert run.recipe == Recipe(rate=FAMILIES["Qwen"].rate)
        assert other == dataclasses.replace(
            run,
            name=f"{run.name}-1.5m",
            recipe=dataclasses.replace(run.recipe, tokens=1_500_000),
        )


@pytest.mark.parametrize("family", paper.FAMILIES)
def test_heads_and_positions_are_as_in_the_real_family(family):
    real = {"GPT2": "gpt2", "OPT": "opt-125m", "Pythia": "pythia-160m", "Qwen": "Qwen2.5-0.5B"}
    smallest = initial_model(family, LADDERS[family][0], 0)
    hub_id = next(a.hub_id for a in ARCHITECTURES.values() if a.name == real[family])
    with torch.device("meta"):
        original = AutoModelForCausalLM.from_config(paper_config(hub_id))
    ours, theirs = (
        {re.sub(r"\d+", "0", name) for name, _ in model.named_parameters()}
        for model in (smallest, original)
    )
    assert ours == theirs
    tied = smallest.get_output_embeddings().weight is smallest.get_input_embeddings().weight
    assert tied == (family != "Pythia")
    # Of Qwen2.5, 7B and 14B have an output matrix of their own.
    largest = config_of(family, LADDERS[family][-1])
    assert largest.tie_word_embeddings == (family in ("GPT2", "OPT"))


def test_mamba_is_built_as_the_real_family():
    """The names of its weights, its state, convolution and widths, the tied output matrix."""
    real = MambaConfig()  # of state-spaces/mamba-130m but for the number of layers
    for shape in LADDERS["Mamba"]:
        ours = config_of("Mamba", shape)
        for key in (
            *("state_size", "conv_kernel", "expand", "use_bias", "use_conv_bias", "hidden_act"),
            *("residual_in_fp32", "tie_word_embeddings", "time_step_min", "time_step_max"),
        ):
            assert getattr(ours, key) == getattr(real, key), key
        assert ours.time_step_rank == math.ceil(shape.width / 16)
    assert real.time_step_rank == math.ceil(768 / 16)
    model = initial_model("Mamba", LADDERS["Mamba"][0], 0)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


# How Mamba's state starts is that family's own.
OWN_START = ("A_log", "conv1d.weight", "dt_proj.weight")


@pytest.mark.parametrize("family", LADDERS)
def test_every_family_starts_by_one_rule(family):
    shape = LADDERS[family][1]
    additions = shape.layers * (1 if family == "Mamba" else 2)
    positions = outputs = 0
    for name, parameter in initial_model(family, shape, 0).named_parameters():
        if parameter.ndim == 1 or name.endswith(OWN_START):
            continue
        if "wpe" in name or "embed_positions" in name:
            positions += 1
            assert not parameter.any()
            continue
        into_residual = name.endswith(FAMILIES[family].residual)
        outputs += into_residual
        std = 4 / additions if into_residual else math.sqrt(2 / 5)
        assert float(parameter.detach().std()) * math.sqrt(shape.width) == pytest.approx(
            std, rel=0.1
        ), name
    assert positions == (family in ("GPT2", "OPT"))
    assert outputs == additions


@pytest.mark.parametrize("family", LADDERS)
def test_no_dropout_and_no_token_left_out(family):
    """In training mode twice the same, and every token's embedding can learn."""
    model = initial_model(family, LADDERS[family][0], 0).train()
    tokens = torch.arange(64).view(1, -1)
    first, second = (objective.mean_nll(model, tokens, tokens) for _ in range(2))
    assert torch.equal(first, second)
    first.backward()
    assert (model.get_input_embeddings().weight.grad[:64].abs().sum(1) > 0).all()


def test_controls_change_one_thing_each():
    names = [control.run.name for control in CONTROLS]
    assert len(set(names)) == len(names)
    grid = {run.name: run for run in ladders.ladder_runs("Pythia", tokens=CONTROL_TOKENS)}
    assert not set(names) & grid.keys()
    for control in CONTROLS:
        run, base = control.run, grid[control.against]
        assert control_named(run.name) is control
        assert run.family == base.family and run.shape.width == base.shape.width
        other_depth = run.shape.layers != base.shape.layers
        other_seed = run.recipe.seed != base.recipe.seed
        assert other_depth + other_seed == 1
        assert run.recipe == dataclasses.replace(base.recipe, seed=run.recipe.seed)
        assert run.shape == dataclasses.replace(base.shape, layers=run.shape.layers)
    with pytest.raises(InputError, match="no control 'nothing': there are pythia-w32-l2-3m-seed1"):
        control_named("nothing")
    own = control_named("pythia-w64-l4-1.5m-seed7")
    assert (own.against, own.changes) == ("pythia-w64-l4-1.5m", "seed 7")
    assert own.run == ladders.ladder_runs("Pythia", tokens=1_500_000, seed=7)[2]
    for name in ("gpt2-w32-l2", "qwen-w64-l4-6m", "mamba-w32-l4-seed3"):
        assert ladders.run_named(name).name == name


def test_families_and_sizes_that_are_not_there_are_refused():
    for spelling in ("Pythia", "pythia", "PYTHIA"):
        assert ladders.family_named(spelling) == "Pythia"
        folder = ladders.model_folder(spelling, 2)
        assert folder == ladders.models_root() / "pythia-w64-l4"
    for refused in (
        lambda: ladders.family_named("pithya"),
        lambda: ladders.model_folder("pithya", 0),
        lambda: config_of("pithya", SHAPE),
    ):
        with pytest.raises(InputError, match=r"no pocket family 'pithya': there are .*Pythia"):
            refused()
    for size in (-1, len(LADDERS["Pythia"])):
        with pytest.raises(InputError, match=f"Pythia has pocket sizes 0 to .*, not {size}"):
            ladders.model_folder("pythia", size)


# --- the tokens ------------------------------------------------------------------------------


def test_targets_are_inputs_shifted_by_one():
    stream = torch.arange(10_000, 10_000 + 5 * CONTEXT + 1)
    inputs, targets = rows_of(stream, 2, 3)
    assert inputs.shape == targets.shape == (3, CONTEXT)
    assert torch.equal(inputs.flatten(), stream[2 * CONTEXT : 5 * CONTEXT])
    assert torch.equal(targets, inputs + 1)


@pytest.fixture
def missing(monkeypatch):
    """Twenty short texts of each corpus, of which as many are missing as this dictionary says."""
    of_corpus: dict[str, int] = {}

    def load(corpus, split):
        texts = tuple(f"{split} {corpus} number {i}" for i in range(20))
        return PocketDocuments(corpus, split, texts, "", None, of_corpus.get(corpus, 0))

    monkeypatch.setattr(objective, "load_pocket_documents", load)
    return of_corpus


def test_the_stream_is_all_documents_shuffled_each_with_an_end(missing):
    tokenizer = ladders.load_tokenizer()
    stream = objective.token_stream.__wrapped__("valid")
    assert stream.dtype == torch.int64
    *documents, after = tokenizer.decode(stream.tolist()).split(ladders.END_OF_TEXT)
    assert after == ""
    in_order = [f"valid {c} number {i}" for c in objective.CORPORA for i in range(20)]
    assert sorted(documents) == sorted(in_order)
    assert documents != in_order
    assert torch.equal(stream, objective.token_stream.__wrapped__("valid"))


def test_training_stops_with_one_line_where_the_packages_lack_some_text(missing):
    missing["code"] = 3
    expected = r"^3 documents of pocket:code \(train\) are not in .* constraints\.txt$"
    with pytest.raises(InputError, match=expected):
        objective.token_stream.__wrapped__("train")


# --- the loss --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, HEAD_ROWS - 1, HEAD_ROWS, 2 * HEAD_ROWS + 37, 4 * HEAD_ROWS])
def test_head_loss_and_its_gradients_are_those_of_cross_entropy(rows):
    generator = torch.Generator().manual_seed(rows)
    options = {"generator": generator, "dtype": torch.float64}
    hidden, weight = torch.randn(rows, 12, **options), torch.randn(50, 12, **options)
    targets = torch.randint(50, (rows,), generator=generator)
    results = []
    for loss_of in (HeadLoss.apply, lambda h, w, t: F.cross_entropy(h @ w.T, t)):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        loss = loss_of(h, w, targets)
        (3 * loss).backward()  # a gradient that is not 1 must come through
        results.append((loss.detach(), h.grad, w.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rows", [3, 4])
def test_validation_ce_is_the_mean_over_all_whole_rows(rows):
    model = initial_model("Pythia", SHAPE, 3)
    stream = synthetic_stream(rows * CONTEXT + 100, seed=5)
    inputs, targets = rows_of(stream, 0, rows)
    with torch.no_grad():
        expected = F.cross_entropy(model(inputs).logits.double().flatten(0, 1), targets.flatten())
    assert validation_ce(model, stream, batch_rows=2) == pytest.approx(float(expected), rel=1e-6)


# --- model and optimizer ---------------------------------------------------------------------


def test_the_model_is_fixed_by_its_seed():
    torch.manual_seed(99)  # whatever ran before
    one, again, other = (initial_model("Pythia", Shape(64, 4, 2), seed) for seed in (0, 0, 1))
    weights, same = one.state_dict(), again.state_dict()
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert not torch.equal(weights["lm_head.weight"], other.state_dict()["lm_head.weight"])
    assert {parameter.dtype for parameter in one.parameters()} == {torch.float32}


@pytest.mark.parametrize("family", ["Pythia", "Mamba"])
def test_only_matrices_decay_and_every_parameter_is_trained_once(family):
    """Of Mamba's matrices not the rates of its state's decay."""
    model = initial_model(family, LADDERS[family][0], 0)
    groups = make_optimizer(model, Recipe(weight_decay=0.3, betas=(0.5, 0.6))).param_groups
    name_of = {id(parameter): name for name, parameter in model.named_parameters()}
    assert sorted(id(p) for group in groups for p in group["params"]) == sorted(name_of)
    for group in groups:
        assert group["betas"] == (0.5, 0.6)
        for parameter in group["params"]:
            decays = parameter.ndim > 1 and not name_of[id(parameter)].endswith("A_log")
            assert group["weight_decay"] == (0.3 if decays else 0.0)


# --- the run ---------------------------------------------------------------------------------


def synthetic_stream(tokens: int, seed: int) -> torch.Tensor:
    """A stream that a model can learn a little of: a few tokens, one often after another."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randint(1, 60, (tokens,), generator=generator)
    return torch.where(noise > 40, noise, torch.arange(tokens) % 7 + 1)


STREAMS = {
    "train": synthetic_stream(STEPS * 2 * CONTEXT + 1, seed=0),  # not a token more than needed
    "valid": synthetic_stream(3 * CONTEXT + 1, seed=1),
}

# Logs at 20, after its last checkpoint at 16, then hangs until it is killed.
KILLED_RUN = """
import sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
import test_training as here
from rbpkit.pocket import training
training.token_stream = here.STREAMS.get
training.LOG_EVERY = here.LOG_EVERY
training.CHECKPOINT_SECONDS = 0.0
def watch(now):
    if now.step == 20:
        time.sleep(600)
training.train("Pythia", here.SHAPE, here.TINY, Path(sys.argv[2]), watch=watch)
"""


@pytest.fixture
def tiny_run(monkeypatch):
    monkeypatch.setattr(training, "token_stream", STREAMS.get)
    monkeypatch.setattr(training, "LOG_EVERY", LOG_EVERY)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A finished run that nothing disturbed: (its folder, what it said, its result)."""
    folder, seen = tmp_path_factory.mktemp("runs") / "undisturbed", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "token_stream", STREAMS.get)
        patch.setattr(training, "LOG_EVERY", LOG_EVERY)
        result = train("Pythia", SHAPE, TINY, folder, watch=seen.append)
    return folder, seen, result


def log_of(folder: Path) -> list[dict[str, str]]:
    with open(folder / "log.csv", newline="") as handle:
        return list(csv.DictReader(handle))


def untimed(folder: Path) -> list[dict[str, str]]:
    timed = ("tokens_per_second", "seconds")
    return [{k: v for k, v in row.items() if k not in timed} for row in log_of(folder)]


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file()}


def test_a_run_learns_and_writes_its_log(undisturbed):
    folder, seen, result = undisturbed
    rows = log_of(folder)
    assert tuple(rows[0]) == training.LOG_COLUMNS
    assert [int(row["step"]) for row in rows] == [*range(LOG_EVERY, STEPS, LOG_EVERY), STEPS]
    for row in rows:
        step = int(row["step"])
        assert int(row["tokens"]) == step * 2 * CONTEXT
        assert float(row["rate"]) == pytest.approx(TINY.rate_at(step - 1, 32), rel=1e-5)
        assert float(row["tokens_per_second"]) > 0
    losses = [float(row["loss"]) for row in rows]
    assert losses[-1] + 1 < losses[0] < math.log(V) + 0.5
    validated = [float(row["valid_ce"]) for row in rows if row["valid_ce"]]
    assert len(validated) >= training.VALIDATIONS
    assert validated[-1] < validated[0] - 1
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert [now.step for now in seen] == [int(row["step"]) for row in rows]
    assert all(now.steps == STEPS for now in seen)
    assert seen[0].seconds_left > 0 == seen[-1].seconds_left
    assert result.train_loss == losses[-1]


def test_a_run_ends_with_a_model_folder_in_half_precision(undisturbed):
    folder, _, result = undisturbed
    assert result.folder == folder / "model"
    with safe_open(result.folder / "model.safetensors", framework="pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}
    model = AutoModelForCausalLM.from_pretrained(result.folder, dtype=torch.float32)
    # The number of the weights as shipped: the rounded ones.
    assert validation_ce(model, STREAMS["valid"]) == pytest.approx(result.valid_ce, rel=1e-6)
    assert result.valid_ce == pytest.approx(float(log_of(folder)[-1]["valid_ce"]), abs=1e-3)
    checkpoint = load_file(folder / "checkpoint.safetensors")
    for name, parameter in model.named_parameters():
        assert torch.equal(checkpoint[f"weight.{name}"].half().float(), parameter), name
    loaded = load_model(result.folder, device="cpu")  # with its tokenizer
    assert (loaded.V, loaded.context, loaded.S) == (V, CONTEXT, 25_472)
    stored = json.loads((folder / "result.json").read_text())
    expected = {"family": "Pythia", "width": 32, "layers": 2, "heads": 1}
    expected |= json.loads(json.dumps(dataclasses.asdict(TINY)))
    key = stored.pop("key")
    assert len(key.pop("text")) == 64
    assert key == {**expected, "torch": torch.__version__, "device": "cpu"}
    assert stored == {**dataclasses.asdict(result), "folder": "model"}


def test_a_killed_run_goes_on_to_the_same_bytes(undisturbed, tiny_run, tmp_path):
    expected, _, result = undisturbed
    folder, script = tmp_path / "killed", tmp_path / "run.py"
    script.write_text(KILLED_RUN)
    command = [sys.executable, str(script), str(Path(__file__).parent), str(folder)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 120
        while not (folder / "log.csv").is_file() or "\n20," not in (folder / "log.csv").read_text():
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert process.returncode < 0
    assert not (folder / "result.json").exists()
    assert [int(row["step"]) for row in log_of(folder)] == [4, 8, 12, 16, 20]
    # What a kill in the middle of writing leaves behind.
    (folder / "checkpoint.safetensors.tmp").write_bytes(b"half a checkpoint")

    seen = []
    resumed = train("Pythia", SHAPE, TINY, folder, watch=seen.append)
    assert [now.step for now in seen] == [20, 24, 28, 32, 36, 38]  # gone on, not begun again
    assert contents(folder / "model") == contents(expected / "model")
    assert untimed(folder) == untimed(expected)
    assert (resumed.valid_ce, resumed.train_loss) == (result.valid_ce, result.train_loss)
    seconds = [float(row["seconds"]) for row in log_of(folder)]
    assert seconds == sorted(seconds)  # counted on from the checkpoint
    state, same = (load_file(f / "checkpoint.safetensors") for f in (folder, expected))
    assert state.keys() == same.keys()
    assert all(torch.equal(state[name], same[name]) for name in state)


def test_mamba_is_trained_by_its_scan_and_goes_on_to_the_same_bytes(
    tiny_run, tmp_path, monkeypatch
):
    shape, calls = Shape(32, 2, 0), []
    own = scan.selective_scan

    def counted(*given, **named):
        calls.append(1)
        return own(*given, **named)

    monkeypatch.setattr(scan, "selective_scan", counted)
    train("Mamba", shape, TINY, tmp_path / "whole")
    forward = len(calls)
    assert forward > shape.layers * STEPS  # each layer in each step, and the validations

    class Stop(Exception): ...

    def stop(now):
        if now.step == 20:
            raise Stop

    with pytest.raises(Stop):
        train("Mamba", shape, TINY, tmp_path / "halved", watch=stop)
    train("Mamba", shape, TINY, tmp_path / "halved")
    assert contents(tmp_path / "halved" / "model") == contents(tmp_path / "whole" / "model")


def test_every_device_together_is_one_in_training(undisturbed, tiny_run, tmp_path):
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU: there the one device is the CPU")
    train("Pythia", SHAPE, TINY, tmp_path, device="auto")
    assert contents(tmp_path / "model") == contents(undisturbed[0] / "model")


@pytest.fixture
def copied(undisturbed, tiny_run, tmp_path) -> Path:
    """The folder of a copy of the finished run."""
    return shutil.copytree(undisturbed[0], tmp_path / "copied")


def test_a_finished_run_is_not_trained_again(undisturbed, copied):
    seen, before = [], {**contents(copied), **contents(copied / "model")}
    again = train("Pythia", SHAPE, TINY, copied, watch=seen.append)
    assert not seen
    assert {**contents(copied), **contents(copied / "model")} == before
    assert again == dataclasses.replace(undisturbed[2], folder=copied / "model")


@pytest.mark.parametrize(
    ("shape", "change"),
    [(SHAPE, {"rate": 0.02}), (SHAPE, {"seed": 1}), (SHAPE, {"threads": 2}), (Shape(48, 3, 2), {})],
    ids=["rate", "seed", "threads", "shape"],
)
def test_a_checkpoint_of_another_recipe_is_refused(copied, shape, change):
    before = contents(copied)
    with pytest.raises(InputError, match=r"checkpoint\.safetensors was made by another recipe"):
        train("Pythia", shape, dataclasses.replace(TINY, **change), copied)
    assert contents(copied) == before


def test_too_short_a_text_is_refused_before_anything_is_written(tiny_run, tmp_path):
    folder = tmp_path / "short"
    one_more = dataclasses.replace(TINY, tokens=TINY.tokens + 2 * CONTEXT)
    with pytest.raises(InputError, match=r"has 19,457 tokens, 19,969 are asked for"):
        train("Pythia", SHAPE, one_more, folder)
    with pytest.raises(InputError, match=r"511 tokens are less than one step of 512"):
        train("Pythia", SHAPE, dataclasses.replace(TINY, tokens=511), folder)
    assert not folder.exists()


ABSENT = {name: f"device '{name}' cannot be used" for name in ("foo", "xla")}
ABSENT |= {} if torch.cuda.is_available() else {"cuda": "device 'cuda' cannot be used"}


@pytest.mark.parametrize("device", ABSENT)
def test_a_device_that_is_not_here_is_refused_before_all_else(monkeypatch, tmp_path, device):
    monkeypatch.setattr(training, "token_stream", lambda split: pytest.fail("tokenized"))
    with pytest.raises(InputError, match=ABSENT[device]):
        train("Pythia", SHAPE, TINY, tmp_path / "run", device=device)
    assert not (tmp_path / "run").exists()


def rewritten(path: Path, leave_out: str) -> bytes:
    """The bytes of a checkpoint without its tensors or facts of this name."""
    with safe_open(path, framework="pt") as file:
        facts = {k: v for k, v in file.metadata().items() if k != leave_out}
    return save({k: v for k, v in load_file(path).items() if k != leave_out}, metadata=facts)


DAMAGE = {
    "empty": lambda path: b"",
    "cut": lambda path: path.read_bytes()[:-4],
    "another file": lambda path: b"version https://git-lfs.github.com/spec/v1",
    "no key": lambda path: rewritten(path, "key"),
    "no facts": lambda path: save(load_file(path)),
    "no weight": lambda path: rewritten(path, "weight.lm_head.weight"),
    "no moment": lambda path: rewritten(path, "exp_avg.lm_head.weight"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_checkpoint_is_an_error_with_the_way_out(copied, how):
    path = copied / "checkpoint.safetensors"
    path.write_bytes(DAMAGE[how](path))
    before = contents(copied)
    with pytest.raises(InputError, match=r": damaged \(.*\); remove it and train again$") as caught:
        train("Pythia", SHAPE, TINY, copied)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    assert contents(copied) == before


def test_a_run_that_diverges_is_an_error_that_names_the_step(tiny_run, tmp_path):
    with pytest.raises(InputError, match=r"diverged at step 4\b.*rate=1e\+30"):
        train("Pythia", SHAPE, dataclasses.replace(TINY, rate=1e30), tmp_path)
    assert not (tmp_path / "checkpoint.safetensors").exists()


def test_a_log_is_whole_when_reopening_it_fails(copied, monkeypatch):
    path = copied / "log.csv"
    before = path.read_bytes()

    def full(*args):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(training.csv.DictWriter, "writerows", full)
        with pytest.raises(OSError, match="No space"):
            training._Log(path, 20)
    assert path.read_bytes() == before
    training._Log(path, 20).close()
    assert [int(row["step"]) for row in log_of(copied)] == [4, 8, 12, 16, 20]


def test_a_ladder_trains_its_sizes_into_folders_of_their_names(tiny_run, tmp_path):
    lines = []
    recipe = dataclasses.replace(TINY, tokens=2 * CONTEXT)  # one step
    runs = [dataclasses.replace(ladders.ladder_runs("Pythia")[i], recipe=recipe) for i in (1, 0)]
    trained = train_runs(runs, tmp_path, say=lines.append)
    names = ["pythia-w48-l3", "pythia-w32-l2"]
    assert [one.folder for one in trained] == [tmp_path / name / "model" for name in names]
    for name, one, line in zip(names, trained, lines, strict=True):
        assert line.startswith(f"{name}: validation CE {one.valid_ce:.4f} nats")
        assert json.loads((tmp_path / name / "model" / "config.json").read_text())


# --- what is shipped -------------------------------------------------------------------------

SHIPPED = {
    ladders.name_of(family, shape): (family, shape)
    for family, ladder in LADDERS.items()
    for shape in ladder
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_model_loads_and_is_small(name):
    folder = ladders.models_root() / name
    loaded = load_model(folder, device="cpu")
    # A state has no longest text.
    assert (loaded.V, loaded.context) == (V, None if loaded.family == "Mamba" else CONTEXT)
    assert loaded.S == non_embedding_parameters(config_of(*SHIPPED[name]))
    # What the rules of the real families cut otherwise: numbers, capitals, runs of blanks.
    text = "def rank(p, t):\n    return sum(v >= p[t] for v in p)\n\n\n  x1 = 12345.678 + XML_Äß"
    assert loaded.tokenizer(text)["input_ids"] == ladders.load_tokenizer()(text)["input_ids"]
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        dtypes = {file.get_slice(name).get_dtype() for name in file.keys()}
    assert dtypes == {"F16"}
    assert (folder / "README.md").stat().st_size > 500
    assert max(p.stat().st_size for p in folder.rglob("*") if p.is_file()) <= 15 * MIB


def test_nothing_else_ships_and_all_weights_take_at_most_64_mib_together():
    assert {path.name for path in ladders.models_root().iterdir()} == set(SHIPPED)
    sizes = [p.stat().st_size for p in ladders.models_root().rglob("*.safetensors")]
    assert sum(sizes) <= 64 * MIB and max(sizes) <= 20 * MIB


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """An empty folder in the place of the package's data/pocket."""
    root = tmp_path / "data"
    (root / "models").mkdir(parents=True)
    (root / "runs").mkdir()
    monkeypatch.setattr(ladders, "models_root", lambda: root / "models")
    for name in ("summaries_root", "beside_root"):
        monkeypatch.setattr(ladders, name, lambda name=name: root / name)
    for name in ("controls", "grid"):
        path = root / f"{name}.jsonl.gz"
        monkeypatch.setattr(shipping, f"{name}_path", lambda path=path: path)
    monkeypatch.setattr(
        shipping, "pairs_path", lambda completed: root / f"pairs-{completed}.jsonl.gz"
    )
    return root


def test_models_ship_with_a_card_and_a_loss_curve(undisturbed, package, tmp_path, monkeypatch):
    texts = PocketDocuments("code", "train", ("a",) * 1234, "", None, 0)
    monkeypatch.setattr(shipping, "load_pocket_documents", lambda corpus, split: texts)
    runs, said = tmp_path / "runs", []
    with pytest.raises(InputError, match="no finished run of a ladder's model there"):
        shipping.ship_models(runs)
    for name in ("pythia-w32-l2", "pythia-w32-l2-3m"):  # the other is no ladder's
        shutil.copytree(undisturbed[0], runs / name)
    shipping.ship_models(runs, say=said.append)
    assert said == ["shipped pythia-w32-l2"]
    (folder,) = (package / "models").iterdir()
    assert {path.name for path in folder.iterdir()} == {*shipping.SHIPPED, "README.md"}
    for name, content in contents(undisturbed[2].folder).items():
        assert name not in shipping.SHIPPED or (folder / name).read_bytes() == content
    card = (folder / "README.md").read_text()
    for says in (
        f"validation CE {undisturbed[2].valid_ce:.4f} nats",
        f"{TINY.tokens:,} tokens, each seen once, {TINY.batch_rows} x 256 a step",
        "S = 25,472 non-embedding parameters",
        ", ".join(f"{corpus} 1,234" for corpus in objective.CORPORA),
        "`rbpkit pocket train --family pythia`",
    ):
        assert says in card
    (log,) = (package / "runs").iterdir()
    assert log.name == "pythia-w32-l2.csv"
    assert log.read_bytes() == (undisturbed[0] / "log.csv").read_bytes()


@dataclasses.dataclass(frozen=True)
class Fake:
    """What `ship_totals` asks of a loaded model."""

    name: str
    revision: str


def test_totals_of_new_weights_are_measured_and_go_where_they_belong(
    package, tmp_path, monkeypatch
):
    runs, measured = tmp_path / "runs", []
    control, short = "pythia-w32-l2-3m-seed1", "pythia-w32-l2-3m"
    tokens = {control: 3_000_000, short: 3_000_000, "pythia-w32-l2": 12_000_000}
    tokens |= {"opt-w32-l2": 12_000_000, "pythia-w32-l2-seed2": 12_000_000}
    for name, trained in tokens.items():
        (runs / name / "model").mkdir(parents=True)
        (runs / name / "model" / "revision").write_text("one")
        (runs / name / "log.csv").write_text(name)
        key = {"family": "OPT" if "opt" in name else "Pythia", "tokens": trained}
        key["seed"] = int(name.partition("-seed")[2] or 0)
        (runs / name / "result.json").write_text(json.dumps({"key": key}))
    (runs / "pythia-w48-l3").mkdir()  # not finished
    for name in ("pythia-w32-l2", "opt-w32-l2"):
        (package / "models" / name).mkdir()

    def load(folder, device):
        return Fake(folder.parent.name, (folder / "revision").read_text())

    def records(model, corpora):
        measured.append(model.name)
        for corpus in corpora:
            found = records_of([1, 2, 9, 1, 5] * 4, target=[3, 4] * 10, corpus=corpus)
            about = {"model": model.name, "revision": model.revision}
            manifest = dataclasses.replace(found.manifest, **about)
            yield dataclasses.replace(found, manifest=manifest)

    monkeypatch.setattr(shipping, "load_model", load)
    monkeypatch.setattr(shipping, "load_corpus", lambda name: name)
    monkeypatch.setattr(shipping, "measured_records", records)

    def shipped(file: str) -> dict[str, str]:
        """Model -> revision; of each model every corpus, once."""
        totals = [one.manifest for one in load_totals(package / f"{file}.jsonl.gz")]
        revisions = {one.model: one.revision for one in totals}
        jobs = sorted((one.model, one.revision, one.corpus) for one in totals)
        expected = [(*one, corpus) for one in revisions.items() for corpus in POCKET_CORPORA]
        assert jobs == sorted(expected)
        return revisions

    shipping.ship_totals(runs)
    long, other, seed = "pythia-w32-l2-12m", "opt-w32-l2-12m", "pythia-w32-l2-12m-seed2"
    assert sorted(measured) == sorted([control, short, long, other, seed])
    assert shipped("controls").keys() == {control}
    assert shipped("grid").keys() == {short, long}
    of_pairs = {short, long, other, seed}
    assert shipped("pairs-True").keys() == shipped("pairs-False").keys() == of_pairs
    # Weights that ship have their loss curve from `ship_models`.
    assert {path.stem for path in (package / "runs").iterdir()} == {control, short, seed}
    parts = [load_totals(package / f"pairs-{kind}.jsonl.gz") for kind in (True, False)]
    sums = [pair.plus(rest) for pair, rest in zip(*parts, strict=True)]
    of_pythia = [one for one in sums if one.manifest.model not in (other, seed)]
    grid = load_totals(package / "grid.jsonl.gz")
    assert [one.hits for one in of_pythia] == [one.hits for one in grid]

    measured.clear()
    shipping.ship_totals(runs)
    assert measured == []
    (runs / "pythia-w32-l2" / "model" / "revision").write_text("two")
    shipping.ship_totals(runs)
    assert measured == [long]
    assert shipped("grid") == {short: "one", long: "two"}
    for kind in (True, False):
        revisions = {**dict.fromkeys(of_pairs, "one"), long: "two"}
        assert shipped(f"pairs-{kind}") == revisions
    with pytest.raises(InputError, match="no finished run there"):
        shipping.ship_totals(tmp_path / "nothing")


def test_summaries_go_where_their_family_belongs(package, tmp_path):
    records = tmp_path / "records" / "pocket%3Acode"
    records.mkdir(parents=True)
    for name in ("pythia-w32-l2", "mamba-w32-l4"):
        (records / f"{name}.summary.npz").write_text(name)
    said = []
    shipping.ship_summaries(records.parent, say=said.append)
    assert said == ["shipped 2 summaries"]
    for root, name in (("summaries_root", "pythia-w32-l2"), ("beside_root", "mamba-w32-l4")):
        (one,) = (package / root).rglob("*.npz")
        assert one.parent.name == "pocket%3Acode" and one.read_text() == name
    with pytest.raises(InputError, match="no summaries there"):
        shipping.ship_summaries(tmp_path / "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("family", LADDERS)
def test_training_the_smallest_again_gives_the_shipped_loss(family, tmp_path):
    """`rbpkit pocket train --family F --size 0`: 7 to 17 minutes on one core."""
    for corpus in objective.CORPORA:
        for split in ("train", "valid"):
            if not load_pocket_documents(corpus, split).as_shipped:
                pytest.skip(f"needs the pinned packages: the text of {corpus}, {split} differs")
    (trained,) = train_runs(ladders.ladder_runs(family)[:1], tmp_path)
    shipped = AutoModelForCausalLM.from_pretrained(
        ladders.model_folder(family, 0), dtype=torch.float32
    )
    expected = validation_ce(shipped, objective.token_stream("valid"))
    assert trained.valid_ce == pytest.approx(expected, abs=0.01)
