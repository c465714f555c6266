"""Models on GPUs, and spread over several by `device="auto"`."""

import numpy as np
import pytest
import torch

from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.measuring import rank_columns
from rbpkit.models import load_model
from rbpkit_pocket import families

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
