"""Memory runs out in a forward pass: smaller batches, every token once, and nothing else hidden."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import torch
from conftest import assert_same_columns

from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.kernels.memory import out_of_memory
from rbpkit.measuring import measure, measured_ranks, rank_columns
from rbpkit.models import load_model
from rbpkit.records import Records

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def on_cpu() -> None:
    """Ask for a petabyte: the CPU allocator's own error."""
    torch.empty(2**50, dtype=torch.uint8)


def on_cuda() -> None:
    torch.empty(2**50, dtype=torch.uint8, device="cuda")


def as_on_cuda() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


@pytest.fixture
def many(tmp_path):
    """60 documents of 1 to 240 words, in no order of length."""
    path = tmp_path / "many.jsonl"
    texts = (" ".join(f"w{i * j % 97}" for j in range(1 + i * 37 % 240)) for i in range(60))
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return load_corpus(path)


@pytest.fixture
def model(llama_folder):
    return load_model(llama_folder, device="cpu")


@pytest.fixture
def encoded(model, many):
    return encode(many, model.tokenizer, max_length=128)


def short_of_memory(model, full: Callable[[torch.Tensor], bool], fail=on_cpu) -> list[int]:
    """Fail in every forward pass whose ids are `full`; the list gets each pass's batch size."""
    passes: list[int] = []

    def before(_, args, kwargs) -> None:
        passes.append(kwargs["input_ids"].numel())
        if full(kwargs["input_ids"]):
            fail()

    model.model.base_model.register_forward_pre_hook(before, with_kwargs=True)
    return passes


@pytest.mark.parametrize("fail", [on_cpu, as_on_cuda])
def test_records_equal_those_of_the_smaller_budget(fail, model, many, tmp_path):
    undisturbed = measure(model, many, tmp_path / "one", max_length=128, batch_tokens=512)
    passes = short_of_memory(model, lambda ids: ids.numel() > 600, fail)
    said: list[str] = []
    done = measure(
        model, many, tmp_path / "two", max_length=128, batch_tokens=2048, say=said.append
    )
    assert passes[:3] == [2048, 1024, 512]  # the longest first, so that it shows at once
    assert max(passes[2:]) <= 512
    assert len(said) == 2
    assert said[1] == (
        "tiny-llama on many.jsonl: out of memory with a batch of 1,024 tokens;"
        " it is done again, and the rest goes on, with at most 512"
    )
    expected, found = Records.load(undisturbed.path).columns(), Records.load(done.path).columns()
    assert_same_columns(found, expected)
    # What was asked for is the job's key: it is found again.
    assert done.summary.manifest.batch_tokens == 2048
    again = measure(model, many, tmp_path / "two", max_length=128, batch_tokens=2048)
    assert again.found_done


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_late_failures_lose_nothing_and_double_nothing(rows, model, encoded):
    """Many short documents fail where few long ones did not: in the middle of the run."""
    short_of_memory(model, lambda ids: len(ids) > rows)
    columns = rank_columns(model, encoded, 1024)
    keys = list(zip(columns["document"].tolist(), columns["position"].tolist(), strict=True))
    expected = [
        (one.document, int(i) + 1) for one in encoded.documents for i in np.flatnonzero(one.scored)
    ]
    assert keys == expected


def test_the_smaller_budget_stays(model, encoded):
    failures = iter([False, False, True])
    passes = short_of_memory(model, lambda ids: next(failures, False))
    sizes = [batch.input_ids.size for batch, _ in measured_ranks(model, encoded, 1024)]
    assert passes[:2] == sizes[:2] and passes[2] > 512
    assert sizes[1] > 512 and max(sizes[2:]) <= passes[2] // 2


def test_one_document_that_does_not_fit_is_named(model, many, encoded, tmp_path):
    first = next(one for one in encoded.documents if len(one.input_ids) == 128)
    short_of_memory(model, lambda ids: ids.shape[1] > 100)
    with pytest.raises(InputError) as error:
        measure(model, many, tmp_path / "out", max_length=128, batch_tokens=2048)
    line = str(error.value)
    assert "\n" not in line
    assert line.startswith(
        f"tiny-llama on many.jsonl: out of memory at document {first.document}, 128 tokens, alone"
    )
    assert "--max-length" in line and "--dtype" in line and "DefaultCPUAllocator" in line
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "other",
    [RuntimeError("shapes do not match"), MemoryError("no"), ValueError("DefaultCPUAllocator: x")],
)
def test_nothing_else_is_swallowed(other, model, encoded):
    def fail() -> None:
        raise other

    passes = short_of_memory(model, lambda ids: True, fail)
    with pytest.raises(type(other)) as error:
        rank_columns(model, encoded, 1024)
    assert error.value is other and len(passes) == 1


def test_what_the_failed_pass_held_is_free_when_it_is_done_again(model, encoded):
    held: list[weakref.ref] = []
    free: list[bool] = []

    def before(_, args, kwargs) -> None:
        free.extend(one() is None for one in held)
        if kwargs["input_ids"].numel() > 600:
            activations = torch.zeros(1000)
            held.append(weakref.ref(activations))
            on_cpu()

    model.model.base_model.register_forward_pre_hook(before, with_kwargs=True)
    rank_columns(model, encoded, 1024)
    assert free and all(free)


def test_a_model_that_gives_its_own_logits(capped_folder, many):
    model = load_model(capped_folder, device="cpu")
    encoded = encode(many, model.tokenizer, max_length=128)
    expected = rank_columns(model, encoded, 256)
    passes = short_of_memory(model, lambda ids: ids.numel() > 300)
    assert_same_columns(rank_columns(model, encoded, 1024), expected)
    assert passes[:3] == [1024, 512, 256]


def test_which_errors_are_out_of_memory():
    with pytest.raises(RuntimeError) as error:
        on_cpu()
    assert out_of_memory(error.value)
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert not out_of_memory(RuntimeError("CUDA error: device-side assert triggered"))
    assert not out_of_memory(MemoryError("DefaultCPUAllocator: can't allocate memory"))


@NEEDS_CUDA
def test_on_a_gpu(llama_folder, many):
    model = load_model(llama_folder, device="cuda")
    encoded = encode(many, model.tokenizer, max_length=128)
    expected = rank_columns(model, encoded, 512)
    short_of_memory(model, lambda ids: ids.numel() > 600, on_cuda)
    assert_same_columns(rank_columns(model, encoded, 2048), expected)
