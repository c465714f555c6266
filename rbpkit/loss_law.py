"""Accuracy from loss: on one text, log(-log RBP_k) follows log CE, whatever changes the model.

`fit_against_ce` fits, for each text and k, the line through all measured models, of
whatever family, and `predict_from_ce` reads a new model's RBP_k off it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import (
    Array,
    Measured,
    PowerLawFit,
    check_same_tokens,
    fit_power_law,
    minus_log,
    root_mean_square,
)


@dataclass(frozen=True, eq=False)
class LossFit:
    """-log RBP_k = C CE^eps_k over all models that were measured on one text with one tokenizer.

    - corpus: the text. k: of RBP_k.
    - models: n names, ascending in CE.
    - ce: (n,) nats a token. rbp: (n,) RBP_k.
    - line: the fit; its `slope` is eps_k, and it takes CE in the place of S.
    """

    corpus: str
    k: int
    models: tuple[str, ...]
    ce: Array
    rbp: Array
    line: PowerLawFit

    @property
    def about(self) -> dict[str, object]:
        """The first columns of its rows in tables."""
        quantity, n = f"RBP_{self.k}", len(self.models)
        return {"corpus": self.corpus, "quantity": quantity, "n": n}

    @property
    def residual(self) -> Array:
        """(n,) how far each model's -log RBP_k lies above the line: log units, 0.01 is 1%."""
        on_the_line = self.line.predict(self.ce).loss
        return np.log(minus_log(self.rbp)) - np.log(on_the_line)


def fit_against_ce(
    measured: Iterable[Measured], ks: Sequence[int] = (1, 10, 100)
) -> tuple[list[LossFit], list[str]]:
    """The lines of log(-log RBP_k) on log CE, and a line on each text and k that has none.

    Raises InputError if nothing was measured, and if the models of a text did not score the same
    tokens.
    """
    measured = list(measured)
    if not measured:
        raise InputError("nothing was measured, so there is no line in cross-entropy")
    fits, refused = [], []
    for corpus in sorted({model.manifest.corpus for model in measured}):
        models = [model for model in measured if model.manifest.corpus == corpus]
        check_same_tokens(models, corpus)
        models.sort(key=lambda model: model.ce())
        names = tuple(model.manifest.model for model in models)
        ce = np.array([model.ce() for model in models])
        for k in ks:
            rbp = np.array([model.rbp(k) for model in models])
            try:
                line = fit_power_law(ce, minus_log(rbp), labels=names)
            except InputError as error:
                refused.append(f"{corpus}, RBP_{k}: {error}")
                continue
            fits.append(LossFit(corpus, k, names, ce, rbp, line))
    return fits, refused


def loss_table(fits: Iterable[LossFit]) -> pd.DataFrame:
    """A row for each line: its slope with a 95% interval, and the residuals of its models.

    Columns: corpus, quantity, n, CE_min, CE_max (nats), eps, eps_low, eps_high, residual_percent
    (root mean square), farthest (the model with the largest residual) and farthest_percent.
    """
    rows = []
    for fit in fits:
        low, high = fit.line.slope_interval
        farthest = int(np.argmax(np.abs(fit.residual)))
        row = fit.about | {
            "CE_min": fit.ce[0],
            "CE_max": fit.ce[-1],
            "eps": fit.line.slope,
            "eps_low": low,
            "eps_high": high,
            "residual_percent": 100 * root_mean_square(fit.residual),
            "farthest": fit.models[farthest],
            "farthest_percent": 100 * fit.residual[farthest],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def predict_from_ce(
    fits: Iterable[LossFit], losses: Sequence[float], level: float = 0.95
) -> pd.DataFrame:
    """RBP_k of one new model of which only the cross-entropy is known, for each line and loss.

    losses: CE in nats a token, on the same text with the same tokenizer. Columns: corpus,
    quantity, n, CE, RBP, RBP_low, RBP_high, and `note`, which is empty between the measured losses.
    Raises InputError for a loss that is not positive and finite, and for a bad level.
    """
    rows = []
    for fit in fits:
        for ce in losses:
            if not 0 < ce < np.inf:
                raise InputError(f"a cross-entropy must be positive and finite, not {ce:g}")
            predicted = fit.line.predict(ce, level=level)
            # A larger loss is a smaller RBP, so the ends change places.
            row = fit.about | {
                "CE": ce,
                "RBP": np.exp(-predicted.loss),
                "RBP_low": np.exp(-predicted.high),
                "RBP_high": np.exp(-predicted.low),
                "note": beyond(ce, fit.ce[0], fit.ce[-1], "measured"),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def beyond(ce: float, least: float, most: float, what: str) -> str:
    """A note if a loss lies outside of those that are known, else nothing."""
    if least <= ce <= most:
        return ""
    return f"CE {ce:.3g} is outside the {what} {least:.3g} to {most:.3g}"
