"""A shipped model's folder gives the same tokens to whoever opens it in the usual way."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config

from rbpkit.pocket import ladders
from rbpkit.pocket.configs import initial_model
from rbpkit.pocket.documents import CORPORA, load_pocket_documents

FOLDERS = sorted(path for path in ladders.models_root().iterdir() if path.is_dir())


@cache
def texts(most: int) -> tuple[str, ...]:
    documents = (load_pocket_documents(corpus).documents for corpus in CORPORA)
    return tuple(text for of_corpus in documents for text in of_corpus[:most])


@cache
def tokens(tokenizer_json: bytes, most: int) -> list[list[int]]:
    """By the `tokenizers` library alone, from the bytes of a `tokenizer.json`."""
    own = Tokenizer.from_buffer(tokenizer_json)
    return [encoding.ids for encoding in own.encode_batch(list(texts(most)))]


@pytest.mark.parametrize("most", [40, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_AutoTokenizer_agrees_with_tokenizer_json(folder, most):
    encoded = AutoTokenizer.from_pretrained(folder)(list(texts(most)), verbose=False)["input_ids"]
    assert encoded == tokens((folder / "tokenizer.json").read_bytes(), most)


@pytest.mark.parametrize("shape", ladders.LADDERS["Qwen"], ids=str)
def test_a_pocket_qwen_is_a_qwen2_to_the_bit(shape):
    ours = initial_model("Qwen", shape, 0)
    config = ours.config
    names = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads"
    names += " num_key_value_heads max_position_embeddings rope_parameters tie_word_embeddings"
    names += " bos_token_id eos_token_id pad_token_id rms_norm_eps hidden_act"
    real = AutoModelForCausalLM.from_config(
        Qwen2Config(**{name: getattr(config, name) for name in names.split()}), dtype=torch.float32
    )
    for parameter in ours.parameters():  # biases start at zero: make them count
        torch.nn.init.normal_(parameter, std=0.1)
    real.load_state_dict(ours.state_dict())
    inputs = torch.arange(2 * 64).view(2, 64)
    with torch.no_grad():
        assert torch.equal(ours(inputs).logits, real(inputs).logits)
