"""The readers: small multimodal models that say the name of a glyph, and how they are trained.

Each is LLaVA in small (`transformers`' LlavaForConditionalGeneration): a SigLIP tower reads the
picture in patches, and a Pythia (GPT-NeoX) reads what it says of them and writes the name. All see
the same pictures in the same order; each pass draws them again.

`python -m rbpkit_pocket.captioners FOLDER` trains all, into FOLDER/NAME, and puts them in the package.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from rbpkit.measuring import measure
from rbpkit_pocket import paths
from rbpkit_pocket.glyphs import SIDE, load_glyphs, pictures
from rbpkit_pocket.plugin import GLYPH_CORPORA
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.training import HeadLoss, TrainedModel, run_steps

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor

PATCH = 8
PATCHES = (SIDE // PATCH) ** 2
MEAN, STD = 0.96, 0.25  # paper is near 0: with paper at 0.9 the towers hardly learned to see
PICTURE, END = "<picture>", "<end>"
V = 1024


@dataclass(frozen=True)
class Reader:
    """A reader and how it is trained: width of both halves, their layers, their attention heads.

    rate, warmup: the learning rate rises to rate / width over that part of the steps and then falls
    linearly to zero. The seed decides the first weights; pictures and their order are always the
    same.
    """

    width: int
    layers: int
    tower: int
    heads: int
    rate: float = 0.175
    steps: int = 3000
    batch: int = 64
    seed: int = 0
    warmup: float = 0.05
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    clip: float = 1.0

    @property
    def name(self) -> str:
        """`reader-w64-l3`, with the seed if it is not 0."""
        return f"reader-w{self.width}-l{self.layers}" + (f"-seed{self.seed}" if self.seed else "")

    rate_at = Recipe.rate_at


SIZES = tuple(
    Reader(*row)
    for row in zip(
        (32, 48, 64, 80, 96, 128),
        (2, 3, 3, 4, 4, 5),
        (2, 2, 2, 2, 3, 3),
        (1, 2, 2, 2, 3, 4),
        strict=True,
    )
)
"""The six that ship, smallest first."""
SEEDS = tuple(replace(size, seed=seed) for seed in (1, 2) for size in SIZES)
"""All sizes from other first weights; of these only the summaries ship."""


def make_tokenizer():
    """Byte-level BPE with V = 1,024, trained on each name of the training characters once."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    names = load_glyphs("train").drop_duplicates("code").sort_values("code")["name"]
    letters = pre_tokenizers.ByteLevel.alphabet()
    special = [END, PICTURE]
    trainer = trainers.BpeTrainer(vocab_size=V, special_tokens=special, initial_alphabet=letters)
    bpe.train_from_iterator(names, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=END, extra_special_tokens=[PICTURE]
    )


def make_processor() -> LlavaProcessor:
    """What turns a picture (grey, as RGB) and a name into the readers' input."""
    from transformers import LlavaProcessor
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    tokenizer = make_tokenizer()
    images = SiglipImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, image_mean=[MEAN] * 3, image_std=[STD] * 3
    )
    return LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        image_token=PICTURE,
        num_additional_image_tokens=0,
    )


def initial_reader(reader: Reader) -> LlavaForConditionalGeneration:
    """The untrained reader in float32; its weights depend on the seed alone."""
    from transformers import (
        GPTNeoXConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        SiglipVisionConfig,
    )

    same = {
        "hidden_size": reader.width,
        "intermediate_size": 4 * reader.width,
        "num_attention_heads": reader.heads,
    }
    tower = SiglipVisionConfig(
        **same,
        num_hidden_layers=reader.tower,
        image_size=SIDE,
        patch_size=PATCH,
        vision_use_head=False,
    )
    text = GPTNeoXConfig(
        **same,
        num_hidden_layers=reader.layers,
        vocab_size=V,
        max_position_embeddings=128,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25},
        initializer_range=math.sqrt(2 / (5 * reader.width)),
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=False,
    )
    config = LlavaConfig(
        vision_config=tower,
        text_config=text,
        image_token_index=1,
        image_seq_length=PATCHES,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=False,
    )
    config.rbpkit_family = "Reader"
    torch.manual_seed(reader.seed)
    model = LlavaForConditionalGeneration(config).float()
    for name, parameter in model.named_parameters():
        if name.endswith(("attention.dense.weight", "mlp.dense_4h_to_h.weight")):  # as in `recipes`
            nn.init.normal_(parameter, std=2 / (reader.layers * math.sqrt(reader.width)))
    return model


# --- training --------------------------------------------------------------------------------


@cache
def names_ids(split: str) -> tuple[Tensor, ...]:
    """The token ids of each glyph's name, with the end, in the order of `load_glyphs`."""
    ids = make_tokenizer()(list(load_glyphs(split)["name"]))["input_ids"]
    return tuple(torch.tensor([*one, 0]) for one in ids)


def loss_of(model: nn.Module, greys: np.ndarray, names: list[Tensor]) -> Tensor:
    """Mean negative log-likelihood (nats) of the tokens of names after their pictures."""
    after = nn.utils.rnn.pad_sequence(names, batch_first=True, padding_value=0)
    ids = torch.cat([torch.ones(len(names), PATCHES, dtype=torch.long), after[:, :-1]], 1)
    pixels = (torch.from_numpy(greys).float()[:, None] / 255 - MEAN) / STD
    states = model.model(
        input_ids=ids, pixel_values=pixels.expand(-1, 3, -1, -1), use_cache=False
    ).last_hidden_state
    real = torch.arange(after.shape[1]) < torch.tensor([*map(len, names)])[:, None]
    states, targets = states[:, PATCHES - 1 :][real], after[real]
    return HeadLoss.apply(states, model.lm_head.weight, targets, 0.0)


@torch.no_grad()
def validation_ce(model: nn.Module) -> float:
    """`loss_of` over the validation glyphs."""
    greys, names = pictures("valid", 0), names_ids("valid")
    total = count = 0.0
    for first in range(0, len(names), 128):
        some = list(names[first : first + 128])
        tokens = sum(map(len, some))
        total += float(loss_of(model, greys[first : first + 128], some)) * tokens
        count += tokens
    return total / count


@cache
def _order(turn: int) -> np.ndarray:
    """The order of the training glyphs in a pass."""
    return np.argsort(np.random.PCG64(turn).random_raw(len(names_ids("train"))), kind="stable")


def batch_of(step: int, size: int) -> tuple[np.ndarray, list[Tensor]]:
    """Pictures and names of a training step; what is left of a pass is not used."""
    names = names_ids("train")
    turn, place = divmod(step, len(names) // size)
    rows = _order(turn)[place * size : (place + 1) * size]
    return pictures("train", turn)[rows], [names[i] for i in rows]


def train(
    reader: Reader, folder: Path, watch: Callable[[dict], None] = lambda row: None
) -> TrainedModel:
    """Train a reader into `folder`, as `rbpkit_pocket.training.train` does a pocket model."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    return run_steps(
        folder,
        {**asdict(reader), "torch": torch.__version__},
        reader,
        reader.width,
        ("pictures", reader.batch),
        model=lambda: initial_reader(reader),
        loss=lambda model, step: loss_of(model, *batch_of(step, reader.batch)),
        valid=validation_ce,
        tokenizer=make_processor(),
        watch=watch,
    )


def ship(runs: Path, readers: Sequence[Reader]) -> None:
    """Put finished runs into the package: of `SIZES` the weights, of all loss curve and summaries.

    Seeds are measured on the true pictures alone, of characters never seen and seen.
    """
    for one in readers:
        model = runs / one.name / "model"
        shutil.copyfile(runs / one.name / "log.csv", paths.RUNS / f"{one.name}.csv")
        if not one.seed:
            shutil.copytree(model, paths.CAPTIONERS / one.name, dirs_exist_ok=True)
        for name in GLYPH_CORPORA[:: 3 if one.seed else 1]:
            corpus = f"pocket:{name}"
            with tempfile.TemporaryDirectory() as scratch:
                path = measure(model, corpus, scratch, name=one.name).path
                target = paths.CAPTIONER_SUMMARIES / path.parent.name
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(path.with_suffix(".summary.npz"), target)


if __name__ == "__main__":
    for one in (*SIZES, *SEEDS):
        print(one.name, train(one, Path(sys.argv[1]) / one.name), flush=True)
        ship(Path(sys.argv[1]), [one])
