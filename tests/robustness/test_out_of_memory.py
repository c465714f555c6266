"""Memory runs out in a forward pass: smaller batches, every token once, and nothing else hidden."""

import weakref

import numpy as np
import pytest
import torch
from conftest import assert_same_columns

from rbpkit.corpora import Corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.measuring import measure, rank_columns
from rbpkit.models import load_model


@pytest.fixture
def many() -> Corpus:
    """60 documents of 1 to 240 words, in no order of length."""
    texts = [" ".join(f"w{i * j % 97}" for j in range(1 + i * 37 % 240)) for i in range(60)]
    return Corpus.of(texts)


@pytest.fixture
def model(llama_folder):
    return load_model(llama_folder, device="cpu")


def short_of_memory(model, full, device="cpu") -> list[int]:
    """Run out of memory in every pass whose ids are `full`; the list gets each pass's tokens."""
    passes: list[int] = []
    held: list[weakref.ref] = []

    def before(_, args, kwargs) -> None:
        passes.append(kwargs["input_ids"].numel())
        assert all(one() is None for one in held), "a failed pass still holds its tensors"
        if full(kwargs["input_ids"]):
            activations = torch.zeros(1000)
            held.append(weakref.ref(activations))
            torch.empty(2**50, dtype=torch.uint8, device=device)  # the allocator's own error

    model.model.base_model.register_forward_pre_hook(before, with_kwargs=True)
    return passes


CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=CUDA)])
def test_records_equal_those_of_the_smaller_budget(device, model, many):
    undisturbed = measure(model, many, max_length=128, batch_tokens=512)
    passes = short_of_memory(model, lambda ids: ids.numel() > 600, device)
    said: list[str] = []
    done = measure(model, many, max_length=128, batch_tokens=2048, say=said.append)
    assert passes[:3] == [2048, 1024, 512]  # the longest first, so that it shows at once
    assert max(passes[2:]) <= 512
    assert sum("out of memory" in line for line in said) == 2
    assert_same_columns(done.records.columns(), undisturbed.records.columns())


def test_late_failures_lose_nothing_and_double_nothing(model, many):
    """Many short documents fail although few long ones did not: in the middle of the run."""
    encoded = encode(many, model.tokenizer, max_length=128)
    undisturbed = rank_columns(model, encoded, 1024)
    short_of_memory(model, lambda ids: len(ids) > 2)
    columns = rank_columns(model, encoded, 1024)
    for name in ("document", "position", "target"):
        assert columns[name].tolist() == undisturbed[name].tolist()


def test_memory_that_numpy_does_not_get_halves_the_batch(model, many):
    """As in a model of one's own that counts with arrays."""
    encoded = encode(many, model.tokenizer, max_length=128)
    undisturbed = rank_columns(model, encoded, 512)
    ranks = model.ranks

    def short(batch):
        if batch.input_ids.size > 600:
            np.empty(2**60, dtype=np.uint8)
        return ranks(batch)

    vars(model)["ranks"] = short
    columns = rank_columns(model, encoded, 1024)
    assert columns["n_greater"].tolist() == undisturbed["n_greater"].tolist()


def test_one_document_that_does_not_fit_is_named(model, many, tmp_path):
    passes = short_of_memory(model, lambda ids: True)
    with pytest.raises(InputError, match=r"out of memory at document \d+, 128 tokens, alone"):
        measure(model, many, tmp_path / "out", max_length=128, batch_tokens=512)
    assert passes == [512, 256, 128] and not list(tmp_path.glob("out/**/*.parquet"))


def test_no_other_error_is_hidden(model, many):
    passes = short_of_memory(model, lambda ids: ids.view(-1, 10**9))
    with pytest.raises(RuntimeError, match="shape"):
        rank_columns(model, encode(many, model.tokenizer, max_length=128))
    assert len(passes) == 1
