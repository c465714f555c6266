"""Measuring end to end: real folders, real files, ranks compared with a naive count."""

import copy
import dataclasses
import math
import pickle
import threading
from types import SimpleNamespace

import datasets
import numpy as np
import peft
import pytest
import torch
from conftest import COMMIT, TEXTS, refused, write_jsonl
from oracle import assert_counted, counted, one_by_one
from small_models import small_config, spread_weights
from tokenizers import normalizers
from transformers import (
    AutoModelForCausalLM,
    PreTrainedTokenizerFast,
    T5ForConditionalGeneration,
)

from rbpkit import Corpus, InputError, load_corpus, load_summaries
from rbpkit.encoding import encode
from rbpkit.measuring import measure, rank_columns
from rbpkit.models import load_model, model_in_memory
from rbpkit.paired import differences
from rbpkit.summary import interval, resample_weights


def test_nan_in_a_forward_pass_leaves_nothing(llama_folder, text_file, tmp_path):
    model = load_model(llama_folder)
    weight = model.head.weight.clone()
    weight[17, 3] = float("nan")
    broken = dataclasses.replace(model, head=model.head._replace(weight=weight))
    with pytest.raises(InputError, match=f"{model.name}: document 3, token 1: .* column 17"):
        measure(broken, load_corpus(text_file), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("fails", [lambda: torch.empty(2**50), lambda: np.empty(2**60, np.uint8)])
def test_a_batch_that_does_not_fit_in_memory_is_one_line(fails, llama_folder, text_file, tmp_path):
    model = load_model(llama_folder)
    model.model.base_model.register_forward_pre_hook(lambda *_: fails())
    refused("out of memory; take a smaller", measure, model, text_file, tmp_path / "out")
    assert not list(tmp_path.glob("out/**/*.parquet"))


PARTS = [TEXTS[0], TEXTS[1], TEXTS[5]]
LONG = " ".join(f"{text} {i}," for i in range(3) for text in PARTS)


@pytest.fixture
def network(llama_folder):
    """As somebody else would load it."""
    return AutoModelForCausalLM.from_pretrained(llama_folder)


@pytest.fixture
def tokenizer(llama_folder):
    return PreTrainedTokenizerFast.from_pretrained(llama_folder)


@pytest.mark.parametrize(("max_length", "stride"), [(64, 20), (50, 49), (33, 1)])
def test_with_a_stride_each_token_is_scored_once_in_the_first_window_that_predicts_it(
    network, tokenizer, max_length, stride
):
    settings = {"max_length": max_length, "stride": stride, "batch_tokens": 300}
    texts = [TEXTS[1], LONG, TEXTS[3], LONG[200::-1]]
    result = measure(network, texts, tokenizer=tokenizer, **settings)
    rows = []
    for number, text in enumerate(texts):
        ids = tokenizer(text)["input_ids"]
        for place in range(1, len(ids)):
            start = next(s for s in range(0, len(ids), stride) if place < s + max_length)
            assert start == 0 or place - start >= max_length - stride
            seen = torch.tensor([ids[start:place]])
            with torch.no_grad():
                row = network(input_ids=seen).logits[0, -1]
            rows.append((number, place, ids[place], *counted(row, ids[place])))
    assert_counted(result.records.columns(), np.array(rows))
    assert "past max_length" not in result.coverage and result.summary.manifest.stride == stride
    says = "stride=128: must be less than max_length, here 128"  # the context
    refused(says, measure, network, texts, tokenizer=tokenizer, stride=128)


def test_one_front_door(network, tokenizer, llama_folder, tmp_path):
    network.train()
    network.model.layers[1].eval()
    modes = [module.training for module in network.modules()]
    rows = datasets.Dataset.from_dict({"n": range(len(TEXTS)), "body": list(TEXTS)})
    (tmp_path / "notes.txt").write_text(TEXTS[4])
    lines = tmp_path / "notes.jsonl"
    rows.to_json(lines)
    memory = measure(network, TEXTS, tokenizer=tokenizer)
    assert [module.training for module in network.modules()] == modes
    refused("stride=128", measure, network, TEXTS, tokenizer=tokenizer, stride=128)
    assert [module.training for module in network.modules()] == modes
    for model, corpus in [
        (str(llama_folder), (text for text in TEXTS)),
        (llama_folder, Corpus.of(rows, field="body")),
        (load_model(llama_folder), Corpus.of(rows.to_iterable_dataset(), field="body")),
        (load_model(llama_folder), rows["body"]),
        (llama_folder, load_corpus(lines, field="body", seed=None)),
    ]:
        other = measure(model, corpus)
        assert other.path is None and other.summary.manifest.S == memory.summary.manifest.S
        assert other.summary.manifest.fingerprint == memory.summary.manifest.fingerprint
        np.testing.assert_array_equal(other.records.n_greater, memory.records.n_greater)
    one = measure(llama_folder, tmp_path / "notes.txt", name="mine").summary
    assert (one.manifest.model, one.manifest.corpus) == ("mine", "notes.txt")
    assert list(tmp_path.rglob("*.parquet")) == []


def changes_in_memory(network, tokenizer):
    """Step by step another model of the same name, which each pass of the loop is to measure."""
    yield network
    with torch.no_grad():  # trained further
        network.model.norm.weight[3] += 1e-6
    yield network
    network.config.rms_norm_eps *= 2
    yield network
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()  # the same vocabulary
    yield network
    tokenizer.bos_token = tokenizer.decode([40])  # is not scored
    yield network
    lora = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(network, lora, "a")
    yield adapted
    adapted.add_adapter("b", lora)
    adapted.set_adapter("b")
    yield adapted
    adapted.set_adapter("a")  # the same weights, of which others are used
    yield adapted
    with adapted.disable_adapter():
        yield adapted


def test_a_model_in_memory_is_found_only_if_nothing_of_it_was_changed(
    network, tokenizer, tmp_path, monkeypatch
):
    network.config._commit_hash = COMMIT  # as one of the hub has, whatever is done to it then
    revisions, name = set(), type(network).__name__
    for count, model in enumerate(changes_in_memory(network, tokenizer), start=1):
        out = tmp_path / str(count)
        first = measure(model, TEXTS[:2], out, tokenizer=tokenizer)
        assert not first.found_done
        with monkeypatch.context() as later:  # another library changes no number
            later.setattr("transformers.configuration_utils.__version__", "9.9")
            assert measure(model, TEXTS[:2], out, tokenizer=tokenizer).found_done
        if count > 1:
            with monkeypatch.context() as unable:  # refused before anything is ranked
                unable.setattr("rbpkit.measuring.ranked", None)
                with pytest.raises(InputError, match="with other weights"):
                    measure(model, TEXTS[:2], tmp_path / "1", tokenizer=tokenizer, name=name)
        manifest = first.summary.manifest
        assert manifest.model == type(model).__name__
        revisions.add(manifest.revision)
        assert len(revisions) == count
    named = measure(network, TEXTS[:2], tmp_path / "b", tokenizer=tokenizer, name="moved")
    assert not named.found_done and named.path.stem.startswith("moved")


def test_a_corpus_called_as_records_are(network, tokenizer, tmp_path):
    text = Corpus.of(TEXTS, "notes.parquet")
    first = measure(network, text, tmp_path, tokenizer=tokenizer).summary
    assert load_summaries(tmp_path)[0].ce() == first.ce()


def test_a_model_with_a_hook_is_never_found_done(network, tokenizer, tmp_path):
    """No hash tells what a function does; one that the library puts on does nothing."""
    network.enable_input_require_grads()
    plain = measure(network, TEXTS, tmp_path, tokenizer=tokenizer)
    assert measure(network, TEXTS, tmp_path, tokenizer=tokenizer).found_done
    network.model.layers[0].register_forward_hook(lambda _, given, states: states * 1.5)
    refused("with other weights", measure, network, TEXTS, tmp_path, tokenizer=tokenizer)
    assert measure(network, TEXTS, tokenizer=tokenizer).ce() != plain.ce()


def test_threads_that_measure_one_model_wait_for_one_another(network, tokenizer):
    network.train()
    done = []
    other = threading.Thread(
        target=lambda: done.append(measure(network, TEXTS[:2], tokenizer=tokenizer))
    )
    with model_in_memory(network, tokenizer):
        other.start()
        other.join(timeout=1)
        assert other.is_alive() and not network.training
    other.join()
    again = measure(network, TEXTS[:2], tokenizer=tokenizer)
    assert network.training and done[0].ce() == again.ce()


@pytest.mark.parametrize("options", [{}, {"modules_to_save": ["embed_tokens", "lm_head"]}])
def test_a_peft_model_in_memory_is_its_base_model_with_the_adapter(network, tokenizer, options):
    S = measure(network, TEXTS, tokenizer=tokenizer).summary.manifest.S
    lora = {"r": 2, "lora_dropout": 0.5, "target_modules": ["q_proj", "up_proj"]} | options
    model = peft.get_peft_model(network, peft.LoraConfig(**lora, init_lora_weights=False))
    loaded = SimpleNamespace(logits=lambda ids: model(input_ids=ids).logits.detach())
    revisions, losses = set(), []
    for scaling in (4.0, 0.0):  # which the weights do not show
        for module in model.modules():
            if isinstance(module, peft.tuners.lora.LoraLayer):
                module.scaling["default"] = scaling
        found = measure(model.train(), TEXTS, tokenizer=tokenizer)
        assert all(module.training for module in model.modules())
        model.eval()
        expected = one_by_one(loaded, encode(Corpus.of(TEXTS), tokenizer, max_length=128))
        assert_counted(found.records.columns(), expected)
        losses.append(expected[:, -1])
        assert found.summary.manifest.S == S
        revisions.add(found.summary.manifest.revision)
    assert len(revisions) == 2 and np.abs(losses[0] - losses[1]).max() > 0.1
    prompt = peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    model = peft.get_peft_model(type(network)(network.config), prompt)
    refused("an adapter of the prompt", measure, model, TEXTS, tokenizer=tokenizer)


def test_as_many_tokens_of_another_tokenizer_compare_in_bits_per_byte_alone(network, tokenizer):
    texts = ["a b C d", "e F g"]
    one = measure(network, texts, tokenizer=tokenizer).summary
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    other = measure(network, texts, tokenizer=tokenizer).summary
    assert one.document_tokens.tolist() == other.document_tokens.tolist()
    assert differences(one, other, (1,))["quantity"].tolist() == ["bits_per_byte"]


def test_bytes_of_a_text_with_signs_that_stand_for_nothing(network, tokenizer):
    """U+FFFD is of the text, but at an end, where a letter may be cut."""
    text = "a \ufffd sign\ufffd b"
    scored = measure(network, [text], tokenizer=tokenizer).summary.manifest.scored_bytes
    first = tokenizer.decode(tokenizer(text)["input_ids"][:1])
    assert scored == len(text.encode()) - len(first)


def test_the_result_answers_from_the_records(network, tokenizer, tmp_path):
    result = measure(network, TEXTS, tmp_path, tokenizer=tokenizer, max_length=40)
    table = result.records.to_pandas()
    assert (table["rank"] == table["n_greater"] + table["n_equal"] + 1).all()
    assert result.rbp(2000) == (table["rank"] <= 2000).mean()
    assert result.ce() == pytest.approx(table["nll"].mean())
    # A byte-level token is spelt with one character for each of its bytes.
    spelt = (tokenizer.tokenize(text)[1:40] for text in TEXTS)
    size = sum(len(token) for tokens in spelt for token in tokens)
    bits = table["nll"].sum() / math.log(2)
    assert result.summary.bits_per_byte() == pytest.approx(bits / size)
    sent = pickle.loads(pickle.dumps(copy.copy(result)))
    assert sent.rbp(2000) == result.rbp(2000) and sent.records.columns().keys() <= {*table}
    assert "LlamaForCausalLM on texts: CE" in repr(result) and "past max_length" in repr(result)
    refused("no interval of RBP_2001 in a summary", result.rbp, 2001, interval=True)
    assert result.rbp(4096, interval=True) == (1, 1)
    refused("two documents", measure(network, TEXTS[:1], tokenizer=tokenizer).rbp, 1, interval=True)


def test_intervals_resample_the_units_that_a_column_names(rbpkit, llama_folder, tmp_path):
    rows = [{"text": f"{text} {n}", "author": n % 3} for n, text in enumerate(TEXTS * 4)]
    path, out = write_jsonl(tmp_path / "letters.jsonl", rows), tmp_path / "out"
    arguments = ["measure", "--model", llama_folder, "--corpus", path, "--out", out]
    assert rbpkit(*arguments, "--unit", "author")[0] == 0
    [summary] = load_summaries(out)
    corpus = load_corpus(path, unit="author")
    authors = [int(unit) for unit in corpus.units]
    assert summary.document_units.tolist() == [authors[n] for n in summary.document]

    # Letters of one author are alike or not: the interval by hand, of three units.
    weights = resample_weights(3)[:, summary.document_units]
    hits = summary.document_hits[:, summary.k_grid.tolist().index(500)]
    shares = weights @ hits / (weights @ summary.document_tokens)
    assert summary.rbp_interval(500) == pytest.approx(interval(shares))
    for bad in (["--unit", "autor"], ["--unit", "author", "--field", "author"]):
        assert rbpkit(*arguments, *bad)[0] == 2


def test_a_finished_job_takes_the_labels_and_units_that_are_given_now(network, tokenizer, tmp_path):
    by_author = dataclasses.replace(Corpus.of(TEXTS), units=tuple("ababab"))
    measure(network, TEXTS, tmp_path, tokenizer=tokenizer)
    for more, family, S, units in (
        ({"family": "mine", "size": 7}, "mine", 7, [0, 1, 0, 0, 1]),
        ({"size": 8}, "mine", 8, [0, 1, 0, 0, 1]),
    ):
        found = measure(network, by_author, tmp_path, tokenizer=tokenizer, **more)
        assert found.found_done
        [summary] = load_summaries(tmp_path)
        assert (summary.manifest.family, summary.manifest.S) == (family, S)
        assert summary.document_units.tolist() == units
        assert summary.to_bytes() == found.records.summary.to_bytes()


LONG_ROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0] * 4,
    "long_factor": [9.0] * 4,
}
PADDING_MATTERS = {
    "phi3": {
        "max_position_embeddings": 128,
        "original_max_position_embeddings": 40,
        "rope_parameters": LONG_ROPE,
    },
    "prophetnet": {"max_position_embeddings": 128, "bos_token_id": 0, "eos_token_id": 0},
}


@pytest.mark.parametrize("kind", PADDING_MATTERS)
def test_a_model_whose_logits_padding_changes_gets_none(kind, tokenizer):
    """Beyond its first 40 tokens Phi-3 turns all positions; ProphetNet always sees the padding."""
    torch.manual_seed(0)
    config = small_config(kind, vocab_size=len(tokenizer), **PADDING_MATTERS[kind])
    network = spread_weights(AutoModelForCausalLM.from_config(config).eval(), std=0.2)
    texts = [LONG[:length] for length in range(20, 400, 20)] * 2
    alone = measure(network, texts, tokenizer=tokenizer, max_length=100, batch_tokens=1).records
    together = measure(
        network, texts, tokenizer=tokenizer, max_length=100, batch_tokens=2048
    ).records
    moved = alone.n_greater != together.n_greater
    assert moved.mean() <= 0.01 and np.abs(alone.n_greater - together.n_greater).max() <= 1
    np.testing.assert_allclose(together.nll, alone.nll, atol=2e-4)
    with model_in_memory(network, tokenizer) as model:
        assert not model.pads
        encoded = encode(Corpus.of(texts), tokenizer, max_length=100)
        sizes = [batch.input_ids.shape for batch in model.batches(encoded, 2048)]
        padded = dataclasses.replace(model, pads=True)
        columns = rank_columns(padded, encoded, 2048)
    assert max(rows for rows, _ in sizes) > 1  # texts of one length still go together
    assert (columns["n_greater"] != alone.n_greater).mean() > 0.05  # what padding would do


@pytest.mark.parametrize(
    ("wrap", "says"),
    [
        (torch.compile, "not in torch.compile or DataParallel"),
        (lambda network: network.model, "LlamaModel: not a causal language model"),
        (lambda _: T5ForConditionalGeneration(small_config("t5")), "no encoder-decoder"),
    ],
)
def test_a_model_that_is_wrapped_or_of_another_kind_is_refused_with_the_way_out(
    wrap, says, network, tokenizer
):
    refused(says, measure, wrap(network), TEXTS, tokenizer=tokenizer)
