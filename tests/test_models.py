"""Models: S of the paper's 24, the output head of four architectures, and what is refused."""

import dataclasses
import json
import logging
import math
import shutil
import warnings
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from conftest import edit_json
from huggingface_hub import constants as hub_constants
from huggingface_hub.utils import are_progress_bars_disabled
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers import models as tokenizer_models
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    CohereConfig,
    Gemma2Config,
    GPT2Config,
    GPTJConfig,
    GPTNeoXConfig,
    GraniteConfig,
    OPTConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
)
from transformers.utils import logging as transformers_logging

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.files.architectures import (
    ARCHITECTURES,
    non_embedding_parameters,
    paper_config,
    parameter_counts,
)
from rbpkit.models import linear_head, load_model
from rbpkit.pocket.ladders import V, load_tokenizer

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
    "gpt_neox-tied": GPTNeoXConfig(**SMALL, intermediate_size=64, tie_word_embeddings=True),
    "qwen2": Qwen2Config(**GATED),
    "qwen2-tied": Qwen2Config(**GATED, tie_word_embeddings=True),
    # Its head has a bias, as that of no family of the paper.
    "gptj": GPTJConfig(
        n_embd=32, n_layer=1, n_head=4, n_positions=64, vocab_size=V, rotary_dim=4, n_inner=64
    ),
}
FAMILY = {"gpt2": "GPT2", "opt": "OPT", "gpt_neox": "Pythia", "qwen2": "Qwen", "gptj": "gptj"}


@pytest.fixture
def save(tmp_path):
    """Save a random model of a config with a tokenizer; returns (folder, the model)."""

    def save(config, name="model", *, words=True, dtype=torch.float32, spread=1.0):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                # Away from the initial zeros and ones, so that biases and norms count.
                parameter.add_(torch.randn_like(parameter) * 0.1).mul_(spread)
        model = model.to(dtype)
        model.save_pretrained(tmp_path / name)
        if words:
            load_tokenizer().save_pretrained(tmp_path / name)
        return tmp_path / name, model

    return save


@pytest.fixture
def neox(save):
    return save(CONFIGS["gpt_neox"])[0]


def some_ids(batch: int = 2, length: int = 12) -> torch.Tensor:
    return torch.randint(V, (batch, length), generator=torch.Generator().manual_seed(1))


def refused(model, *parts: str, **options) -> None:
    """Loading is refused in one line, not a library's report, with each of `parts` in it."""
    with pytest.raises(InputError) as caught:
        load_model(model, **options)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def assert_logits(loaded, reference) -> None:
    """The loaded model's own logits are the reference's."""
    with torch.no_grad():
        expected = reference(some_ids()).logits
    torch.testing.assert_close(loaded.logits(some_ids()), expected)


# ---- the paper's 24


@pytest.mark.parametrize("hub_id", paper.models()["hub_id"])
def test_published_counts(hub_id):
    row = paper.models().set_index("hub_id").loc[hub_id]
    one = ARCHITECTURES[hub_id]
    assert (one.family, one.name) == (row["family"], row["model"]) and len(ARCHITECTURES) == 24
    expected = (row["S"], row["embedding_params"], row["vocab_rows"])
    assert tuple(parameter_counts(hub_id)) == expected


@pytest.mark.parametrize("kind", CONFIGS)
def test_S_of_config_and_of_model_agree(kind):
    model = AutoModelForCausalLM.from_config(CONFIGS[kind])
    assert parameter_counts(CONFIGS[kind]) == parameter_counts(model)
    # By hand: all parameters, a tied head counted once, less the tables and an untied head.
    rows, width = model.get_output_embeddings().weight.shape
    positions = {"gpt2": 64 * 32, "opt": (64 + 2) * 32}.get(model.config.model_type, 0)
    tables = rows * width * (1 if model.config.tie_word_embeddings else 2) + positions
    tables += rows if kind == "gptj" else 0  # the head's bias
    assert non_embedding_parameters(model) == model.num_parameters() - tables


class OwnCode(PreTrainedModel):
    """Custom code that sets no base_model_prefix: it is its own base model, head and all."""

    config_class = PreTrainedConfig
    _tied_weights_keys: ClassVar = {"lm_head.weight": "tokens.weight"}

    def __init__(self, config, bias):
        super().__init__(config)
        self.tokens = torch.nn.Embedding(V, 32)
        self.body = torch.nn.Linear(32, 32)
        self.lm_head = torch.nn.Linear(32, V, bias=bias)
        self.post_init()

    def get_input_embeddings(self):
        return self.tokens


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_S_of_a_model_that_is_its_own_base_leaves_out_the_head(tied, bias):
    model = OwnCode(PreTrainedConfig(tie_word_embeddings=tied), bias)
    assert model.base_model is model
    assert (model.lm_head.weight is model.tokens.weight) == tied
    assert parameter_counts(model) == (32 * 32 + 32, V * 32, V)


def test_S_of_an_unknown_id_names_the_nearest():
    with pytest.raises(InputError, match="did you mean EleutherAI/pythia-410m"):
        non_embedding_parameters("pythia-411m")
    with pytest.raises(InputError, match="none of the paper's 24"):
        paper_config("someone/else")


def test_a_config_that_is_no_language_model_is_refused():
    from transformers import ViTConfig

    with pytest.raises(InputError, match="no causal language model"):
        non_embedding_parameters(ViTConfig())


# ---- loading, and the head


@pytest.mark.parametrize("kind", CONFIGS)
def test_hidden_and_head_give_the_logits(kind, save):
    folder, reference = save(CONFIGS[kind])
    loaded = load_model(folder, device="cpu")
    with torch.no_grad():
        expected = reference(some_ids()).logits
    hidden = loaded.hidden(some_ids())
    assert loaded.head is not None and (loaded.head.bias is not None) == (kind == "gptj")
    torch.testing.assert_close(
        hidden @ loaded.head.weight.T + (0 if loaded.head.bias is None else loaded.head.bias),
        expected,
        rtol=1e-5,
        atol=1e-5 * float(expected.abs().max()),
    )
    torch.testing.assert_close(loaded.logits(some_ids()), expected)
    assert not hidden.requires_grad and not loaded.model.training
    assert loaded.family == FAMILY[reference.config.model_type]
    assert (loaded.V, loaded.S) == (V, non_embedding_parameters(CONFIGS[kind]))
    assert (loaded.name, loaded.dtype, loaded.device) == ("model", "float32", "cpu")
    assert loaded.context == 64
    assert loaded.tokenizer.decode(loaded.tokenizer(TEXT)["input_ids"]) == TEXT


CAPPED = {
    "soft-capped": Gemma2Config(**GATED, head_dim=8),
    "scaled up": CohereConfig(**SMALL, intermediate_size=64, logit_scale=0.0625),
    "scaled down": GraniteConfig(**SMALL, intermediate_size=64, logits_scaling=8.0),
}


@pytest.mark.parametrize("kind", CAPPED)
@pytest.mark.parametrize("spread", [1.0, 0.1])
def test_logits_that_are_not_linear_fall_back(kind, spread, save):
    # Spread 0.1: logits so small that a soft cap moves only their last bits.
    folder, reference = save(CAPPED[kind], spread=spread)
    loaded = load_model(folder)
    assert loaded.head is None
    assert_logits(loaded, reference)


def test_a_hidden_state_scaled_before_the_head_falls_back():
    model = AutoModelForCausalLM.from_config(CONFIGS["gpt_neox"]).eval()
    assert linear_head(model, "plain")[0] is not None
    model.lm_head.register_forward_pre_hook(lambda _, given: (given[0] * 0.5,))
    assert linear_head(model, "scaled") == (None, V)


@pytest.mark.parametrize("kind", CONFIGS)
def test_right_padding_changes_nothing_before_it(kind, save):
    loaded = load_model(save(CONFIGS[kind])[0])
    ids = some_ids(1, 10)
    alone = loaded.hidden(ids)
    for pad in (0, 1, V - 1):  # 1 is OPT's own padding id, which a model could treat apart
        padded = torch.cat([ids, torch.full((1, 6), pad)], dim=1)
        together = loaded.hidden(torch.cat([padded, some_ids(1, 16)]))
        torch.testing.assert_close(together[:1, :10], alone, rtol=1e-5, atol=1e-5)


def test_float32_whatever_the_checkpoint_is(save):
    folder, _ = save(CONFIGS["gpt_neox"], dtype=torch.float16)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
    loaded = load_model(folder)
    assert {p.dtype for p in loaded.model.parameters()} == {torch.float32}
    assert loaded.hidden(some_ids()).dtype == torch.float32


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["gpt2", "opt-350m-like", "gpt_neox", "qwen2"])
def test_16_bit_on_request_keeps_the_head(kind, dtype, save):
    loaded = load_model(save(CONFIGS[kind])[0], dtype=dtype)
    assert loaded.head is not None and loaded.dtype == dtype
    assert loaded.hidden(some_ids()).dtype == getattr(torch, dtype)


def test_revision_of_a_folder_follows_its_content(neox):
    before = load_model(neox).revision
    assert before.startswith("sha256:") and len(before) == 71
    (neox / "README.md").write_text("a card")
    assert load_model(neox).revision == before
    weights = bytearray((neox / "model.safetensors").read_bytes())
    weights[-402] ^= 1  # no checksum stands in safetensors: this leaves a number
    (neox / "model.safetensors").write_bytes(weights)
    flipped = load_model(neox).revision
    edit_json(neox / "tokenizer_config.json", note=1)
    assert len({before, flipped, load_model(neox).revision}) == 3


def test_sharded_weights(save):
    folder, reference = save(CONFIGS["qwen2"])
    (folder / "model.safetensors").unlink()
    reference.save_pretrained(folder, max_shard_size="40KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert_logits(load_model(folder), reference)
    shards[1].unlink()
    refused(folder, shards[1].name)


def as_published(kind: str, weights: dict) -> dict:
    """GPT-2 and OPT on the hub have no "transformer." or "model." in their names; GPT-2 stores the
    causal mask; Pythia calls its head embed_out and stores masks and rotary frequencies."""
    if kind == "gpt2":
        old = {key.removeprefix("transformer."): value for key, value in weights.items()}
        old["h.0.attn.bias"] = torch.ones(1, 1, 64, 64)
        return old | {"h.0.attn.masked_bias": torch.tensor(-1e4)}
    if kind == "opt":
        old = {key.removeprefix("model."): value for key, value in weights.items()}
        return old | {"decoder.version": torch.ones(1)}
    head = next(key for key in weights if key.startswith(("lm_head", "embed_out")))
    layer = "gpt_neox.layers.0.attention"
    return {key: value for key, value in weights.items() if key != head} | {
        "embed_out.weight": weights[head],
        f"{layer}.bias": torch.ones(1, 1, 64, 64, dtype=torch.bool),
        f"{layer}.masked_bias": torch.tensor(-1e9),
        f"{layer}.rotary_emb.inv_freq": torch.ones(1),
    }


@pytest.mark.parametrize("kind", ["gpt2", "opt", "gpt_neox"])
def test_weights_as_published_years_ago(kind, save):
    folder, reference = save(CONFIGS[kind])
    path = folder / "model.safetensors"
    save_file(as_published(kind, load_file(path)), path, metadata={"format": "pt"})
    assert_logits(load_model(folder), reference)


def test_nothing_is_printed_and_settings_are_left_alone(save, capfd, caplog):
    folder, _ = save(CONFIGS["gpt2"])  # its token ids over V are worth a warning to the library
    capfd.readouterr()
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)  # it hears whatever the logger does with its lines
    transformers_logging.set_verbosity_info()
    transformers_logging.set_tqdm_hook(own_hook := lambda bar, args, kwargs: bar(*args, **kwargs))
    try:
        bars = transformers_logging.is_progress_bar_enabled(), are_progress_bars_disabled()
        filters = list(warnings.filters)
        load_model(folder).hidden(some_ids())
        assert capfd.readouterr() == ("", "")
        assert caplog.records == []
        assert transformers_logging.get_verbosity() == logging.INFO
        assert bars == (
            transformers_logging.is_progress_bar_enabled(),
            are_progress_bars_disabled(),
        )
        assert warnings.filters == filters
    finally:
        restored = transformers_logging.set_tqdm_hook(None)
        transformers_logging.set_verbosity_warning()
        logger.removeHandler(caplog.handler)
    assert restored is own_hook


def test_loading_leaves_the_random_state_alone(neox):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load_model(neox)
    assert torch.equal(torch.rand(3), expected)


def test_result_is_frozen_and_context_is_kept(neox):
    loaded = load_model(neox)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.S = 1
    loaded.hidden(some_ids(1, 64))
    with pytest.raises(InputError, match="65 tokens is longer than the model's context of 64"):
        loaded.hidden(some_ids(1, 65))


# ---- the hub's cache, offline


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty local hub cache, with the network off as HF_HUB_OFFLINE=1 does at start."""
    cache = tmp_path / "hub"
    cache.mkdir()
    monkeypatch.setattr(hub_constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    return cache


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def put_in_cache(hub: Path, folder: Path) -> Path:
    """The cache as the hub's client leaves it for someone/tiny; returns the commit's folder."""
    repo = hub / "models--someone--tiny"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs/main").write_text(COMMIT)
    return Path(shutil.copytree(folder, repo / "snapshots" / COMMIT))


def test_hub_id_from_the_cache_offline(hub, neox):
    snapshot = put_in_cache(hub, neox)
    for options in ({}, {"local_files_only": True}, {"revision": COMMIT}):
        loaded = load_model("someone/tiny", **options)
        assert (loaded.name, loaded.revision) == ("someone/tiny", COMMIT)
    by_path = load_model(snapshot)
    assert (by_path.name, by_path.revision) == ("someone/tiny", COMMIT)
    refused("someone/tiny", "someone/tiny", revision="v9")


def test_hub_id_with_pickles_only_as_opt_has(hub, save):
    snapshot = put_in_cache(hub, save(CONFIGS["opt"])[0])
    torch.save(load_file(snapshot / "model.safetensors"), snapshot / "pytorch_model.bin")
    (snapshot / "model.safetensors").unlink()
    refused("someone/tiny", "--allow-pickle")
    assert load_model("someone/tiny", allow_pickle=True).revision == COMMIT


def test_hub_id_out_of_reach(hub):
    refused("EleutherAI/pythia-71m", "not in the local hub cache", "EleutherAI/pythia-70m")
    refused("what is this?", "no hub id")


# ---- what is refused


def test_missing_folder(tmp_path):
    for model in (tmp_path / "no", str(tmp_path / "no"), "./no", "no/such/folder", Path("no")):
        refused(model, "no such folder")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "a file")
    refused(tmp_path, "no config.json")


def test_no_tokenizer(save):
    folder, _ = save(CONFIGS["gpt_neox"], words=False)
    refused(folder, "no tokenizer there")


def test_a_tokenizer_that_encodes_to_nothing(neox):
    # What the library itself makes up where there are no files, saved.
    empty = Tokenizer(tokenizer_models.BPE())
    PreTrainedTokenizerFast(tokenizer_object=empty, eos_token="<|end|>").save_pretrained(neox)
    refused(neox, "encodes text to nothing")


def test_a_tokenizer_too_large(neox):
    words = load_tokenizer()
    words.add_tokens("<one more>")
    words.save_pretrained(neox)
    refused(neox, f"ids up to {V}, the model only {V} rows")


def change(folder: Path, key: str, value: float | torch.Tensor | None) -> None:
    """Put a number at one place of a weight, another weight in its stead, or take it away."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    if isinstance(value, float):
        weights[key].view(-1)[7] = value
    elif value is None:
        del weights[key]
    else:
        weights[key] = value
    save_file(weights, path, metadata={"format": "pt"})


UP, OUT = "gpt_neox.layers.1.mlp.dense_h_to_4h.weight", "gpt_neox.layers.1.attention.dense.weight"


@pytest.mark.parametrize(
    ("kind", "key", "value", "says"),
    [
        ("gpt_neox", UP, None, "the checkpoint lacks"),
        ("qwen2", "lm_head.weight", None, "the checkpoint lacks"),  # untied: it would pass unseen
        ("gpt_neox", "extra", torch.ones(2), "does not use"),
        ("gpt2", "transformer.ln_f.bias", torch.ones(31), "has in another shape"),
        ("gpt_neox", OUT, math.nan, "holds NaN or Inf"),
        ("gpt_neox", OUT, math.inf, "holds NaN or Inf"),
    ],
)
def test_weights_that_are_not_the_models(kind, key, value, says, save):
    folder, _ = save(CONFIGS[kind])
    change(folder, key, value)
    refused(folder, key, says)


def test_weights_that_float16_cannot_hold(neox):
    change(neox, UP, 1e6)
    assert load_model(neox).head is not None
    refused(neox, "try float32", dtype="float16")


def test_truncated_safetensors(neox):
    path = neox / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    refused(neox, str(path), "damaged")
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    refused(neox, "Git LFS pointer")
    path.write_bytes(b"")
    refused(neox, str(path))
    path.unlink()
    refused(neox, "no weights there")


def test_damaged_config(neox):
    (neox / "config.json").write_text('{"model_type": "gpt_neox"')
    refused(neox, "not JSON")
    (neox / "config.json").write_text('{"model_type": "no_such_model"}')
    refused(neox, "config.json")


def test_pickle_only_on_request(save):
    folder, reference = save(CONFIGS["opt"])
    (folder / "model.safetensors").unlink()
    torch.save(reference.state_dict(), folder / "pytorch_model.bin")
    refused(folder, "allow_pickle")
    assert_logits(load_model(folder, allow_pickle=True), reference)


class Code:
    """What a hostile pickle holds."""

    def __reduce__(self):
        return Path.touch, (Path("touched-by-a-pickle"),)


def test_a_pickle_cannot_run_code(save, monkeypatch, tmp_path):
    folder, _ = save(CONFIGS["opt"])
    monkeypatch.chdir(tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save({"x": Code()}, folder / "pytorch_model.bin")
    refused(folder, "cannot be loaded", allow_pickle=True)
    assert not (tmp_path / "touched-by-a-pickle").exists()


def test_own_code_is_not_run(neox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edit_json(neox / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.Config"})
    (neox / "mine.py").write_text("open('ran', 'w')\n")
    refused(neox, "trust_remote_code")
    assert not (tmp_path / "ran").exists()


def test_a_model_that_looks_ahead(save):
    config = BertConfig(**SMALL, intermediate_size=64)
    refused(save(config)[0], "not causal")


def test_arguments(neox):
    refused(neox, "float32, bfloat16, float16", dtype="float64")
    refused(neox, "not known", device="abacus")
    refused(neox, "device 'xla' is not here; use cpu, cuda or auto", device="xla")
    refused(neox, "has no revision", revision="main")
    if not torch.cuda.is_available():
        refused(neox, "no GPU", device="cuda")
