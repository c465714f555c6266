"""All that needs a GPU, in parts, with one report: `make gpu`, or python -m rbpkit.tools.gpu PART.

bench: the paper's 24 shapes in bfloat16, random weights. dtypes:
a 16-bit body on the pocket models. memory: batches that do not fit. fused: ranks without logits in
memory, beside the usual ones. Each part is kept in one JSON
file as it is done, and the Markdown table beside it is made anew.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES
from rbpkit.measuring import rank_columns
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.ranking import counting_path, token_ranks
from rbpkit.tools.bench import Speed, paper_speeds, plain_speeds, random_tokens, study_time
from rbpkit.tools.comparisons import compare_dtypes
from rbpkit.tools.cost import DEVICES, predicted_speeds

MINUTES = 9.0  # of ten; the tests take the rest
_FEW = 40  # documents of the pocket corpora
_HEADS = ((512, 50_304), (2048, 50_304), (5120, 152_064))  # (d, V) of Pythia-70M and 1.4B, Qwen-32B


def bench(ends: float) -> dict:
    """Speeds of the paper's shapes, the smallest first, while there is time; the study's time."""
    by_size = sorted(predicted_speeds(DEVICES["H200"]), key=lambda found: found[0].work)
    speeds: list[Speed] = []
    for name in [speed.model for speed, _ in by_size]:
        if time.monotonic() > ends:
            break
        speeds += paper_speeds([name], dtype="bfloat16", device="cuda", batch_tokens=16_384)
        print(f"  {name}: {speeds[-1].with_ranks:,.0f} tokens/s {speeds[-1].skipped}")
    ran = [one for one in speeds if not one.skipped]
    study = asdict(study_time(ran)) if ran else None
    return {
        "speeds": plain_speeds(speeds),
        "study": study,
        "not_run": len(ARCHITECTURES) - len(ran),
    }


def dtypes(ends: float) -> dict:
    """What a 16-bit body changes in ranks, CE and RBP_k: the largest model of each ladder."""
    found = {}
    for family, shapes in ladders.LADDERS.items():
        if time.monotonic() > ends:
            break
        folder = ladders.model_folder(family, len(shapes) - 1)
        corpus = load_corpus("pocket:code", documents=_FEW)
        results = compare_dtypes(folder, corpus, device="cuda", max_length=ladders.CONTEXT)
        found[folder.name] = [asdict(one) for one in results]
    return found


def memory(ends: float) -> dict:
    """Ranks where half of the documents' batch does not fit, against those of small batches."""
    model = load_model(ladders.model_folder("Pythia", 0), device="cuda")
    encoded = random_tokens(model, 200_000, ladders.CONTEXT)
    small = rank_columns(model, encoded, 2048)
    lines: list[str] = []
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    # All tokens in one batch take about twice as much.
    allowed = torch.cuda.memory_reserved() + 2**27
    torch.cuda.set_per_process_memory_fraction(min(1.0, allowed / total))
    try:
        large = rank_columns(model, encoded, 10**9, say=lines.append)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    changed = int((small["n_greater"] != large["n_greater"]).sum())
    return {"halved": len(lines), "tokens": encoded.tokens, "ranks_changed": changed}


def fused(ends: float, device: str = "cuda", tokens: int = 8192) -> dict:
    """Seconds of `token_ranks` with logits in memory and without, at three of the paper's heads."""
    rows = []
    for d, V in _HEADS:
        if time.monotonic() > ends:
            break
        drawn = torch.Generator(device).manual_seed(0)
        kind = {"generator": drawn, "device": device, "dtype": torch.bfloat16}
        hidden, matrix = torch.randn(tokens, d, **kind), torch.randn(V, d, **kind) / d**0.5
        targets = torch.randint(V, (tokens,), generator=drawn, device=device)
        seconds, ranks = {}, {}
        for way in (False, True):
            rounds = []
            for _ in range(4):  # the first one tunes
                begin = time.perf_counter()
                ranks[way] = token_ranks(hidden, matrix, targets, fused=way).rank()
                ranks[way].sum().item()  # waits for the device
                rounds.append(time.perf_counter() - begin)
            seconds[way] = min(rounds[1:])
        moved = (ranks[True] != ranks[False]).sum().item()
        row = {"d": d, "V": V, "tokens": tokens, "usual": seconds[False], "fused": seconds[True]}
        rows.append(row | {"ranks_changed": moved})
    return {"heads": rows}


PARTS: dict[str, Callable[[float], dict]] = {
    "memory": memory,
    "fused": fused,
    "dtypes": dtypes,
    "bench": bench,
}


def markdown(report: dict) -> str:
    """The report as a page: what the device is, and a table a part."""
    lines = [f"# rbpkit on {report['device']}", ""]
    lines += [f"torch {report['torch']}, logits counted by {report['counted_by']}.", ""]
    if "memory" in report:
        one = report["memory"]
        lines += [
            f"Out of memory on purpose: the batch was halved {one['halved']} times;"
            f" {one['ranks_changed']} of {one['tokens']:,} ranks differ from small batches.",
            "",
        ]
    if "fused" in report:
        lines += ["| d | V | ranks, ms | without logits, ms | ranks that differ |"]
        lines += ["| ---: | ---: | ---: | ---: | ---: |"]
        for row in report["fused"]["heads"]:
            lines.append(
                f"| {row['d']} | {row['V']:,} | {1e3 * row['usual']:.2f} | {1e3 * row['fused']:.2f}"
                f" | {row['ranks_changed']:,} of {row['tokens']:,} |"
            )
        lines.append("")
    if "bench" in report:
        lines += ["| model | body, tokens/s | with head | with ranks | ranks over head |"]
        lines += ["| --- | ---: | ---: | ---: | ---: |"]
        for row in report["bench"]["speeds"]:
            if row["skipped"]:
                lines.append(f"| {row['model']} | {row['skipped']} | | | |")
                continue
            rates = [row[key] for key in ("body", "with_head", "with_ranks")]
            shown = " | ".join(f"{rate:,.0f}" for rate in rates)
            lines.append(f"| {row['model']} | {shown} | {rates[2] / rates[1]:.3f} |")
        study = report["bench"]["study"]
        if study:
            guess = f", {study['not_run']} models guessed" if study["not_run"] else ""
            minutes = study["seconds"] / 60
            lines += ["", f"The study of 24 shapes: {minutes:.0f} GPU-minutes{guess}."]
        lines.append("")
    if "dtypes" in report:
        lines += ["| model | body | ranks changed | CE change, nats | largest RBP_k change |"]
        lines += ["| --- | --- | ---: | ---: | ---: |"]
        for name, results in report["dtypes"].items():
            for one in results[1:]:
                worst = max(map(abs, one["rbp_change"].values()))
                lines.append(
                    f"| {name} | {one['setting']} | {one['changed']:,} of {one['tokens']:,}"
                    f" | {one['CE_change']:+.1e} | {worst:.1e} |"
                )
        lines.append("")
    return "\n".join(lines)


def run(parts: Sequence[str], folder: Path, minutes: float) -> Path:
    """Run the parts one after another, keep each as it is done -> the JSON file's path."""
    device = torch.cuda.get_device_name()
    path = folder / f"gpu-{re.sub(r'[^a-z0-9]+', '-', device.lower())}.json"
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    report |= {"device": device, "torch": torch.__version__, "counted_by": counting_path("cuda")}
    ends = time.monotonic() + 60 * minutes
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        print(f"== gpu: {part}", flush=True)
        report[part] = PARTS[part](ends)
        path.write_text(json.dumps(report, indent=1), encoding="utf-8")
        path.with_suffix(".md").write_text(markdown(report), encoding="utf-8")
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done; 1: memory never ran out; 2: nothing was run, and one line says why."""
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--dry-run", action="store_true", help="say what would be run")
    asked = parser.parse_args(arguments)
    unknown = [part for part in asked.parts if part not in PARTS]
    if unknown:
        print(f"gpu: {unknown[0]!r} is no part; {', '.join(PARTS)}", file=sys.stderr)
        return 2
    parts = asked.parts or list(PARTS)
    if asked.dry_run:
        for part in parts:
            print(f"{part}: {(PARTS[part].__doc__ or '').splitlines()[0]}")
        return 0
    if not torch.cuda.is_available():
        print("gpu: torch finds no GPU here (--dry-run says what would be run)", file=sys.stderr)
        return 2
    try:
        path = run(parts, asked.out, asked.minutes)
    except InputError as error:
        print(f"gpu: {error}", file=sys.stderr)
        return 2
    print(f"gpu: {path} and {path.with_suffix('.md').name}: to be committed")
    report = json.loads(path.read_text(encoding="utf-8"))
    return int("memory" in parts and report["memory"]["halved"] == 0)


if __name__ == "__main__":
    sys.exit(main())
