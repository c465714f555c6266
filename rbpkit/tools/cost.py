"""What ranking should cost on a device, from operations and bytes: a prediction, no measurement.

Of each part of the work (body, head, ranks) a token's floating-point operations, the bytes that
its tensors move, and the kernels that are launched are counted from the model's config. Divided by
a device's rates they give seconds, and which of the three decides.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.activations import ACT2FN

from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES, paper_config, parameter_counts
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH
from rbpkit.models import DTYPES
from rbpkit.ranking import token_ranks
from rbpkit.tools.bench import Speed, head_width

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedConfig

KEPT = 0.6
"""Share of a data sheet's matrix and memory rates that large work keeps up: a guess."""
LAUNCH = 6e-6  # s, of a kernel by the host: what eager PyTorch takes, about
_HEAD_ROWS = 448  # of a product on a GPU: the head's matrix is read once for so many tokens
_KERNELS = 30  # of a layer, about
# Numbers read and written by the activation function, in widths of the inner layer: one operation
# each for gelu and relu, eight for gelu_new, and for silu the product with the gate as well.
_ACTIVATION = {"gelu": 2, "relu": 2, "gelu_new": 20, "silu": 5}


class Rates(NamedTuple):
    """What a device does in a second. matrix: operations of 16-bit products with fp32 sums;
    fp32: of fp32 ones; memory: bytes. launch: seconds. The others where they were measured:
    operations of attention and of the head's product, logits counted."""

    name: str
    matrix: float
    fp32: float
    memory: float
    launch: float = LAUNCH
    attention: float | None = None
    head: float | None = None
    logits: float | None = None


def _card(name: str, matrix: float, fp32: float, memory: float) -> Rates:
    """From a data sheet: TFLOP/s without sparsity, GB/s."""
    return Rates(name, KEPT * matrix * 1e12, KEPT * fp32 * 1e12, KEPT * memory * 1e9)


DEVICES = {
    "A100": _card("A100 80 GB SXM", 312, 19.5, 2039),
    "H100": _card("H100 SXM", 989, 67, 3350),
    "H200": _card("H200", 989, 67, 4800),
    "L4": _card("L4", 121, 30.3, 300),
    "RTX4090": _card("GeForce RTX 4090", 165, 82.6, 1008),
}
"""Devices by name, at `KEPT` of the rates in the makers' data sheets."""


def rates_of(device: str) -> Rates:
    """Of `DEVICES` by name, or "MATRIX,FP32,MEMORY" as kept up: TFLOP/s, TFLOP/s, GB/s.

    Raises InputError for anything else.
    """
    if device in DEVICES:
        return DEVICES[device]
    try:
        matrix, fp32, memory = (float(number) for number in device.split(","))
    except ValueError:
        matrix = fp32 = memory = -1
    if not 0 < min(matrix, fp32, memory) <= max(matrix, fp32, memory) < math.inf:
        raise InputError(
            f"no rates are known of {device!r}; give {', '.join(DEVICES)}, or three numbers,"
            " 16-bit and float32 products in TFLOP/s and memory in GB/s, as in 500,40,2500"
        )
    return Rates(device, matrix * 1e12, fp32 * 1e12, memory * 1e9)


class Part(NamedTuple):
    """Of a token, in one part of the work."""

    operations: float
    bytes: float
    launches: float
    attention: float = 0  # operations between positions


class Cost(NamedTuple):
    """Seconds a token of each part, and what decides it: matrix, memory or launches."""

    body: float
    head: float
    ranks: float
    bound: dict[str, str]


@dataclass(frozen=True)
class Shape:
    """What a model's cost depends on. width: of the hidden states; gated: the inner layer."""

    name: str
    S: int
    V: int
    width: int
    head_width: int
    layers: int
    heads: int
    inner: int
    activation: str

    @classmethod
    def of(cls, name: str, config: PreTrainedConfig) -> Shape:
        """Of a config of the paper's four families. Raises InputError for another one."""
        heads = getattr(config, "num_attention_heads", None)
        activation = getattr(config, "activation_function", None) or config.hidden_act
        if not heads or activation not in _ACTIVATION:
            raise InputError(f"{name}: no model of the cost of {config.model_type}")
        width = config.hidden_size
        names = ("ffn_dim", "n_inner", "intermediate_size")
        inner = next((n for key in names if (n := getattr(config, key, None))), 4 * width)
        S, _, V = parameter_counts(config)
        return cls(
            name=name,
            S=S,
            V=V,
            width=width,
            head_width=head_width(config),
            layers=config.num_hidden_layers,
            heads=heads,
            inner=inner,
            activation=activation,
        )


def parts(
    shape: Shape,
    dtype: str = "bfloat16",
    *,
    length: int = MAX_LENGTH,
    batch_tokens: int = BATCH_TOKENS,
) -> dict[str, Part]:
    """Operations, bytes and launches a token of body, head and ranks.

    length: of a document, tokens. Counting reads all logits once, as the kernel does.
    """
    size, d = DTYPES[dtype].itemsize, shape.width
    # Two norms, queries, keys, values, attention, two residual sums; the inner layer.
    numbers = 22 * d + (4 + _ACTIVATION[shape.activation]) * shape.inner
    body = Part(
        2 * shape.S,  # each weight multiplies once
        size * (shape.layers * numbers + shape.S / batch_tokens),
        shape.layers * _KERNELS / batch_tokens,
        shape.layers * 4 * d * length / 2,  # scores and their sums, over half of the context
    )
    head = Part(
        2 * shape.V * shape.head_width,
        4 * shape.V + size * shape.V * shape.head_width / _HEAD_ROWS,
        1 / _HEAD_ROWS,
    )
    ranks = Part(0, 4 * shape.V, 1 / _HEAD_ROWS)
    return {"body": body, "head": head, "ranks": ranks}


def cost(shape: Shape, rates: Rates, dtype: str = "bfloat16", **settings: int) -> Cost:
    """Seconds a token; settings as `parts`.

    Products and what is between them take turns, so their times add up; the host launches ahead
    of both, and decides only where it is slower.
    """
    matrix = rates.fp32 if dtype == "float32" else rates.matrix
    seconds, bound = {}, {}
    for name, part in parts(shape, dtype, **settings).items():
        memory = part.bytes / rates.memory
        product = part.operations / matrix + part.attention / (rates.attention or matrix)
        if name == "head" and rates.head:
            product, memory = part.operations / rates.head, 0  # what it writes is in its time
        if name == "ranks" and rates.logits:
            memory = shape.V / rates.logits
        times = {"matrix": product, "memory": memory, "launches": part.launches * rates.launch}
        busy = times["matrix"] + times["memory"]
        seconds[name] = max(busy, times["launches"])
        bound[name] = max(times, key=times.__getitem__)
        if bound[name] == "launches" and busy >= times["launches"]:
            bound[name] = "matrix" if product > memory else "memory"
    return Cost(**seconds, bound=bound)


def predicted_speeds(
    rates: Rates, names: Iterable[str] = tuple(ARCHITECTURES), dtype: str = "bfloat16", **settings
) -> list[tuple[Speed, Cost]]:
    """The paper's models (hub ids) as `paper_speeds` would measure them; settings as `parts`."""
    found = []
    for name in names:
        shape = Shape.of(name, paper_config(name))
        one = cost(shape, rates, dtype, **settings)
        head = shape.V * shape.head_width
        speed = Speed(
            model=name,
            S=shape.S,
            V=shape.V,
            dtype=dtype,
            device=rates.name,
            work=shape.S + head,
            weights=0,
            batch_tokens=settings.get("batch_tokens", BATCH_TOKENS),
            with_ranks=1 / (one.body + one.head + one.ranks),
            with_head=1 / (one.body + one.head),
            body=1 / one.body,
        )
        found.append((speed, one))
    return found


def cost_table(found: Iterable[tuple[Speed, Cost]]) -> pd.DataFrame:
    """A row a model: microseconds a token of each part, what decides each, and the share of the
    speed with head that is left with ranks."""
    import pandas as pd

    rows = []
    for speed, one in found:
        row = {"model": speed.model, "S": speed.S, "V": speed.V}
        for name in ("body", "head", "ranks"):
            row |= {f"{name}_us": 1e6 * getattr(one, name), f"{name}_bound": one.bound[name]}
        row["ranks_over_head"] = speed.with_ranks / speed.with_head
        rows.append(row)
    return pd.DataFrame(rows)


def cpu_rates(shape: Shape, length: int, *, tokens: int = 4096, rounds: int = 9) -> Rates:
    """What this CPU does in float32 on tensors of the shape's size: each kind of work timed alone.

    Products of the inner layer's size, attention, the activation function, the head, counting.
    """
    d, V, rows = shape.width, shape.V, 512
    hidden, inner = torch.randn(tokens, d), torch.randn(d, shape.inner)
    states = torch.randn(max(1, tokens // length), shape.heads, length, d // shape.heads)
    activations, activation = torch.randn(tokens, shape.inner), ACT2FN[shape.activation]
    few, matrix = torch.randn(rows, shape.head_width), torch.randn(V, shape.head_width)
    logits, many = few @ matrix.T, few.repeat(tokens // rows, 1)
    targets = torch.arange(len(many)) % V
    attention = functools.partial(scaled_dot_product_attention, is_causal=True)
    seconds = {
        "matrix": _seconds(lambda: hidden @ inner, rounds),
        "attention": _seconds(lambda: attention(states, states, states), rounds),
        "memory": _seconds(lambda: activation(activations), rounds),
        "head": _seconds(lambda: torch.mm(few, matrix.T, out=logits), rounds),
        "logits": _seconds(lambda: token_ranks(many, matrix, targets), rounds),
    }
    # Counted on logits that lie in the cache, as they do here, so with the product that puts them.
    seconds["logits"] -= min(0.9 * seconds["logits"], tokens // rows * seconds["head"])
    # silu's count has the product with the gate in it, which is not timed here.
    numbers = 2 if shape.activation == "silu" else _ACTIVATION[shape.activation]
    done = {
        "matrix": 2 * hidden.numel() * shape.inner,
        "attention": 2 * states.numel() * length,
        "memory": 4 * activations.numel() * numbers,
        "head": 2 * few.numel() * V,
        "logits": len(many) * V,
    }
    rates = {name: done[name] / seconds[name] for name in done}
    return Rates("this CPU", fp32=rates["matrix"], launch=0, **rates)


def _seconds(work: Callable[[], object], rounds: int) -> float:
    """The time of the fastest call, a first one left out: what other programs add is no rate."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times[1:])
