"""Scores of any program: a function that gives logits, or a table of ranks and losses.

Both are models behind the seam (`rbpkit.ranker`), so what is measured with them is kept, shown,
compared and fitted as that of any other model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from rbpkit.corpora import Corpus
from rbpkit.encoding import Batch, EncodedCorpus, EncodedDocument
from rbpkit.errors import InputError, reason
from rbpkit.ranker import Ranker, columns_of
from rbpkit.ranking import logit_ranks
from rbpkit.records import COLUMNS

NEEDED = ("document", "position", "target", "nll", "n_greater")
KNOWN = (*NEEDED, "n_equal", "p_max", "entropy")


@dataclass(eq=False)
class LogitsRanker(Ranker):
    """A model of any framework, given as a function from ids to logits.

    logits: takes ids, int64 (B, L), padded on the right with 0, and gives (B, L, V): at [b, l] the
        logits of the token after ids[b, :l + 1]. A NumPy array, or what `torch.as_tensor` takes.
    revision: what tells it from others of its name, as a date or a hash of its weights.

    The others are keywords too, as of a `Ranker`.
    """

    logits: Callable[[np.ndarray], Any]

    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """All columns, by `logit_ranks`. InputError for logits of another shape than (B, L, V)."""
        with reason(f"{self.name}: its function gives no logits"):
            logits = torch.as_tensor(self.logits(batch.input_ids))
        expected = (*batch.input_ids.shape, self.V)
        if tuple(logits.shape) != expected:
            raise InputError(
                f"{self.name}: its logits are of shape {tuple(logits.shape)}, not {expected}"
            )
        scored = logits[batch.rows, batch.columns]
        targets = torch.from_numpy(batch.targets).to(scored.device)
        return columns_of(logit_ranks(scored, targets, entropy=True))


class ScoreTable(Ranker):
    """A model of which only the scores of a corpus are known: one row for each scored token.

    table: has the columns document (its number in the order of the protocol, from 0), position (of
        the token in its document, from 1), target (its id), nll (nats), and rank (Eq. 3, from 1) or
        n_greater. If there are any: n_equal, p_max, entropy, as in records. Without n_equal, the
        rank decides.
    name, family, S, V: as of a `Ranker`; its revision is a sha256 of these columns.

    Raises InputError for a column that is missing or holds no numbers, and a token with two rows.
    """

    dtype = device = "table"
    tokenizer = None

    def __init__(self, table: pd.DataFrame, *, name: str, S: int, V: int, family: str) -> None:
        if "n_equal" not in table.columns and "rank" in table.columns:
            table = table.assign(n_greater=table["rank"] - 1)
        missing = [column for column in NEEDED if column not in table.columns]
        if missing:
            lacks = missing[0].replace("n_greater", "rank or n_greater")
            needed = f"{', '.join(NEEDED)} (or rank in its place)"
            raise InputError(f"{name}: no column {lacks}; a table of scores needs {needed}")
        columns = [column for column in KNOWN if column in table.columns]
        table = table[columns].sort_values(["document", "position"])
        whole = [column for column in columns if COLUMNS[column] is np.int32]
        for column in columns:
            values = table[column]
            is_number = values.dtype.kind in "iuf" and np.isfinite(values).all()
            if not is_number or (column in whole and (values % 1 != 0).any()):
                kind = "whole numbers" if column in whole else "numbers"
                raise InputError(f"{name}: column {column} must hold {kind}, and none missing")
        if not len(table) or table.duplicated(["document", "position"]).any():
            fault = "two rows of one token" if len(table) else "no rows"
            raise InputError(f"{name}: the table has {fault}")
        table = table.astype(dict.fromkeys(whole, np.int64))
        self._table = table.set_index(["document", "position"])
        content = pd.util.hash_pandas_object(table, index=False).to_numpy()
        self.revision = f"sha256:{hashlib.sha256(content.tobytes()).hexdigest()}"
        self.name, self.family, self.S, self.V = name, family, S, V

    def encode(self, corpus: Corpus, max_length: int, stride: int = 0) -> EncodedCorpus:
        """The documents as the table has them: their tokens are the targets at their positions.

        InputError for a document that the corpus does not have, and for a position that is not
        below `max_length`.
        """
        documents = []
        for number, rows in self._table.groupby(level="document"):
            positions = rows.index.get_level_values("position").to_numpy()
            fits = 0 <= number < len(corpus.documents) and positions[0] >= 1
            if not fits or positions[-1] >= max_length:
                raise InputError(
                    f"{self.name}: document {number}, position {positions[-1]} is outside of"
                    f" {corpus.id} with {len(corpus.documents)} documents, cut at"
                    f" {max_length} tokens (--documents, --max-length)"
                )
            ids = np.zeros(positions[-1] + 1, dtype=np.int32)
            ids[positions] = rows["target"]
            scored = np.zeros(positions[-1], dtype=bool)
            scored[positions - 1] = True
            documents.append(EncodedDocument(int(number), ids, scored))
        return EncodedCorpus(
            corpus=corpus.id,
            fingerprint=corpus.fingerprint,
            max_length=max_length,
            documents=tuple(documents),
            skipped=len(corpus.documents) - len(documents),
        )

    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """The rows of these tokens."""
        tokens = pd.MultiIndex.from_arrays([batch.documents, batch.positions])
        rows = self._table.loc[tokens].drop(columns="target")
        return {str(column): values.to_numpy() for column, values in rows.items()}


def score_table(
    file: str,
    *,
    name: str | None,
    family: str | None,
    size: int | None,
    vocabulary: int | None,
    **others: Any,
) -> ScoreTable:
    """The model of a table in a file, CSV or Parquet, by default called as the file.

    Raises InputError for a file that cannot be read, without S and V, and as `ScoreTable`.
    """
    path = Path(file)
    if not size or not vocabulary:
        raise InputError(
            f"{path}: of a table of scores give --size (S, non-embedding parameters) and"
            " --vocabulary (V)"
        )
    with reason(f"{path}: not a table that can be read"):
        read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
        table = read(path)
    return ScoreTable(
        table,
        name=name or path.stem,
        S=size,
        V=vocabulary,
        family=family or "scores",
    )
