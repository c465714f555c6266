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

NEEDED = "document, position, target, nll, and rank or n_greater"
PLACES = ["document", "position"]


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
        """All columns, by `logit_ranks`.

        InputError for logits of another shape than (B, L, V) or another dtype than `dtype`, for
        probabilities, and as `logit_ranks`.
        """
        with reason(f"{self.name}: its function gives no logits"):
            logits = torch.as_tensor(self.logits(batch.input_ids))
        expected = (*batch.input_ids.shape, self.V)
        if logits.shape != expected or str(logits.dtype) != f"torch.{self.dtype}":
            found = f"{tuple(logits.shape)}, {logits.dtype}"
            raise InputError(f"{self.name}: gives {found}; not {expected}, {self.dtype}")
        scored = logits[batch.rows, batch.columns]
        if (scored >= 0).all() and ((scored.sum(1) - 1).abs() < 0.01).all():
            raise InputError(f"{self.name}: it gives probabilities; give their logarithms")
        targets = torch.from_numpy(batch.targets).to(scored.device)
        return columns_of(logit_ranks(scored, targets))


class ScoreTable(Ranker):
    """A model of which only the scores of a corpus are known: one row for each scored token.

    table: has the columns document (its number in the order of the protocol, from 0), position (of
        the token in its document, from 1), target (its id), nll (nats), and rank (Eq. 3, from 1) or
        n_greater. If there are any: n_equal, p_max, entropy, as in records. Without n_equal, the
        rank decides.
    name, family, S, V: as of a `Ranker`; its revision is a sha256 of these columns.

    Raises InputError for a column that is missing or holds no numbers. What no model can give, as a
    rank above V or a loss below ln R, is refused as in all records.
    """

    dtype = device = "table"
    tokenizer = None
    is_tried = False  # its rows are what they are

    def __init__(self, table: pd.DataFrame, *, name: str, S: int, V: int, family: str) -> None:
        if "rank" in table:  # R = n_greater + n_equal + 1
            table = table.assign(n_greater=table["rank"] - 1 - table.get("n_equal", 0))
        kinds = {column: kind for column, kind in COLUMNS.items() if column in table}
        with reason(f"{name}: a table of scores needs numbers, and none missing, in {NEEDED}"):
            known = table.astype(kinds)[[*kinds]]
            whole = [column for column, kind in kinds.items() if kind is np.int32]
            if table.empty:
                raise ValueError("it has no rows")
            if (known[whole] != table[whole]).any(axis=None):
                raise ValueError("whole numbers below 2^31")
            self._table = known.sort_values(PLACES).set_index(PLACES)
            self._table[["target", "nll", "n_greater"]]  # a KeyError for one that is missing
            if self._table.index.has_duplicates:
                raise ValueError("a position of a document is there twice")
        content = pd.util.hash_pandas_object(self._table).to_numpy()
        self.revision = f"sha256:{hashlib.sha256(content.tobytes()).hexdigest()}"
        self.name, self.family, self.S, self.V = name, family, S, V

    def encode(self, corpus: Corpus, max_length: int, stride: int = 0) -> EncodedCorpus:
        """The documents as the table has them: their tokens are the targets at their positions.

        Documents of the corpus without a row, and positions without one before a document's last,
        are counted in `left_out`.

        InputError for a document that the corpus does not have, for a position that is not
        below `max_length`, and for a stride.
        """
        if stride:
            raise InputError(f"stride={stride}: a table of scores has no windows; leave it out")
        documents = []
        for number, rows in self._table.groupby(level="document"):
            positions = rows.index.get_level_values("position").to_numpy()
            length = positions[-1] + 1
            if number >= len(corpus.documents) or positions[0] < 1 or length > max_length:
                raise InputError(
                    f"{self.name}: document {number}, positions {positions[0]} to {positions[-1]}:"
                    f" outside of {corpus.id} with {len(corpus.documents)} documents, cut at"
                    f" {max_length} tokens (--documents, --max-length)"
                )
            ids = np.zeros(length, dtype=np.int32)
            ids[positions] = rows["target"]
            scored = np.isin(np.arange(1, length), positions)
            documents.append(EncodedDocument(int(number), ids, scored))
        absent = sum(map(bool, corpus.documents)) - len(documents)
        lacks = sum(int((~document.scored).sum()) for document in documents)
        holes = {"document(s)": absent, "token(s)": lacks}
        return EncodedCorpus(
            corpus=corpus.id,
            max_length=max_length,
            documents=tuple(documents),
            left_out={f"{what} without a row": count for what, count in holes.items() if count},
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
        raise InputError(f"{path}: of a table of scores give --size (S) and --vocabulary (V)")
    with reason(f"{path}: not a table that can be read"):
        table = pd.read_parquet(path) if path.suffix.lower() == ".parquet" else pd.read_csv(path)
    known = {"name": name or path.stem, "family": family or "scores"}
    return ScoreTable(table, **known, S=size, V=vocabulary)
