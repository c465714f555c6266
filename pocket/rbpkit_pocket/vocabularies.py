"""Pythias with another number of tokens: does V decide the ratio of the two exponents?

    python -m rbpkit_pocket.vocabularies FOLDER  # trains what is not finished, writes the table

The runs read the same documents, cut into 512, 4,096 or 16,384 tokens by tokenizers that were
trained alike. Everything else is equal: two sizes of Pythia, one seed (`docs/margins.md`).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from rbpkit.corpora import load_corpus
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import ABLATION_TOKENS, FAMILY
from rbpkit_pocket.contrasts import TEXTS
from rbpkit_pocket.families import (
    END_OF_TEXT,
    POCKET_CONTEXT,
    POCKET_FAMILIES,
    model_name,
)
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.split import train_tokenizer
from rbpkit_pocket.training import (
    TrainedModel,
    TrainingText,
    as_stream,
    shuffled_texts,
    token_stream,
    train,
)

_VOCABULARIES = (512, 4096, 16_384)
_SIZES = (0, 2)
"""Widths 32 and 64."""
_SEED = 1
_KS = (1, 10, 100)


def training_documents() -> list[str]:
    """The documents that are whole in the first ABLATION_TOKENS tokens of the usual tokenizer."""
    end = 0  # END_OF_TEXT is the first token of every tokenizer here
    usual = token_stream("train")[:ABLATION_TOKENS]
    whole_documents = int((usual == end).sum())
    return shuffled_texts("train")[:whole_documents]


def measured_rows(V: int, size: int, trained: TrainedModel) -> list[dict[str, object]]:
    """What is counted on each text: scored tokens and their bytes, nll in nats, tokens with R <= k.

    A token of a byte-level tokenizer has as many characters as it has bytes.
    """
    name = f"{model_name(FAMILY, POCKET_FAMILIES[FAMILY].shapes[size])}-V{V}"
    model = replace(load_model(trained.folder, device="cpu"), name=name)
    vocabulary = model.tokenizer.convert_ids_to_tokens(list(range(V)))
    bytes_of_token = np.array([len(token) for token in vocabulary])
    rows = []
    for text in TEXTS:
        records = measure(model, load_corpus(text), max_length=POCKET_CONTEXT).records
        row = {"V": V, "model": name, "S": model.S, "corpus": text}
        row["tokens"] = len(records.target)
        row["bytes"] = int(bytes_of_token[records.target].sum())
        row["nll"] = float(records.nll.sum(dtype=np.float64))
        ranks = records.n_greater + records.n_equal + 1
        for k in _KS:
            row[f"hits_{k}"] = int((ranks <= k).sum())
        rows.append(row)
    return rows


def make_table(folder: Path) -> None:
    """Train what is not finished in `folder`, measure all of it, and write the table that ships."""
    documents, valid_documents = training_documents(), shuffled_texts("valid")
    all_documents = shuffled_texts("train")
    family = POCKET_FAMILIES[FAMILY]
    rows = []
    for V in _VOCABULARIES:
        tokenizer = train_tokenizer(all_documents, V)
        assert tokenizer.convert_tokens_to_ids(END_OF_TEXT) == 0
        stream = as_stream(documents, tokenizer, f"text into {V} tokens")
        valid = as_stream(valid_documents, tokenizer, f"validation text into {V} tokens")
        text = TrainingText(stream, valid, tokenizer)
        recipe = Recipe(tokens=len(stream) - 1, rate=family.rate, seed=_SEED)
        for size in _SIZES:
            trained = train(
                FAMILY, family.shapes[size], recipe, folder / f"V{V}-size{size}", text=text
            )
            print(f"V = {V}, size {size}: {trained.seconds:.0f} s", flush=True)
            rows += measured_rows(V, size, trained)
    table = as_csv(pd.DataFrame(rows))
    write_whole(paths.VOCABULARIES.parent, {paths.VOCABULARIES.name: table.encode()})


if __name__ == "__main__":
    make_table(Path(sys.argv[1]))
