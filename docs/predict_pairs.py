"""Predict the withheld accuracies of `pairs_to_predict.csv`: `python docs/predict_pairs.py`.

The rule is the entry "accuracies that others published, predicted from cross-entropy" of
`docs/margins.md`, and `rbpkit_pocket.accuracy_rule.predict_pairs` computes it. This writes
`pocket/rbpkit_pocket/data/evidence/pairs_predicted.csv`, as it was committed before the truth was
known. `python -m rbpkit_notebooks.blind` scores it.
"""

from __future__ import annotations

from rbpkit_notebooks.published_models import EVIDENCE
from rbpkit_pocket.accuracy_rule import MAX_GAP, predict_pairs, read_pairs

if __name__ == "__main__":
    pairs = read_pairs(EVIDENCE / "pairs_to_predict.csv")
    predictions = predict_pairs(pairs, registered=True).drop(columns="note")
    asked = pairs.loc[predictions.index]
    predictions.insert(0, "id", asked["id"])
    predictions["excluded"] = (asked["ce"] - asked["train_loss"]).fillna(0) > MAX_GAP
    predictions.to_csv(EVIDENCE / "pairs_predicted.csv", index=False, float_format="%.5f")
    print(f"{len(predictions)} rows, {predictions['excluded'].sum()} excluded")
