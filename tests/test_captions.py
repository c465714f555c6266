"""Captioners end to end: pictures in files, two unlike models, ranks compared with a naive loop."""

from __future__ import annotations

import json
import shutil

import datasets
import numpy as np
import pytest
import torch
from conftest import TINY
from PIL import Image
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    GPT2Config,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    SiglipImageProcessor,
    ViTConfig,
    ViTImageProcessor,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
)

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.pocket import recipes

CAPTIONS = (
    "a red square on a dark ground",
    "",
    "noise",
    "The quick brown fox, photographed from the left, jumps over a lazy dog at 7 o'clock. " * 3,
    "x",
    "naïve façade, 漢字 and emoji 🙂",
    "two bars, one above the other",
)
SIZE = {"height": 32, "width": 32}
VISION = {"hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 2}
VISION |= {"num_attention_heads": 2, "image_size": 32, "patch_size": 8}


@pytest.fixture(scope="session")
def captions(tmp_path_factory):
    """A folder made by hand: pictures of several modes and sizes, and a .jsonl that names them."""
    folder = tmp_path_factory.mktemp("captioned")
    (folder / "pictures").mkdir()
    numbers, lines = np.random.default_rng(0), []
    for i, text in enumerate(CAPTIONS):
        mode, channels = (("RGB", 3), ("L", 1), ("RGBA", 4))[i % 3]
        pixels = numbers.integers(0, 256, (20 + 9 * i, 31, channels), dtype=np.uint8)
        Image.fromarray(pixels.squeeze(), mode).save(folder / f"pictures/{i}.png")
        lines.append({"text": text, "picture": f"pictures/{i}.png"})
    write(folder / "captions.jsonl", lines)
    return folder


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def save(model, folder, *processors):
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    for one in processors:
        one.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def llava(tmp_path_factory):
    torch.manual_seed(0)
    tokenizer = recipes.load_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    image = len(tokenizer) - 1
    text = {"model_type": "llama", **TINY, "vocab_size": len(tokenizer)}
    config = LlavaConfig(
        text_config=text,
        vision_config={"model_type": "siglip_vision_model", **VISION},
        image_token_index=image,
        image_token_id=image,
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        image_seq_length=16,
    )
    processor = LlavaProcessor(
        SiglipImageProcessor(size=SIZE),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="full",
    )
    folder = tmp_path_factory.mktemp("models") / "tiny-llava"
    return save(LlavaForConditionalGeneration(config), folder, processor)


@pytest.fixture(scope="session")
def encoder_decoder(tmp_path_factory):
    torch.manual_seed(0)
    text = GPT2Config(vocab_size=recipes.V, n_embd=32, n_layer=2, n_head=2, n_positions=160)
    text.add_cross_attention = text.is_decoder = True
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**VISION), text)
    config.decoder_start_token_id = config.pad_token_id = 0
    folder = tmp_path_factory.mktemp("models") / "tiny-vit-gpt2"
    tokenizer = recipes.load_tokenizer()
    return save(VisionEncoderDecoderModel(config), folder, ViTImageProcessor(size=SIZE), tokenizer)


def naive(folder, rows):
    """document, position, target, greater, nll of each caption token; one picture at a time."""
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    tokenizer = recipes.load_tokenizer()
    out = []
    for document, (picture, text) in enumerate(rows):
        ids = tokenizer(text)["input_ids"]
        if model.config.is_encoder_decoder:
            pixels = ViTImageProcessor.from_pretrained(folder)(picture, return_tensors="pt")
            given = {"decoder_input_ids": torch.tensor([[0, *ids[:-1]]])}
        else:
            processor = AutoProcessor.from_pretrained(folder)
            pixels = processor.image_processor(picture, return_tensors="pt")
            given = {"input_ids": torch.tensor([[recipes.V] * 16 + ids])}
        with torch.no_grad():
            logits = model(**given, **pixels).logits[0].double()
        logits = logits[-len(ids) - (not model.config.is_encoder_decoder) :]
        for place, target in enumerate(ids):
            row = logits[place]
            nll = float(torch.logsumexp(row, 0) - row[target])
            out.append((document, place + 1, target, int((row > row[target]).sum()), nll))
    return np.array(out)


@pytest.mark.parametrize("which", ["llava", "encoder_decoder"])
@pytest.mark.parametrize("batch_tokens", [1, 300, 8192])
def test_ranks_equal_a_naive_loop(which, batch_tokens, captions, request):
    folder = request.getfixturevalue(which)
    model = load_model(folder, image=True)
    corpus = load_corpus(captions / "captions.jsonl", image="picture", seed=None)
    found = measure(model, corpus, batch_tokens=batch_tokens).records
    kept = [i for i, text in enumerate(CAPTIONS) if text]
    rows = [(Image.open(captions / f"pictures/{i}.png").convert("RGB"), CAPTIONS[i]) for i in kept]
    document, position, target, greater, nll = naive(folder, rows).T
    np.testing.assert_array_equal(found.document, document)
    np.testing.assert_array_equal(found.position, position)
    np.testing.assert_array_equal(found.target, target)
    assert (found.n_greater != greater).mean() <= 0.01
    assert np.abs(found.n_greater - greater).max() <= 1
    np.testing.assert_allclose(found.nll, nll, atol=2e-4)
    assert np.ptp(greater) > 100


def test_formats(captions, llava, tmp_path):
    model = load_model(llava, image=True)
    first = measure(model, captions / "captions.jsonl", image="picture")
