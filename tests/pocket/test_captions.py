"""Captioners end to end: pictures in files, unlike models, ranks compared with a naive loop."""

import dataclasses
import shutil

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import transformers
from conftest import TINY, assert_same_columns, refused, write_jsonl
from oracle import assert_counted, counted
from PIL import Image
from small_models import spread_weights
from transformers import AutoModelForImageTextToText, AutoProcessor

from rbpkit import Records, load_model, load_summaries, measure
from rbpkit_pocket import captioners, families, paths
from rbpkit_pocket.captions import captions_of, load_captioner, load_captions
from rbpkit_pocket.picture_files import Picture

CAPTIONS = (
    "a red square on a dark ground",
    "",
    "noise",
    "The quick brown fox, photographed from the left, jumps over a lazy dog at 7 o'clock. " * 3,
    "x",
    "naïve façade, 漢字 and emoji 🙂",
    "two bars, one above the other",
)
CHAT = "USER: <image>\nWhat is it? ASSISTANT:"
PROMPTS = {"llava": "<image>", "chat": CHAT}
SIZE = {"height": 32, "width": 32}
VISION = {
    "hidden_size": 24,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}


@pytest.fixture(scope="session")
def captions(tmp_path_factory):
    """A folder made by hand: pictures of several modes and sizes, and a .jsonl that names them."""
    folder = tmp_path_factory.mktemp("captioned")
    (folder / "pictures").mkdir()
    numbers = np.random.default_rng(0)
    for i in range(len(CAPTIONS)):
        shape = (20 + 9 * i, 31, *((3,), (), (4,))[i % 3])  # RGB, grey, RGBA
        pixels = numbers.integers(0, 256, shape, dtype=np.uint8)
        if len(shape) == 3:
            pixels[..., 3:] = 255  # nothing is transparent
        Image.fromarray(pixels).save(folder / f"pictures/{i}.png")
    rows = ({"text": text, "picture": f"pictures/{i}.png"} for i, text in enumerate(CAPTIONS))
    write_jsonl(folder / "captions.jsonl", rows)
    return folder


@pytest.fixture(scope="session")
def llava(tmp_path_factory):
    """A SigLIP tower whose patches come before the text of a Llama."""
    torch.manual_seed(0)
    tokenizer = families.load_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    config = transformers.LlavaConfig(
        text_config={"model_type": "llama", **TINY, "vocab_size": len(tokenizer)},
        vision_config={"model_type": "siglip_vision_model", "vision_use_head": False, **VISION},
        image_token_id=len(tokenizer) - 1,
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
    )
    pictures, options = transformers.SiglipImageProcessor(size=SIZE), {"patch_size": 8}
    options["vision_feature_select_strategy"] = "full"
    processor = transformers.LlavaProcessor(pictures, tokenizer, **options)
    folder = tmp_path_factory.mktemp("models") / "tiny-llava"
    spread_weights(transformers.LlavaForConditionalGeneration(config)).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def chat(llava, tmp_path_factory):
    """The same model with a chat template, and with too little room for the longest caption."""
    folder = shutil.copytree(llava, tmp_path_factory.mktemp("models") / "tiny-chat")
    (folder / "chat_template.jinja").write_text(CHAT)
    return folder


def naive(folder, prompt, captions):
    """Document, position, target, greater, equal and nll: one picture, one token at a time."""
    model, out = AutoModelForImageTextToText.from_pretrained(folder).eval(), []
    processor = AutoProcessor.from_pretrained(folder)
    for document in (i for i, text in enumerate(CAPTIONS) if text):
        picture = Image.open(captions / f"pictures/{document}.png").convert("RGB")
        ids = families.load_tokenizer()(CAPTIONS[document])["input_ids"]
        inputs = processor(images=picture, text=prompt, return_tensors="pt")
        before = inputs.pop("input_ids")[0].tolist()
        assert before.count(families.V) == 16 and inputs.pop("attention_mask").all()
        for place, target in enumerate(ids[: 129 - len(before)]):  # as far as the context holds
            with torch.no_grad():
                seen = torch.tensor([before + ids[:place]])
                row = model(**inputs, input_ids=seen).logits[0, -1]
            out.append((document, place + 1, target, *counted(row, target)))
    return np.array(out)


@pytest.mark.parametrize("which", PROMPTS)
def test_ranks_equal_a_naive_loop(which, captions, request):
    folder = request.getfixturevalue(which)
    model, expected = load_captioner(folder), naive(folder, PROMPTS[which], captions)
    corpus = load_captions(captions / "captions.jsonl", image="picture", seed=None)
    assert model.head is not None and corpus.documents.count("") == 1
    settings = ({}, {"batch_tokens": 150}, {"batch_tokens": 1}, {"max_length": 4})
    found = [measure(model, corpus, **one).records for one in settings]
    found.append(measure(dataclasses.replace(model, head=None), corpus).records)
    found.append(measure(dataclasses.replace(model, pads=False), corpus).records)
    for one in found:
        known = expected[expected[:, 1] <= one.manifest.max_length]
        assert_counted(one.columns(), known)
        assert np.ptp(known[:, 3]) > 100


def test_every_kind_of_corpus_gives_the_same_records(captions, llava, tmp_path):
    model = load_captioner(llava)
    first = measure(model, load_captions(captions / "captions.jsonl", image="picture", seed=None))
    paths = [str(captions / f"pictures/{i}.png") for i in range(len(CAPTIONS))]
    rows = datasets.Dataset.from_dict({"text": CAPTIONS, "image": paths})
    rows = rows.cast_column("image", datasets.Image())
    rows.to_parquet(tmp_path / "rows.parquet")
    options = {"images": captions, "image": "image", "seed": None}
    in_file = load_captions(tmp_path / "rows.parquet", **options)
    in_memory = (rows, rows.to_iterable_dataset(), list(rows))
    for corpus in (in_file, *(captions_of(one, image="image") for one in in_memory)):
        other = measure(model, corpus)
        assert other.summary.manifest.fingerprint == first.summary.manifest.fingerprint
        assert_same_columns(other.records.columns(), first.records.columns())
    # Other pictures of the same texts are another corpus, and the model sees them.
    turned = [r | {"image": r["image"].rotate(180)} for r in rows]
    turned = measure(model, captions_of(turned, image="image"))
    assert turned.summary.manifest.fingerprint != first.summary.manifest.fingerprint
    assert (turned.records.nll != first.records.nll).mean() > 0.9


def test_from_the_command_line(rbpkit, captions, chat, tmp_path):
    path, out = captions / "captions.jsonl", tmp_path / "out"
    asked = ["pocket", "captions", "--model", chat, "--corpus", path, "--image", "picture"]
    status, table, err = rbpkit(*asked, "--out", out)
    assert status == 0 and "tiny-chat" in table and " tokens/s" in err
    found = Records.load(next(out.rglob("*.parquet")))
    same = measure(load_captioner(chat), load_captions(path, image="picture")).records
    assert_same_columns(found.columns(), same.columns())
    status, _, err = rbpkit(*asked, "--out", out)
    assert status == 0 and "done before, not measured again" in err


@pytest.mark.parametrize("picture", ["missing.png", "cut.png", None, "../captioned.png"])
def test_a_bad_picture_is_named_by_its_row(picture, captions, llava, tmp_path):
    folder, out = tmp_path / "corpus", tmp_path / "out"
    folder.mkdir()
    for copy in (folder / "good.png", tmp_path / "captioned.png"):
        shutil.copy(captions / "pictures/3.png", copy)
    (folder / "cut.png").write_bytes((folder / "good.png").read_bytes()[:900])
    rows = [{"text": "good", "picture": "good.png"}, {"text": "bad", "picture": picture}]
    path = write_jsonl(folder / "captions.jsonl", rows)

    def measured():
        measure(load_captioner(llava), load_captions(path, image="picture", seed=None), out)

    refused(f"{path}:2: ", measured)
    assert not list(out.rglob("*.*"))


def test_no_picture_is_read_by_the_path_in_a_table_unless_its_folder_is_named(captions, tmp_path):
    """Parquet as `datasets` writes it without the pictures' bytes: a path, anywhere."""
    picture = {"bytes": None, "path": str(captions / "pictures/3.png")}
    table = pa.table({"text": ["a"], "image": [picture]})
    pq.write_table(table, tmp_path / "rows.parquet")
    refused("row 1: the picture", load_captions, tmp_path / "rows.parquet", image="image")
    load_captions(tmp_path / "rows.parquet", image="image", images=captions)


@pytest.mark.parametrize("kind", ["16 bits", "transparent"])
def test_a_picture_of_any_kind_has_the_pixels_of_the_plain_one(kind):
    grey = np.arange(0, 256, 4, dtype=np.uint8).reshape(8, 8)
    grey[0] = 255  # the paper, and what is transparent below
    if kind == "16 bits":
        source = Image.fromarray(grey.astype(np.uint16) * 257)
    else:
        alpha = np.where(grey == 255, 0, 255).astype(np.uint8)
        black = np.where(grey == 255, 0, grey).astype(np.uint8)  # as programs save clear pixels
        source = Image.fromarray(np.stack([black, black, black, alpha], axis=2))
    read = np.asarray(Picture("row 1", source).read())
    assert np.array_equal(read, np.stack([grey] * 3, axis=2))


def test_what_does_not_fit_together_is_refused(llava, llama_folder):
    model, plain = load_captioner(llava), load_model(llama_folder)
    rows = captions_of([{"text": "a", "image": np.zeros((9, 9), "u1")}], image="image")
    for given, corpus, options, says in (
        (model, ["a b c"], {}, "give captions"),
        (model, rows, {"stride": 9}, "stride=9"),
        (plain, rows, {}, "reads no pictures"),
    ):
        refused(says, measure, given, corpus, **options)


# -- what ships ------------------------------------------------------------------------------------


def test_a_captioner_that_ships_gives_its_numbers_again():
    pytest.importorskip("matplotlib.ft2font", reason="draws the glyphs")
    name = captioners.CAPTIONER_SIZES[0].name
    named = (name, "pocket:glyphs")
    summaries = load_summaries(paths.CAPTIONER_SUMMARIES)
    [shipped] = (one for one in summaries if (one.manifest.model, one.manifest.corpus) == named)
    captions = load_captions("pocket:glyphs", documents=40)
    again = measure(load_captioner(f"pocket:{name}"), captions).summary
    assert again.manifest.S == shipped.manifest.S
    assert again.document_tokens.tolist() == shipped.document_tokens[:40].tolist()
    assert again.document_nll == pytest.approx(shipped.document_nll[:40], rel=1e-3)
