"""rbpkit: the relative-based scaling law for neural language models, measured to the integer.

Reproduces "Relative-Based Scaling Law for Neural Language Models" (arXiv 2510.20387): the rank R
of every ground-truth token, RBP_k = Pr(R <= k), and the law -log RBP_k ~ S^-alpha.

    from rbpkit import measure

    result = measure("openai-community/gpt2", "HumanEval", "out")
    print(result.rbp(10), result.rbp(10, interval=True), result.ce())

Each name is imported when it is first used, so that importing the package is cheap.
"""

from importlib import import_module

__version__ = "0.3.0"

_NAMES = {
    "corpora": ["Corpus", "load_corpus"],
    "errors": ["InputError"],
    "fit": ["Curve", "fit_curves", "fit_power_law", "fit_rbp_law"],
    "measuring": ["measure"],
    "models": ["load_model"],
    "ranking": ["logit_ranks", "token_ranks"],
    "records": ["Records", "load_summaries"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_MODULES, "paper"]


def __getattr__(name: str) -> object:
    if name == "paper":
        return import_module("rbpkit.paper")
    if name not in _MODULES:
        raise AttributeError(f"module 'rbpkit' has no attribute {name!r}")
    value = getattr(import_module(f"rbpkit.{_MODULES[name]}"), name)
    globals()[name] = value  # the next use finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
