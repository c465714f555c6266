"""Output heads with a scale or a soft cap: found in real models, and applied in float32."""

from typing import NamedTuple

import pytest
import torch
from conftest import TINY
from small_models import spread_weights
from transformers import AutoConfig, AutoModelForCausalLM

from rbpkit import load_corpus, measure, token_ranks
from rbpkit.models import linear_head, load_model

V = 2048
SMALL = {**TINY, "vocab_size": V, "pad_token_id": 0}
SMALL |= {"num_attention_heads": 4, "num_key_value_heads": 4}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4}
# model_type -> its config, and the scale and the soft cap of its head.
HEADS = {
    "gemma2": ({"head_dim": 8, "final_logit_softcapping": 5.0}, 1, 5.0),
    "gemma3_text": ({"head_dim": 8, "final_logit_softcapping": 20.0}, 1, 20.0),
    "recurrent_gemma": ({"lru_width": 32, "logits_soft_cap": 30.0}, 1, 30.0),
    "granite": ({"logits_scaling": 6.0}, 1 / 6, None),  # divides
    "hyperclovax": ({"logits_scaling": 0.3}, 0.3, None),  # multiplies by the same name
    "cohere": ({"logit_scale": 0.0625}, 0.0625, None),
    "minicpm3": ({"dim_model_base": 8, "v_head_dim": 8, **LATENT}, 0.25, None),  # before the head
    # Named in the config, but not done by the model.
    "llama": ({"final_logit_softcapping": 5.0, "logit_scale": 0.1}, 1, None),
}


class Logits(NamedTuple):
    logits: torch.Tensor


def made(kind: str, dtype: torch.dtype, spread: float = 0.3):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SMALL, **HEADS[kind][0]))
    return spread_weights(model, spread).to(dtype).eval().requires_grad_(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", HEADS)
def test_ranks_are_those_of_the_models_own_head(kind, dtype):
    model, (_, scale, softcap) = made(kind, dtype), HEADS[kind]
    head, rows = linear_head(model, kind)
    assert (head.scale, head.softcap, rows) == (pytest.approx(scale), softcap, V)
    ids = torch.randint(V, (1, 60), generator=torch.Generator().manual_seed(1))
    hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state[0, :-1]
    ranks = token_ranks(hidden, head.weight, ids[0, 1:], **head.options)
    own = model(input_ids=ids, use_cache=False).logits[0, :-1]
    logits = scale * (hidden.double() @ head.weight.double().T)
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    if dtype == torch.float32:
        logits = own.double()
    column = ids[0, 1:, None]
    target = logits.gather(1, column)
    moved = (ranks.rank() - (logits >= target).sum(dim=1)).abs()
    assert moved.max() <= 1 and moved.sum() <= 2
    nll = torch.logsumexp(logits, dim=1) - target[:, 0]
    torch.testing.assert_close(ranks.nll.double(), nll, rtol=0, atol=1e-4)
    tied = ((own == own.gather(1, column)).sum(dim=1) > 1).sum()
    assert dtype == torch.float32 or (ranks.n_equal > 0).sum() <= tied / 10


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_cap_is_found_in_logits_too_small_to_feel_it(dtype):
    assert linear_head(made("gemma2", dtype, spread=1e-3), "gemma2")[0].softcap == 5.0


def test_any_other_head_is_left_to_the_model():
    for change in (lambda z: z.clamp(max=2), lambda z: z[..., :2000], lambda z: z * 1.01):
        model = made("llama", torch.bfloat16)
        model.register_forward_hook(lambda _, ids, out, c=change: Logits(c(out.logits)))
        assert linear_head(model, "changed")[0] is None
    for scale in (0.5, 1.02):  # the second is nearly lost in the rounding of 16 bits
        model = made("llama", torch.bfloat16)
        model.lm_head.register_forward_pre_hook(lambda _, given, c=scale: (given[0] * c,))
        assert linear_head(model, "scaled before")[0] is None
    model = made("llama", torch.float32)
    model.lm_head.register_forward_hook(lambda _, given, logits: logits + torch.linspace(0, 5, V))
    assert linear_head(model, "shifted after")[0] is None
    model = made("llama", torch.bfloat16)
    model.lm_head.__class__ = type("Quantised", (torch.nn.Linear,), {})
    assert linear_head(model, "a layer of another kind")[0] is None


def test_measure_says_that_it_ranks_16_bit_logits(capped_folder, text_file):
    model, said = load_model(capped_folder, dtype="bfloat16"), []
    about = {"max_length": 20, "say": said.append}
    measure(model, load_corpus(text_file), **about)
    assert "bfloat16 logits are ranked" not in " ".join(said)
    model.model.register_forward_hook(lambda _, ids, out: Logits(out.logits.clamp(max=2)))
    measure(model.model, load_corpus(text_file), tokenizer=model.tokenizer, **about)
    assert "bfloat16 logits are ranked" in " ".join(said)
