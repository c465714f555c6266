"""The captioners: small multimodal models that say the name of a glyph, and how they are trained.

Each is LLaVA in small (`transformers`' LlavaForConditionalGeneration): a SigLIP tower reads the
picture in patches, and a Pythia (GPT-NeoX) reads what the tower says of them and writes the name.
All see the same pictures in the same order; each pass draws them again.

    python -m rbpkit_pocket.captioners FOLDER

trains all, into FOLDER/NAME, and puts them in the package.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from rbpkit.measuring import measure
from rbpkit.records import record_path
from rbpkit.writing import write_whole
from rbpkit_pocket import paths
from rbpkit_pocket.captions import GLYPH_CORPORA, load_captioner, load_captions
from rbpkit_pocket.glyphs import SIDE, load_glyphs, pictures
from rbpkit_pocket.recipes import Schedule
from rbpkit_pocket.training import HeadLoss, TrainedModel, run_steps

if TYPE_CHECKING:
    from transformers import (
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        PreTrainedModel,
        PreTrainedTokenizerFast,
    )

PATCH = 8
PATCHES = (SIDE // PATCH) ** 2
MEAN, STD = 0.96, 0.25  # paper is near 0: with paper at 0.9 the towers hardly learned to see
PICTURE, END = "<picture>", "<end>"
END_ID, PICTURE_ID = 0, 1
CAPTIONER_V = 1024
"""Rows of the captioners' output matrix."""


@dataclass(frozen=True, kw_only=True)
class GlyphCaptioner(Schedule):
    """A captioner and how it is trained. Everything can change its weights.

    - width: of both halves.
    - layers: of the half that writes; tower: of the half that sees; heads: of attention, in both.
    - batch: pictures of a step. They and their order are the same for every seed.
    """

    width: int
    layers: int
    tower: int
    heads: int
    rate: float = 0.175
    steps: int = 3000
    batch: int = 64

    @property
    def name(self) -> str:
        """`reader-w64-l3`, with the seed if it is not 0; "reader" is what their files call them."""
        seed = f"-seed{self.seed}" if self.seed else ""
        return f"reader-w{self.width}-l{self.layers}{seed}"


CAPTIONER_SIZES = (
    GlyphCaptioner(width=32, layers=2, tower=2, heads=1),
    GlyphCaptioner(width=48, layers=3, tower=2, heads=2),
    GlyphCaptioner(width=64, layers=3, tower=2, heads=2),
    GlyphCaptioner(width=80, layers=4, tower=2, heads=2),
    GlyphCaptioner(width=96, layers=4, tower=3, heads=3),
    GlyphCaptioner(width=128, layers=5, tower=3, heads=4),
)
"""The six that ship, smallest first."""
CAPTIONER_SEEDS = (
    *(replace(size, seed=1) for size in CAPTIONER_SIZES),
    *(replace(size, seed=2) for size in CAPTIONER_SIZES),
)
"""All sizes from other first weights; of these only the summaries ship."""


# --- models ----------------------------------------------------------------------------------


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE with V = 1,024, trained on each name of the training characters once."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=CAPTIONER_V,
        special_tokens=[END, PICTURE],  # in the order of END_ID and PICTURE_ID
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    characters = load_glyphs("train").drop_duplicates("code").sort_values("code")
    bpe.train_from_iterator(characters["name"], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=END, extra_special_tokens=[PICTURE]
    )


def make_processor() -> LlavaProcessor:
    """What turns a picture (grey, as RGB) and a name into the captioners' input."""
    from transformers import LlavaProcessor
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    image_processor = SiglipImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, image_mean=[MEAN] * 3, image_std=[STD] * 3
    )
    return LlavaProcessor(
        image_processor=image_processor,
        tokenizer=make_tokenizer(),
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        image_token=PICTURE,
        num_additional_image_tokens=0,
    )


def initial_captioner(captioner: GlyphCaptioner) -> LlavaForConditionalGeneration:
    """The untrained captioner in float32; its weights depend on the seed alone."""
    from transformers import LlavaForConditionalGeneration

    torch.manual_seed(captioner.seed)
    model = LlavaForConditionalGeneration(_config(captioner)).float()
    # Pythia's second rule, as in `families.initial_model`, for the half that writes.
    std = 2 / (captioner.layers * math.sqrt(captioner.width))
    for name, parameter in model.named_parameters():
        if name.endswith(("attention.dense.weight", "mlp.dense_4h_to_h.weight")):
            nn.init.normal_(parameter, std=std)
    return model


def _config(captioner: GlyphCaptioner) -> LlavaConfig:
    from transformers import GPTNeoXConfig, LlavaConfig, SiglipVisionConfig

    width = captioner.width
    tower = SiglipVisionConfig(
        hidden_size=width,
        intermediate_size=4 * width,
        num_attention_heads=captioner.heads,
        num_hidden_layers=captioner.tower,
        image_size=SIDE,
        patch_size=PATCH,
        vision_use_head=False,
    )
    rotary = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}
    text = GPTNeoXConfig(
        hidden_size=width,
        intermediate_size=4 * width,
        num_attention_heads=captioner.heads,
        num_hidden_layers=captioner.layers,
        vocab_size=CAPTIONER_V,
        max_position_embeddings=128,
        rope_parameters=rotary,
        initializer_range=math.sqrt(2 / (5 * width)),
        bos_token_id=END_ID,
        eos_token_id=END_ID,
        tie_word_embeddings=False,
    )
    config = LlavaConfig(
        vision_config=tower,
        text_config=text,
        image_token_index=PICTURE_ID,
        image_seq_length=PATCHES,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=False,
    )
    config.rbpkit_family = "Reader"  # as manifests and summaries name the family
    return config


# --- training --------------------------------------------------------------------------------


@cache
def names_ids(split: str) -> tuple[Tensor, ...]:
    """The token ids of each glyph's name, with the end, in the order of `load_glyphs`."""
    encoded = make_tokenizer()(list(load_glyphs(split)["name"]))
    return tuple(torch.tensor([*ids, END_ID]) for ids in encoded["input_ids"])


def loss_of(model: PreTrainedModel, greys: np.ndarray, names: Sequence[Tensor]) -> Tensor:
    """Mean negative log-likelihood (nats) of the tokens of names after their pictures.

    greys: (B, SIDE, SIDE) uint8. names: the B names' token ids, with the end.
    """
    lengths = torch.tensor([len(name) for name in names])
    targets = nn.utils.rnn.pad_sequence(list(names), batch_first=True, padding_value=END_ID)
    is_target = torch.arange(targets.shape[1]) < lengths[:, None]
    # The last place of the picture predicts a name's first token, and each token the next.
    picture_ids = torch.full((len(names), PATCHES), PICTURE_ID)
    ids = torch.cat([picture_ids, targets[:, :-1]], 1)
    shades = torch.from_numpy(greys).float()[:, None] / 255
    pixels = (shades - MEAN) / STD
    states = model.model(
        input_ids=ids, pixel_values=pixels.expand(-1, 3, -1, -1), use_cache=False
    ).last_hidden_state
    states = states[:, PATCHES - 1 :]
    return HeadLoss.apply(states[is_target], model.lm_head.weight, targets[is_target], 0.0)


@torch.no_grad()
def captioner_ce(model: PreTrainedModel) -> float:
    """`loss_of` over the validation glyphs."""
    greys, names = pictures("valid", 0), names_ids("valid")
    total = tokens = 0.0
    for first in range(0, len(names), 128):
        some_names = names[first : first + 128]
        some_tokens = sum(len(name) for name in some_names)
        loss = loss_of(model, greys[first : first + 128], some_names)
        total += float(loss) * some_tokens
        tokens += some_tokens
    return total / tokens


@cache
def _order(turn: int) -> np.ndarray:
    """The order of the training glyphs in a pass."""
    # Raw numbers and a stable sort: no version of NumPy changes what they give.
    drawn = np.random.PCG64(turn).random_raw(len(names_ids("train")))
    return np.argsort(drawn, kind="stable")


def batch_of(step: int, size: int) -> tuple[np.ndarray, list[Tensor]]:
    """Pictures and names of a training step; what is left of a pass is not used."""
    names = names_ids("train")
    turn, place = divmod(step, len(names) // size)
    rows = _order(turn)[place * size : (place + 1) * size]
    return pictures("train", turn)[rows], [names[row] for row in rows]


def train_captioner(captioner: GlyphCaptioner, folder: Path) -> TrainedModel:
    """Train a captioner into `folder`, as `rbpkit_pocket.training.train` does a pocket model."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    def loss(model: PreTrainedModel, step: int) -> Tensor:
        greys, names = batch_of(step, captioner.batch)
        return loss_of(model, greys, names)

    return run_steps(
        folder,
        {**asdict(captioner), "torch": torch.__version__},
        captioner,
        captioner.width,
        ("pictures", captioner.batch),
        model=lambda: initial_captioner(captioner),
        loss=loss,
        valid=captioner_ce,
        tokenizer=make_processor(),
        watch=lambda row: None,
    )


def ship_captioner(run: Path, captioner: GlyphCaptioner) -> None:
    """Put a finished run into the package: the weights of seed 0, loss curve and summaries.

    Other seeds are measured on the true pictures alone, of characters never seen and seen.
    """
    name = captioner.name
    shutil.copyfile(run / "log.csv", paths.RUNS / f"{name}.csv")
    corpora: Sequence[str] = ("glyphs", "glyphs-seen")
    if not captioner.seed:
        shutil.copytree(run / "model", paths.CAPTIONERS / name, dirs_exist_ok=True)
        corpora = GLYPH_CORPORA
    for corpus in corpora:
        model = load_captioner(run / "model", name=name)
        summary = measure(model, load_captions(f"pocket:{corpus}")).summary
        path = record_path(paths.CAPTIONER_SUMMARIES, summary.manifest.key)
        file = path.with_suffix(".summary.npz")
        write_whole(file.parent, {file.name: summary.to_bytes()})


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for captioner in (*CAPTIONER_SIZES, *CAPTIONER_SEEDS):
        trained = train_captioner(captioner, folder / captioner.name)
        print(captioner.name, trained, flush=True)
        ship_captioner(folder / captioner.name, captioner)
