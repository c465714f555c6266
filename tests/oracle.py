"""The oracle of ranks: one row of logits after the other, counted in float64."""

import numpy as np
import torch


def counted(logits: torch.Tensor, target: int) -> tuple[int, int, float]:
    """Of logits (V,): how many are greater than the target's, how many others equal; the nll."""
    row = logits.detach().double()
    greater = int((row > row[target]).sum())
    equal = int((row == row[target]).sum()) - 1
    return greater, equal, float(torch.logsumexp(row, 0) - row[target])


def one_by_one(model, encoded) -> np.ndarray:
    """Rows of document, position, target, greater, equal, nll; each document passes alone."""
    rows = []
    for one in encoded.documents:
        ids = torch.from_numpy(one.input_ids.astype(np.int64))[None]
        logits = model.logits(ids)[0]
        for place in np.flatnonzero(one.scored):
            target = int(ids[0, place + 1])
            rows.append((one.document, place + 1, target, *counted(logits[place], target)))
    return np.array(rows)


def assert_counted(columns: dict[str, np.ndarray], rows: np.ndarray) -> None:
    """Columns of records are these rows.

    Batched and unbatched forward passes differ in last bits, now and then in a rank by one.
    """
    document, position, target, greater, equal, nll = rows.T
    for name, expected in (("document", document), ("position", position), ("target", target)):
        np.testing.assert_array_equal(columns[name], expected, err_msg=name)
    moved = np.abs(columns["n_greater"] - greater)
    assert moved.max() <= 1 and moved.mean() <= 0.02
    assert (columns["n_equal"] != equal).sum() <= moved.sum()
    np.testing.assert_allclose(columns["nll"], nll, atol=2e-4)
