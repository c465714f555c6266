"""Models: S of the paper's 24, every type that can be built small, and what is refused."""

import dataclasses
import json
import math
import re
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from conftest import COMMIT, TEXTS, TINY, edit_json, put_on_hub, refused
from oracle import assert_counted, one_by_one
from peft import LoraConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from small_models import paper_configs, small_config, spread_weights
from tokenizers import Tokenizer, pre_tokenizers, processors
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    BertConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.models.auto import modeling_auto
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from rbpkit import Corpus, InputError, load_corpus, paper
from rbpkit.architectures import active_size, context_of, parameter_counts
from rbpkit.checkpoints import read_tokenizer
from rbpkit.encoding import encode
from rbpkit.measuring import measure, rank_columns
from rbpkit.models import find_model, load_model, model_in_memory
from rbpkit_pocket import families
from rbpkit_pocket.families import V, load_tokenizer

NEOX = GPTNeoXConfig(**{**TINY, "num_attention_heads": 4})
GPT2 = GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, vocab_size=V)
LLAMA = LlamaConfig(**TINY, tie_word_embeddings=True)


def size(parameters) -> int:
    return sum(parameter.numel() for parameter in set(parameters))


def S_of_layers(model) -> int:
    """Parameters of the base model without those of the head and of tables of embeddings."""
    head = model.get_output_embeddings()
    left_out = set() if head is None else set(head.parameters())
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            left_out.update(module.parameters(recurse=False))
    return size(set(model.base_model.parameters()) - left_out)


def test_published_counts():
    table, configs = paper.table("models"), paper_configs()
    assert len(table) == len(configs) == 24
    for row in table.itertuples():
        expected = (row.S, row.vocab_rows)
        assert tuple(parameter_counts(configs[row.hub_id])) == expected, row.hub_id


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
    assert parameter_counts(model) == (32 * 32 + 32, V)


# -- every type -------------------------------------------------------------------------------

# What each of them has that others do not: positions in a table or none, a projection before the
# head, a bias of the head, a scale, a cap, experts, a recurrence, no causal mask on padding.
ALWAYS = "bloom cohere ctrl gemma2 gpt2 gpt_neox gptj granite llama mamba minicpm3 mixtral".split()
ALWAYS += "modernbert-decoder mpt opt phi3 prophetnet qwen2 recurrent_gemma rwkv".split()
OTHERS = sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.keys() - set(ALWAYS))
# Have other parts than their language model, or tables that are no nn.Embedding.
MORE_THAN_TEXT = {"git", "phi4_multimodal"}


@pytest.mark.parametrize("kind", ALWAYS + [pytest.param(k, marks=pytest.mark.slow) for k in OTHERS])
def test_a_model_type_has_the_ranks_of_its_own_logits_and_the_S_of_its_layers(kind):
    """Documents of all lengths together, as padding allows; the oracle takes them one by one."""
    torch.manual_seed(0)
    try:
        config = small_config(kind, vocab_size=V)
        network = spread_weights(AutoModelForCausalLM.from_config(config), std=0.1).eval()
    except Exception:
        pytest.skip("cannot be built small")
    tokenizer = load_tokenizer()
    encoded = encode(Corpus.of(TEXTS), tokenizer, max_length=60)
    try:
        with model_in_memory(network, tokenizer) as model:
            found = rank_columns(model, encoded)
    except InputError as error:
        assert kind not in ALWAYS
        pytest.skip(str(error))
    assert_counted(found, one_by_one(model, encoded))
    if kind not in MORE_THAN_TEXT:
        assert model.S == S_of_layers(network)
    assert model.V == V


# -- a folder ---------------------------------------------------------------------------------


@pytest.fixture
def save(tmp_path):
    """Save a random model of a config with a tokenizer; returns (folder, the model)."""

    def save(config, dtype=torch.float32):
        torch.manual_seed(0)
        model = spread_weights(AutoModelForCausalLM.from_config(config)).eval().to(dtype)
        model.save_pretrained(tmp_path / "model")
        load_tokenizer().save_pretrained(tmp_path / "model")
        return tmp_path / "model", model

    return save


@pytest.fixture
def neox(save):
    return save(NEOX)[0]


def some_ids() -> torch.Tensor:
    return torch.randint(V, (2, 12), generator=torch.Generator().manual_seed(1))


def assert_logits(loaded, reference) -> None:
    """The loaded model's own logits are the reference's."""
    with torch.no_grad():
        expected = reference(some_ids()).logits
    torch.testing.assert_close(loaded.logits(some_ids()), expected)


def called(folder: Path) -> str:
    """The name of the model in a folder: the last two parts of its path."""
    return f"{folder.parent.name}/{folder.name}"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_folder_in_the_dtype_that_was_asked_for(dtype, save, monkeypatch):
    folder, reference = save(NEOX, torch.float16)
    monkeypatch.chdir(folder)
    loaded = load_model(".", dtype=dtype, device="cpu")
    assert (loaded.name, loaded.family, loaded.context) == (called(folder), "Pythia", 128)
    assert loaded.head is not None and loaded.dtype == dtype
    assert loaded.hidden(some_ids()).dtype == getattr(torch, dtype)
    assert not loaded.model.training and not loaded.hidden(some_ids()).requires_grad
    if dtype == "float32":
        assert_logits(loaded, reference.float())


def test_revision_of_a_folder_follows_its_content(neox):
    before = find_model(neox).revision
    assert before.startswith("sha256:") and len(before) == 71
    (neox / "README.md").write_text("a card")
    assert find_model(neox).revision == before == load_model(neox).revision
    weights = bytearray((neox / WEIGHTS).read_bytes())
    weights[-402] ^= 1  # safetensors has no checksum: this leaves a number
    (neox / WEIGHTS).write_bytes(weights)
    flipped = find_model(neox).revision
    edit_json(neox / "tokenizer_config.json", note=1)
    noted = find_model(neox).revision
    edit_json(neox / "config.json", rotary_pct=0.5)  # the same weights, other numbers
    assert len({before, flipped, noted, find_model(neox).revision}) == 4


def test_sharded_weights(save):
    """All that an index names is in the revision, and nothing else can be taken for it."""
    folder, reference = save(NEOX)
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).unlink()
    reference.save_pretrained(folder, max_shard_size="40KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    before = load_model(folder)
    assert_logits(before, reference)
    weights = load_file(shards[1])
    save_file({key: value * 2 for key, value in weights.items()}, shards[1], {"format": "pt"})
    assert load_model(folder).revision != before.revision
    (folder / WEIGHTS).write_bytes(whole)
    refused(f"differ: {WEIGHTS}", load_model, folder)
    (folder / WEIGHTS).unlink()
    (folder / "sub").mkdir()
    shards[1].rename(folder / "sub" / shards[1].name)
    refused(f"differ: {shards[1].name}", load_model, folder)


def test_weights_that_are_replaced_while_they_are_read(neox, text_file):
    found = find_model(neox)
    change(neox, OUT, 1.0)
    refused("was changed while it was read", found.load)
    loaded = load_model(neox, device="cpu")  # what is read from the file only when it is needed
    (neox / WEIGHTS).write_bytes((neox / WEIGHTS).read_bytes())
    refused("was changed while it was read", measure, loaded, text_file)


def test_weights_as_published_years_ago(save):
    """GPT-2's names have no "transformer.", and its file holds the causal mask."""
    folder, reference = save(GPT2)
    path = folder / WEIGHTS
    old = {key.removeprefix("transformer."): value for key, value in load_file(path).items()}
    old["h.0.attn.bias"] = torch.ones(1, 1, 64, 64)
    old["h.0.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(old, path, metadata={"format": "pt"})
    assert_logits(load_model(folder), reference)


# -- the hub ----------------------------------------------------------------------------------


@pytest.fixture
def cached(hub, neox):
    """The folder of someone/tiny in a hub cache, with the network off."""
    folder = put_on_hub(hub, "model", "someone/tiny")
    return shutil.copytree(neox, folder, dirs_exist_ok=True)


def test_a_model_is_found_as_it_is_loaded_but_without_its_weights(cached, neox):
    """In the cache there need be none of them; of a folder all is asked for but their content."""
    for model, name in (("someone/tiny", "someone/tiny"), (neox, called(neox))):
        found, loaded = find_model(model, dtype="bfloat16"), load_model(model, dtype="bfloat16")
        for about in ("name", "revision", "dtype", "context"):
            assert getattr(found, about) == getattr(loaded, about)
        assert found.name == name
    pinned = find_model("someone/tiny", revision=COMMIT)
    assert (pinned.name, pinned.revision) == (f"someone/tiny@{COMMIT}", COMMIT)
    assert load_model(cached).revision == load_model(neox).revision  # a folder like any other
    (cached / WEIGHTS).unlink()
    (neox / WEIGHTS).unlink()
    find_model("someone/tiny")
    refused("model.safetensors", load_model, neox)
    for model, options, fault in (
        (str(neox), {"revision": "v9"}, "has no revision 'v9'"),
        ("someone/tiny", {"revision": "v9"}, "someone/tiny"),
        ("someone/tiny2", {}, "the hub does not give it"),
        (str(neox.parent / "modle"), {}, "no such folder"),
    ):
        refused(re.escape(fault), find_model, model, **options)


def test_pickles_if_there_are_no_safetensors(cached, neox):
    """As OPT's repositories on the hub have them, and in a folder."""
    expected = load_model(neox).logits(some_ids())
    for place in (neox, cached):
        torch.save(load_file(place / WEIGHTS), place / "pytorch_model.bin")
        (place / WEIGHTS).unlink()
    for model in (neox, "someone/tiny"):
        assert torch.equal(load_model(model).logits(some_ids()), expected)


class Code:
    """The content of a hostile pickle."""

    def __reduce__(self):
        return Path.touch, (Path("ran"),)


def test_no_code_of_a_folder_is_run(neox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (neox / WEIGHTS).unlink()
    torch.save({"x": Code(), "weights": torch.zeros(10**5)}, neox / "pytorch_model.bin")
    refused("cannot be loaded", load_model, neox)
    edit_json(neox / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.Config"})
    (neox / "mine.py").write_text("open('ran', 'w')\n")
    refused("cannot be found", load_model, neox)
    assert not (tmp_path / "ran").exists()


# -- faults -----------------------------------------------------------------------------------


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


def larger_tokenizer(folder: Path) -> None:
    words = load_tokenizer()
    words.add_tokens("<one more>")
    words.save_pretrained(folder)


def no_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()


WEIGHTS = "model.safetensors"
UP, OUT = "gpt_neox.layers.1.mlp.dense_h_to_4h.weight", "gpt_neox.layers.1.attention.dense.weight"
NORM, HEAD = "gpt_neox.final_layer_norm.bias", "embed_out.weight"
FAULTS = {
    "no tokenizer": (no_tokenizer, "name its own, tokenizer="),  # the library makes one up
    "a larger tokenizer": (larger_tokenizer, f"ids go up to {V}, and the model has {V} rows"),
    "a missing weight": (lambda folder: change(folder, UP, None), f"missing: {UP}"),
    # Untied: the library would make up a head at random.
    "a missing head": (lambda folder: change(folder, HEAD, None), "missing: lm_head.weight"),
    "a weight too many": (lambda folder: change(folder, "extra", torch.ones(2)), "extra"),
    "another shape": (lambda folder: change(folder, NORM, torch.ones(31)), "cannot be loaded"),
    "NaN": (lambda folder: change(folder, OUT, math.nan), f"{OUT} holds NaN or Inf"),
    "Inf": (lambda folder: change(folder, OUT, math.inf), f"{OUT} holds NaN or Inf"),
    "absurd layers": (
        lambda folder: edit_json(folder / "config.json", num_hidden_layers=10**7),
        '"num_hidden_layers": 10000000',
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_folder_with_a_fault_is_refused(fault, neox):
    make, says = FAULTS[fault]
    make(neox)
    refused(says, load_model, neox)


def test_a_model_that_looks_ahead(save):
    refused("not causal", load_model, save(BertConfig(**TINY))[0])


# -- what the folder says of a tokenizer, not what the library makes of it ---------------------

SAYS = ("a  b   1984, x_1 = 50,257;\n\n\n  cafe\u0301 naïve 漢字 🙂", "In   2026 it's 3.14\t\t7 ")
NAMED = "GPT2Tokenizer GPTNeoXTokenizerFast LlamaTokenizer Qwen2TokenizerFast CohereTokenizerFast"


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
        for text in SAYS:
            assert found(text)["input_ids"] == own.encode(text).ids


@pytest.mark.parametrize("described", [None, {}, *NAMED.split()])
def test_text_is_cut_as_tokenizer_json_says(described, tmp_path):
    """Digits one by one, and a first token: what many classes of the library drop."""
    load_tokenizer().save_pretrained(tmp_path)
    own = with_rules_of_its_own(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    if described is not None:
        about = {"tokenizer_class": described} if described else {}
        about |= {"eos_token": own.id_to_token(0)}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(about))
    found = read_tokenizer(tmp_path)
    for text in SAYS:
        assert found(text)["input_ids"] == own.encode(text).ids
    assert 0 in found.all_special_ids
    assert max(found.get_vocab().values()) < V


@pytest.mark.parametrize("puts_it", [True, False])
def test_the_ends_of_a_text_are_those_that_the_folder_names(puts_it, neox):
    """The tokenizer.json puts nothing there, and its folder may say that a token goes first."""
    edit_json(neox / "tokenizer_config.json", add_bos_token=puts_it, bos_token="<|endoftext|>")
    first, *rest = load_model(neox).tokenizer(TEXTS[0])["input_ids"]
    assert (first == 0) is puts_it
    assert 0 not in rest


def test_a_tokenizer_that_is_elsewhere(cached, neox, tmp_path):
    """As Trainer saves a model without `processing_class`; another one is another revision."""
    whole, elsewhere = load_model(neox), tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in neox.glob("*token*"):
        path.rename(elsewhere / path.name)
    refused("nowhere: no such folder", load_model, neox, tokenizer=tmp_path / "nowhere")
    loaded = load_model(neox, tokenizer=elsewhere)
    assert loaded.tokenizer(TEXTS[0])["input_ids"] == whole.tokenizer(TEXTS[0])["input_ids"]
    by_id = load_model(neox, tokenizer="someone/tiny")
    edit_json(elsewhere / "tokenizer_config.json", note=1)
    changed = load_model(neox, tokenizer=elsewhere)
    assert len({one.revision for one in (whole, loaded, by_id, changed)}) == 4


# -- adapters and GGUF ------------------------------------------------------------------------

LORA_A = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"


@pytest.fixture
def adapter(save, tmp_path):
    """A LoRA adapter of a model -> (its folder, the base's folder, the adapted model)."""
    base, model = save(LLAMA)
    model.name_or_path = str(base)
    lora = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    adapted = get_peft_model(model, lora).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter", base, adapted


def test_an_adapter_is_put_on_its_base(adapter):
    folder, base, adapted = adapter
    plain, loaded = load_model(base), load_model(folder)
    assert_logits(loaded, adapted)
    assert not torch.allclose(plain.logits(some_ids()), loaded.logits(some_ids()), atol=1e-2)
    assert (loaded.S, loaded.family, loaded.name) == (plain.S, plain.family, called(folder))
    # Another base, and another adapter, is another revision.
    edit_json(base / "tokenizer_config.json", note=1)
    moved = find_model(folder).revision
    change(folder, LORA_A, 1.0)
    changed = find_model(folder).revision
    assert len({plain.revision, loaded.revision, moved, changed}) == 4


def test_an_adapter_with_a_fault_is_refused(adapter):
    folder, base, _ = adapter
    change(folder, LORA_A.replace("0", "7"), torch.ones(2, 32))
    refused("not used by its model", load_model, folder)
    change(folder, LORA_A.replace("0", "7"), None)
    change(folder, LORA_A, None)
    refused("missing", load_model, folder)
    edit_json(folder / "adapter_config.json", base_model_name_or_path=str(folder))
    refused("is an adapter itself", load_model, folder)
    prompt = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    get_peft_model(AutoModelForCausalLM.from_pretrained(base), prompt).save_pretrained(folder)
    refused("of the prompt", load_model, folder)


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
    folder, model = save(LLAMA)
    path = write_gguf(folder / "tiny.gguf", model)
    with_rules_of_its_own(folder)  # of another model's tokenizer.json that lies there
    loaded = load_model(path)
    assert (loaded.name, loaded.family) == (called(folder / "tiny"), "llama")
    assert (loaded.S, loaded.V) == (parameter_counts(LLAMA).S, V)
    assert loaded.tokenizer(TEXTS[0])["input_ids"] == load_tokenizer()(TEXTS[0])["input_ids"]
    assert_logits(loaded, model)
    other = folder / "other.gguf"  # as one repository has several quantisations
    other.write_bytes(path.read_bytes()[:-1] + b"\1")
    assert find_model(other).revision != loaded.revision == find_model(path).revision
    model.config.num_hidden_layers = 20_000
    model.named_parameters = list  # no weights
    refused('"num_hidden_layers": 20000', load_model, write_gguf(folder / "absurd.gguf", model))


# -- devices ---------------------------------------------------------------------------------------


NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def columns(model) -> dict[str, np.ndarray]:
    corpus = load_corpus("pocket:humaneval", documents=5)
    return rank_columns(model, encode(corpus, model.tokenizer, max_length=256))


@pytest.mark.parametrize("family", ["OPT", "Pythia", "Mamba"])
def test_the_device_auto_takes_what_is_there(family):
    """Over one device or several: the same numbers but for last bits."""
    folder = families.model_folder(family, 0)
    spread, plain = load_model(folder, device="auto"), load_model(folder)
    assert spread.device.startswith("cuda" if torch.cuda.is_available() else "cpu")
    assert (spread.S, spread.V, spread.revision) == (plain.S, plain.V, plain.revision)
    moved = columns(spread)["n_greater"] != columns(plain)["n_greater"]
    assert moved.mean() <= 0.01


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_hidden_states_follow_to_the_heads_device():
    model = load_model(families.model_folder("Pythia", 0), device="cuda")
    split = dataclasses.replace(model, head=model.head._replace(weight=model.head.weight.cpu()))
    # Another device's product: last bits, now and then a rank by one.
    moved = columns(split)["n_greater"] != columns(model)["n_greater"]
    assert moved.mean() <= 0.01


# -- S and the context of every type that can be built small ---------------------------------------


READ_PICTURES = sorted(modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)


def on_meta(auto, config):
    with torch.device("meta"):
        return auto.from_config(config)


def S_of_text_model(config) -> int:
    """S of the model that a captioner's text config describes, alone."""
    try:
        return S_of_layers(on_meta(AutoModelForCausalLM, config))
    except ValueError:
        return S_of_layers(on_meta(AutoModel, config))


def test_S_of_a_captioner_is_that_of_its_text_model_alone():
    checked = []
    for kind in READ_PICTURES:
        try:
            config = small_config(kind)
            model = on_meta(AutoModelForImageTextToText, config)
            text = config.get_text_config(decoder=True)
            if text.model_type == kind:
                continue  # the text model has no separate config: below
            S = parameter_counts(model).S  # first, for a text model built alone changes its config
            expected = S_of_text_model(text)
        except Exception:
            continue  # cannot be built small, or its text model cannot be built alone
        assert expected == S, kind
        checked.append(kind)
    assert len(checked) > 60, checked


@pytest.mark.parametrize("auto", [AutoModelForCausalLM, AutoModelForImageTextToText])
def test_S_of_git_leaves_out_the_tower_inside(auto):
    model = on_meta(auto, small_config("git"))
    base = model.git
    assert parameter_counts(model).S == size(
        [*base.encoder.parameters(), *base.embeddings.LayerNorm.parameters()]
    )


@pytest.mark.parametrize("kind", ["gpt2", "opt", "bart", "trocr", "whisper", "mpt"])
def test_a_sequence_may_be_as_long_as_the_context_and_no_longer(kind):
    model = AutoModelForCausalLM.from_config(small_config(kind)).eval()
    context = context_of(model.config)
    ids = torch.randint(6, 256, (1, context + 1))
    with torch.no_grad():
        model(input_ids=ids[:, :context], use_cache=False)
        if kind != "mpt":  # biases for any length
            with pytest.raises((IndexError, RuntimeError, ValueError)):
                model(input_ids=ids, use_cache=False)


@pytest.mark.parametrize("kind", ["mixtral", "granitemoe", "gpt_oss", "deepseek_v3"])
def test_S_of_the_experts_that_a_token_uses(kind):
    model = on_meta(AutoModelForCausalLM, small_config(kind))  # a token uses 2 of 4
    S = parameter_counts(model).S
    one_expert = 3 * 32 * (32 if kind == "deepseek_v3" else 64)  # gate, up and down
    one_expert += (2 * 64 + 32) * (kind == "gpt_oss")  # biases
    layers = 1 if kind == "deepseek_v3" else 2  # whose first is dense
    assert active_size(model, S) == S - layers * 2 * one_expert
