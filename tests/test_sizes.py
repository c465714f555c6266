"""S and the context of every model type that can be built small."""

import pytest
import torch
from small_models import small_config
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.models.auto import modeling_auto

from rbpkit.architectures import active_size, context_of, parameter_counts

READ_PICTURES = sorted(modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)


def on_meta(auto, config):
    with torch.device("meta"):
        return auto.from_config(config)


def size(parameters) -> int:
    return sum(parameter.numel() for parameter in set(parameters))


def S_of_text_model(config) -> int:
    """Non-embedding parameters of the model that a captioner's text config describes, alone."""
    try:
        model = on_meta(AutoModelForCausalLM, config)
    except ValueError:
        model = on_meta(AutoModel, config)
    head = model.get_output_embeddings()
    left_out = set() if head is None else set(head.parameters())
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            left_out.update(module.parameters(recurse=False))
    return size(set(model.base_model.parameters()) - left_out)


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
