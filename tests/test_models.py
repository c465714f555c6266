"""Models: S of the paper's 24, the output head of six architectures, and what is refused."""

import json
import math
import os
import re
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from conftest import COMMIT, edit_json, put_on_hub
from peft import LoraConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    BertConfig,
    Gemma3Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTJConfig,
    GPTNeoXConfig,
    LlamaConfig,
    OPTConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
)

from rbpkit import paper
from rbpkit.architectures import paper_config, parameter_counts
from rbpkit.checkpoints import read_tokenizer
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import find_model, load_model
from rbpkit_pocket.families import V, load_tokenizer

TEXT = "def rank(p, t):\n\treturn sum(v >= p[t] for v in p)"

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": V}
SMALL |= {"max_position_embeddings": 64}
GATED = {**SMALL, "intermediate_size": 64, "num_key_value_heads": 2}
CONFIGS = {
    "gpt2": GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, vocab_size=V),
    "opt": OPTConfig(**SMALL, ffn_dim=64),
    "opt-350m-like": OPTConfig(
        **SMALL, ffn_dim=64, word_embed_proj_dim=16, do_layer_norm_before=False
    ),
    "gpt_neox": GPTNeoXConfig(**SMALL, intermediate_size=64),
    "qwen2-tied": Qwen2Config(**GATED, tie_word_embeddings=True),
    # Unlike in the paper's families, its head has a bias.
    "gptj": GPTJConfig(
        n_embd=32, n_layer=1, n_head=4, n_positions=64, vocab_size=V, rotary_dim=4, n_inner=64
    ),
}
FAMILY = {"gpt2": "GPT2", "opt": "OPT", "gpt_neox": "Pythia", "qwen2": "Qwen", "gptj": "gptj"}


@pytest.fixture
def save(tmp_path):
    """Save a random model of a config with a tokenizer; returns (folder, the model)."""

    def save(config, *, dtype=torch.float32, spread=1.0):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                # Away from the initial zeros and ones, so that biases and norms count.
                parameter.add_(torch.randn_like(parameter) * 0.1).mul_(spread)
        model = model.to(dtype)
        model.save_pretrained(tmp_path / "model")
        load_tokenizer().save_pretrained(tmp_path / "model")
        return tmp_path / "model", model

    return save


@pytest.fixture
def neox(save):
    return save(CONFIGS["gpt_neox"])[0]


def some_ids(batch: int = 2, length: int = 12) -> torch.Tensor:
    return torch.randint(V, (batch, length), generator=torch.Generator().manual_seed(1))


def assert_logits(loaded, reference) -> None:
    """The loaded model's own logits are the reference's."""
    with torch.no_grad():
        expected = reference(some_ids()).logits
    torch.testing.assert_close(loaded.logits(some_ids()), expected)


def called(folder: Path) -> str:
    """The name of the model in a folder: the last two parts of its path."""
    return f"{folder.parent.name}/{folder.name}"


def refused(model, part: str, **options) -> None:
    """Loading is refused in one line that has `part` in it."""
    with pytest.raises(InputError) as caught:
        load_model(model, **options)
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_published_counts():
    table = paper.models()
    assert len(table) == 24
    for row in table.itertuples():
        expected = (row.S, row.embedding_params, row.vocab_rows)
        assert tuple(parameter_counts(paper_config(row.hub_id))) == expected, row.hub_id


@pytest.mark.parametrize("kind", CONFIGS)
def test_S_of_config_and_of_model_agree(kind):
    model = AutoModelForCausalLM.from_config(CONFIGS[kind])
    assert parameter_counts(CONFIGS[kind]) == parameter_counts(model)
    # By hand: all parameters, a tied head counted once, less the tables and an untied head.
    rows, width = model.get_output_embeddings().weight.shape
    positions = {"gpt2": 64 * 32, "opt": (64 + 2) * 32}.get(model.config.model_type, 0)
    tables = rows * width * (1 if model.config.tie_word_embeddings else 2) + positions
    tables += rows if kind == "gptj" else 0  # the head's bias
    assert parameter_counts(model).S == model.num_parameters() - tables


class OwnCode(PreTrainedModel):
    """Custom code that sets no base_model_prefix: it is its own base model, head and all."""

    config_class = PreTrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.tokens = torch.nn.Embedding(V, 32)
        self.body = torch.nn.Linear(32, 32)
        self.lm_head = torch.nn.Linear(32, V)
        self.post_init()

    def get_input_embeddings(self):
        return self.tokens


def test_S_of_a_model_that_is_its_own_base_leaves_out_the_head():
    model = OwnCode(PreTrainedConfig())
    assert model.base_model is model
    assert parameter_counts(model) == (32 * 32 + 32, V * 32, V)


@pytest.mark.parametrize("kind", CONFIGS)
def test_hidden_and_head_give_the_logits(kind, save):
    folder, reference = save(CONFIGS[kind])
    loaded = load_model(folder, device="cpu")
    with torch.no_grad():
        expected = reference(some_ids()).logits
    hidden, (weight, bias, *after) = loaded.hidden(some_ids()), loaded.head
    assert after == [1.0, None]
    assert (bias is not None) == (kind == "gptj")
    found = hidden @ weight.T + (0 if bias is None else bias)
    close = 1e-5 * float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=close)
    assert not hidden.requires_grad and not loaded.model.training
    assert loaded.family == FAMILY[reference.config.model_type]
    assert (loaded.V, loaded.S) == (V, parameter_counts(CONFIGS[kind]).S)
    assert (loaded.name, loaded.device, loaded.context) == (called(folder), "cpu", 64)
    assert loaded.tokenizer.decode(loaded.tokenizer(TEXT)["input_ids"]) == TEXT
    with pytest.raises(InputError, match="65 tokens is longer than the model's context of 64"):
        loaded.hidden(some_ids(1, 65))
    # Padding on the right changes nothing before it; 1 is OPT's own padding id.
    for pad in (0, 1, V - 1):
        padded = torch.cat([some_ids(), torch.full((2, 6), pad)], dim=1)
        torch.testing.assert_close(loaded.hidden(padded)[:, :12], hidden, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["gpt2", "opt-350m-like"])
def test_the_dtype_that_was_asked_for_whatever_the_checkpoint_is(kind, dtype, save):
    folder, _ = save(CONFIGS[kind], dtype=torch.float16)
    loaded = load_model(folder, dtype=dtype)
    assert loaded.head is not None and loaded.dtype == dtype
    assert {p.dtype for p in loaded.model.parameters()} == {getattr(torch, dtype)}
    assert loaded.hidden(some_ids()).dtype == getattr(torch, dtype)


def test_revision_of_a_folder_follows_its_content(neox):
    before = load_model(neox).revision
    assert before.startswith("sha256:") and len(before) == 71
    (neox / "README.md").write_text("a card")
    assert load_model(neox).revision == before
    weights = bytearray((neox / "model.safetensors").read_bytes())
    weights[-402] ^= 1  # safetensors has no checksum: this leaves a number
    (neox / "model.safetensors").write_bytes(weights)
    flipped = load_model(neox).revision
    edit_json(neox / "tokenizer_config.json", note=1)
    noted = load_model(neox).revision
    edit(neox, rotary_pct=0.5)  # the same weights, other numbers
    assert len({before, flipped, noted, load_model(neox).revision}) == 4


def test_sharded_weights(save):
    folder, reference = save(CONFIGS["gpt_neox"])
    (folder / "model.safetensors").unlink()
    reference.save_pretrained(folder, max_shard_size="40KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert_logits(load_model(folder), reference)
    # The index may give a shard any name: its bytes count, and no weight is in two shards.
    index, odd = folder / "model.safetensors.index.json", folder / "part.pt"
    shards[1].rename(odd)
    index.write_text(index.read_text().replace(shards[1].name, odd.name))
    before = load_model(folder)
    assert_logits(before, reference)
    weights = load_file(odd)
    save_file({key: value * 2 for key, value in weights.items()}, odd, {"format": "pt"})
    assert load_model(folder).revision != before.revision
    key = next(iter(weights))
    save_file({key: weights[key]}, folder / "model.safetensors", {"format": "pt"})
    refused(folder, f"{key} is in model.safetensors and part.pt")
    (folder / "model.safetensors").unlink()
    odd.unlink()
    refused(folder, odd.name)


def test_weights_that_are_replaced_while_they_are_read(neox, text_file):
    found = find_model(neox)
    change(neox, OUT, 1.0)
    with pytest.raises(InputError, match="was changed while it was read"):
        found.load()
    loaded = load_model(neox, device="cpu")  # what is read from the file only when it is needed
    (neox / WEIGHTS).write_bytes((neox / WEIGHTS).read_bytes())
    with pytest.raises(InputError, match="was changed while it was read"):
        measure(loaded, text_file)


def test_weights_as_published_years_ago(save):
    """GPT-2's names have no "transformer.", and its file holds the causal mask."""
    folder, reference = save(CONFIGS["gpt2"])
    path = folder / "model.safetensors"
    old = {key.removeprefix("transformer."): value for key, value in load_file(path).items()}
    old["h.0.attn.bias"] = torch.ones(1, 1, 64, 64)
    old["h.0.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(old, path, metadata={"format": "pt"})
    assert_logits(load_model(folder), reference)


@pytest.fixture
def cached(hub, neox):
    """The folder of someone/tiny in a hub cache, with the network off."""
    folder = put_on_hub(hub, "model", "someone/tiny")
    return shutil.copytree(neox, folder, dirs_exist_ok=True)


def test_hub_id_from_the_cache_offline(cached):
    for options in ({}, {"local_files_only": True}):
        loaded = load_model("someone/tiny", **options)
        assert (loaded.name, loaded.revision) == ("someone/tiny", COMMIT)
    pinned = load_model("someone/tiny", revision=COMMIT)
    assert (pinned.name, pinned.revision) == (f"someone/tiny@{COMMIT}", COMMIT)
    by_path = load_model(cached)
    assert (by_path.name, by_path.revision) == ("someone/tiny", COMMIT)
    refused("someone/tiny", "someone/tiny", revision="v9")
    for leads_out in ("../../v9", "/v9"):  # the hub's library would make a file of that name
        refused("someone/tiny", "give a branch, a tag or a commit", revision=leads_out)


def test_a_model_is_found_as_it_is_loaded_but_without_its_weights(cached, neox):
    """In the cache there need be none of them; of a folder all is asked for but their content."""
    for model in ("someone/tiny", neox):
        found, loaded = find_model(model, dtype="bfloat16"), load_model(model, dtype="bfloat16")
        for about in ("name", "revision", "dtype", "context"):
            assert getattr(found, about) == getattr(loaded, about)
        assert torch.equal(found.load().logits(some_ids()), loaded.logits(some_ids()))
    (cached / "model.safetensors").unlink()
    (neox / "model.safetensors").write_bytes(b"no weights")
    find_model("someone/tiny")
    find_model(neox)
    (neox / "model.safetensors").unlink()
    for model, fault in (
        (str(neox), "no model.safetensors there"),
        ("someone/tiny2", "the hub does not give it"),
        (str(neox.parent / "modle"), "no such folder"),
    ):
        with pytest.raises(InputError, match=re.escape(fault)):
            find_model(model)


def test_a_folder_is_called_by_the_last_two_parts_of_its_path(neox, monkeypatch):
    monkeypatch.chdir(neox)
    for typed in (".", "../model", neox):
        assert find_model(typed).name == called(neox)
    assert load_model(".", name="mine").name == "mine"


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])  # from nothing the library makes one up
def test_a_tokenizer_that_is_elsewhere(kind, save, cached, tmp_path):
    """As Trainer saves a model without `processing_class`."""
    folder, _ = save({**CONFIGS, "llama": LlamaConfig(**GATED)}[kind])
    whole, elsewhere = load_model(folder), tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in [*folder.glob("*token*"), *folder.glob("special*")]:
        path.rename(elsewhere / path.name)
    refused(folder, "no tokenizer files")
    refused(folder, "--tokenizer PATH")
    refused(folder, "nowhere: no such folder", tokenizer=tmp_path / "nowhere")
    loaded = load_model(folder, tokenizer=elsewhere)
    assert loaded.tokenizer(TEXT)["input_ids"] == whole.tokenizer(TEXT)["input_ids"]
    assert loaded.notes == {"tokenizer": f"of {called(elsewhere)}"}
    torch.testing.assert_close(loaded.logits(some_ids()), whole.logits(some_ids()))
    # Another tokenizer may give other numbers, so it is another revision.
    by_id = load_model(folder, tokenizer="someone/tiny")
    edit_json(elsewhere / "tokenizer_config.json", note=1)
    changed = load_model(folder, tokenizer=elsewhere)
    (elsewhere / "config.json").write_text('{"model_type": "gpt2"}')  # may name a class
    other = load_model(folder, tokenizer=elsewhere)
    assert len({one.revision for one in (whole, loaded, by_id, changed, other)}) == 5


def test_a_folder_that_is_called_like_one_of_the_cache_is_hashed(neox, tmp_path):
    """Nobody changes the files of a commit in the cache; those of a copy can change."""
    folder = tmp_path / "models--someone--tiny/snapshots/abc"
    shutil.copytree(neox, folder)
    before = load_model(folder).revision
    change(folder, OUT, 1.0)
    assert load_model(folder).revision != before
    assert before == load_model(neox).revision


@pytest.mark.parametrize("named", ["sub/w.safetensors", "../w.safetensors"])
def test_weights_that_are_not_beside_the_config_are_refused(named, neox):
    """They would not be part of the revision, and could change unseen."""
    index = {"metadata": {}, "weight_map": {OUT: named}}
    (neox / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(neox, f"its weights are in {named}")
    (neox / "model.safetensors.index.json").unlink()
    edit(neox, transformers_weights=named)
    refused(neox, f"its weights are in {named}")


def test_pickles_if_there_are_no_safetensors(cached, neox):
    """As OPT's repositories on the hub have them, and in a folder."""
    expected = load_model(neox).logits(some_ids())
    for place in (neox, cached):
        torch.save(load_file(place / "model.safetensors"), place / "pytorch_model.bin")
        (place / "model.safetensors").unlink()
    for model in (neox, "someone/tiny"):
        assert torch.equal(load_model(model).logits(some_ids()), expected)


def test_hub_id_out_of_reach(hub):
    refused("EleutherAI/pythia-71m", "the hub does not give it")
    for model in ("what is this?", "./no", "no/such/folder", Path("no")):
        refused(model, f"{model}: no such folder")


def change(folder: Path, key: str, value: float | torch.Tensor | None) -> None:
    """Put a number at one place of a weight, another weight in its place, or take it away."""
    (path,) = folder.glob("*model.safetensors")
    weights = load_file(path)
    if isinstance(value, float):
        weights[key].view(-1)[7] = value
    elif value is None:
        del weights[key]
    else:
        weights[key] = value
    save_file(weights, path, metadata={"format": "pt"})


def change_names(folder: Path, prefix: str) -> None:
    """Put a prefix before the name of every weight."""
    weights = load_file(path := folder / WEIGHTS)
    save_file({prefix + key: value for key, value in weights.items()}, path, {"format": "pt"})


def larger_tokenizer(folder: Path) -> None:
    words = load_tokenizer()
    words.add_tokens("<one more>")
    words.save_pretrained(folder)


def edit(folder: Path, **changes: object) -> None:
    edit_json(folder / "config.json", **changes)


WEIGHTS = "model.safetensors"
UP, OUT = "gpt_neox.layers.1.mlp.dense_h_to_4h.weight", "gpt_neox.layers.1.attention.dense.weight"
NORM, HEAD = "gpt_neox.final_layer_norm.bias", "embed_out.weight"
FAULTS = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    "a broken config": (lambda folder: (folder / "config.json").write_text("{"), "config.json"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "no model.safetensors there"),
    "weights cut short": (lambda folder: os.truncate(folder / WEIGHTS, 900_000), "SafetensorError"),
    "no tokenizer": (
        lambda folder: [path.unlink() for path in folder.glob("*token*")],
        "no tokenizer files",
    ),
    "a larger tokenizer": (larger_tokenizer, f"ids up to {V}, and the model has {V} rows"),
    "a missing weight": (lambda folder: change(folder, UP, None), f"missing: {UP}"),
    # Untied: the library would make up a head at random.
    "a missing head": (lambda folder: change(folder, HEAD, None), "missing: lm_head.weight"),
    "a weight too many": (lambda folder: change(folder, "extra", torch.ones(2)), "extra"),
    "another shape": (lambda folder: change(folder, NORM, torch.ones(31)), f"says: {NORM}"),
    "compiled": (lambda folder: change_names(folder, "_orig_mod."), "missing: gpt_neox."),
    "another kind": (
        lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'),
        "not a causal language model",
    ),
    "sentencepiece": (
        lambda folder: (folder / "tokenizer.json").rename(folder / "tokenizer.model"),
        "pip install ",  # which package, says the library
    ),
    "NaN": (lambda folder: change(folder, OUT, math.nan), f"{OUT} holds NaN in its file"),
    "Inf": (lambda folder: change(folder, OUT, math.inf), f"{OUT} holds Inf in float32"),
    "absurd layers": (lambda folder: edit(folder, num_hidden_layers=10**7), "num_hidden_layers"),
    "absurd width": (lambda folder: edit(folder, hidden_size=400_000), "cannot be loaded"),
    "absurd rows": (lambda folder: edit(folder, vocab_size=10**10), "cannot be loaded"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_folder_with_a_fault_is_refused(fault, neox):
    make, says = FAULTS[fault]
    make(neox)
    refused(neox, says)


def test_weights_that_float16_cannot_hold(neox):
    change(neox, UP, 1e6)
    assert load_model(neox).head is not None
    refused(neox, "try float32", dtype="float16")


# -- what the folder says, not what the library makes of it -----------------------------------

SAYS = ("a  b   1984, x_1 = 50,257;\n\n\n  cafe\u0301 naïve 漢字 🙂", "In   2026 it's 3.14\t\t7 ")
TYPES = "gpt2 gpt_neox gpt_neo mamba opt gptj rwkv starcoder2 qwen2 llama gemma2 cohere".split()
NAMED = "GPT2Tokenizer GPTNeoXTokenizerFast GemmaTokenizerFast LlamaTokenizer Qwen2TokenizerFast"
NAMED += " CodeLlamaTokenizerFast CohereTokenizerFast Qwen2TokenizerFast PreTrainedTokenizerFast"
FOLDERS = [("llama", {"tokenizer_class": name}) for name in NAMED.split()]
FOLDERS += [(kind, described) for kind in TYPES for described in ({}, None)]


def with_rules_of_its_own(folder: Path) -> Tokenizer:
    """Its tokenizer.json then cuts digits one by one, and puts a token first."""
    own = Tokenizer.from_file(str(folder / "tokenizer.json"))
    digits = pre_tokenizers.Digits(individual_digits=True)
    own.pre_tokenizer = pre_tokenizers.Sequence([digits, own.pre_tokenizer])
    first = own.id_to_token(0)
    own.post_processor = processors.TemplateProcessing(f"{first} $A", special_tokens=[(first, 0)])
    own.save(str(folder / "tokenizer.json"))
    return own


def test_a_hub_id_has_the_ids_of_its_folder(cached, neox):
    """The library would rebuild this tokenizer without its rules, whichever way it gets there."""
    for folder, model in ((cached, "someone/tiny"), (neox, neox)):
        own = with_rules_of_its_own(folder)
        found = load_model(model).tokenizer
        assert [found(text)["input_ids"] for text in SAYS] == [
            own.encode(text).ids for text in SAYS
        ]


@pytest.mark.parametrize(("kind", "described"), FOLDERS)
def test_text_is_cut_as_tokenizer_json_says(kind, described, tmp_path):
    """Digits one by one, and a first token: what many classes of the library drop."""
    load_tokenizer().save_pretrained(tmp_path)
    own = with_rules_of_its_own(tmp_path)
    first = own.id_to_token(0)
    (tmp_path / "tokenizer_config.json").unlink()
    if described is not None:
        described = json.dumps({"eos_token": first, **described})
        (tmp_path / "tokenizer_config.json").write_text(described)
    config = AutoConfig.for_model(kind)
    config.save_pretrained(tmp_path)
    found = read_tokenizer(tmp_path, {"config": config})
    for text in SAYS:
        assert found(text)["input_ids"] == own.encode(text).ids
    assert 0 in found.all_special_ids
    assert max(found.get_vocab().values()) < V


@pytest.mark.parametrize("puts_it", [True, False])
def test_the_ends_of_a_text_are_those_that_the_folder_names(puts_it, neox):
    """The tokenizer.json puts nothing there, and its folder may say that a token goes first."""
    edit_json(neox / "tokenizer_config.json", add_bos_token=puts_it, bos_token="<|endoftext|>")
    first, *rest = load_model(neox).tokenizer(TEXT)["input_ids"]
    assert (first == 0) is puts_it
    assert 0 not in rest


def test_the_language_model_alone_of_a_multimodal_one(save):
    text = {**GATED, "head_dim": 8, "pad_token_id": 0}
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    vision |= {"num_attention_heads": 4, "image_size": 28, "patch_size": 14}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    loaded = load_model(save(config)[0])
    assert (loaded.S, loaded.family) == (
        parameter_counts(Gemma3TextConfig(**text)).S,
        "gemma3_text",
    )


@pytest.fixture
def adapter(save, tmp_path):
    """A LoRA adapter of a model -> (its folder, the base's folder, the adapted model's logits)."""
    base, model = save(CONFIGS["qwen2-tied"])
    model.name_or_path = str(base)
    adapted = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "down_proj"]))
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=0.5)
    adapted.eval().save_pretrained(tmp_path / "adapter")
    with torch.no_grad():
        return tmp_path / "adapter", base, adapted(some_ids()).logits


def test_an_adapter_is_put_on_its_base(adapter):
    folder, base, logits = adapter
    plain, loaded = load_model(base), load_model(folder)
    torch.testing.assert_close(loaded.logits(some_ids()), logits)
    assert not torch.allclose(plain.logits(some_ids()), logits, atol=1e-2)
    assert (loaded.S, loaded.family, loaded.name) == (plain.S, plain.family, called(folder))
    assert parameter_counts(loaded.model).S == plain.S
    # Another base, and another adapter, is another revision.
    edit_json(base / "tokenizer_config.json", note=1)
    moved = load_model(folder).revision
    change(folder, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", 1.0)
    changed = load_model(folder)
    assert len({plain.revision, loaded.revision, moved, changed.revision}) == 4
    # One folder with both gives the same numbers under its own revision.
    for path in folder.glob("adapter_*"):
        shutil.copy(path, base)
    both = load_model(base)
    torch.testing.assert_close(both.logits(some_ids()), changed.logits(some_ids()))
    assert both.S == plain.S and both.revision != plain.revision


def test_an_adapter_with_a_fault_is_refused(adapter):
    folder, base, _ = adapter
    key = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
    change(folder, key.replace("0", "7"), torch.ones(2, 32))
    refused(folder, "adapter unused")
    change(folder, key.replace("0", "7"), None)
    change(folder, key, None)
    refused(folder, "adapter missing")
    edit_json(folder / "adapter_config.json", base_model_name_or_path="no/such/base")
    refused(folder, "no/such/base: no such folder")
    edit_json(folder / "adapter_config.json", base_model_name_or_path=str(folder))
    refused(folder, "is an adapter itself")
    prompt = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    get_peft_model(AutoModelForCausalLM.from_pretrained(base), prompt).save_pretrained(folder)
    refused(folder, "of the prompt")


def write_gguf(path: Path, model: PreTrainedModel) -> Path:
    """A Llama with its matrices in 8 bits, which `model` gets too: what llama.cpp would write."""
    config, kind = model.config, gguf.GGMLQuantizationType.Q8_0
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(config.max_position_embeddings)
    file.add_embedding_length(config.hidden_size)
    file.add_block_count(config.num_hidden_layers)
    file.add_feed_forward_length(config.intermediate_size)
    file.add_head_count(config.num_attention_heads)
    file.add_head_count_kv(config.num_key_value_heads)
    file.add_layer_norm_rms_eps(config.rms_norm_eps)
    file.add_rope_freq_base(10_000.0)
    file.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    told = json.loads(load_tokenizer().backend_tokenizer.to_str())["model"]
    file.add_tokenizer_model("gpt2")
    file.add_token_list(sorted(told["vocab"], key=told["vocab"].get))
    file.add_token_merges([" ".join(pair) for pair in told["merges"]])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for key, weight in model.named_parameters():
        values = weight.detach().numpy()
        if values.ndim == 2:
            values = gguf.quantize(values, kind)
            weight.data = torch.from_numpy(gguf.dequantize(values, kind))
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        if count := heads.get(key.split(".")[-2]):  # the halves of each head are interleaved
            halves = values.reshape(count, 2, -1, values.shape[-1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        name = names.get_name(key, try_suffixes=(".weight",))
        file.add_tensor(name, values, raw_dtype=kind if values.dtype == np.uint8 else None)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def test_a_gguf_file(save):
    config = LlamaConfig(**GATED, tie_word_embeddings=True)
    folder, model = save(config)
    path = write_gguf(folder / "tiny.gguf", model)
    with_rules_of_its_own(folder)  # of another model's tokenizer.json that lies there
    loaded = load_model(path)
    assert (loaded.name, loaded.family) == (called(folder / "tiny"), "llama")
    assert loaded.notes == {"gguf": "tiny.gguf"}
    assert (loaded.S, loaded.V) == (parameter_counts(config).S, V)
    assert loaded.tokenizer(TEXT)["input_ids"] == load_tokenizer()(TEXT)["input_ids"]
    with torch.no_grad():
        torch.testing.assert_close(loaded.logits(some_ids()), model(some_ids()).logits)
    other = folder / "other.gguf"  # as one repository has several quantisations
    other.write_bytes(path.read_bytes()[:-1] + b"\1")
    assert load_model(other).revision != loaded.revision == load_model(path).revision
    other.unlink()
    (folder / "model.safetensors").unlink()
    refused(folder, "no model.safetensors there")
    config.num_hidden_layers = 20_000
    model.named_parameters = list  # no weights
    refused(write_gguf(folder / "absurd.gguf", model), "num_hidden_layers is 20,000")


class Code:
    """The content of a hostile pickle."""

    def __reduce__(self):
        return Path.touch, (Path("touched-by-a-pickle"),)


def test_a_pickle_cannot_run_code(save, monkeypatch, tmp_path):
    folder, _ = save(CONFIGS["opt"])
    monkeypatch.chdir(tmp_path)
    (folder / "model.safetensors").unlink()
    content = {"x": Code(), "weights": torch.zeros(10**5)}
    torch.save(content, folder / "pytorch_model.bin")
    refused(folder, "cannot be loaded")
    assert not (tmp_path / "touched-by-a-pickle").exists()


def test_own_code_is_not_run(neox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edit_json(neox / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.Config"})
    (neox / "mine.py").write_text("open('ran', 'w')\n")
    refused(neox, "--trust-remote-code")
    assert not (tmp_path / "ran").exists()


def test_a_model_that_looks_ahead(save):
    config = BertConfig(**SMALL, intermediate_size=64)
    refused(save(config)[0], "not causal")
