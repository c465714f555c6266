"""Run what the pages show: `python docs/run_pages.py [PAGE ...]`, all pages without arguments.

The shell and Python blocks of a page are run in their order, in a folder with the files that the
page's reader has. Each line of a text block must be among what they print, numbers to 0.2%. A
comment `<!-- not run: WHY -->` before a block leaves it out; its
`rbpkit` commands are still parsed.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "pocket/README.md"]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]*) -->\n)?```(?P<kind>\w+)\n(?P<code>.*?)^```", re.M | re.S
)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
CLOSE = 2e-3  # relative: another processor changes the last digits
SIZES = ("w32-l2", "w48-l3", "w64-l4", "w80-l4", "w96-l4")


@dataclass(frozen=True)
class Block:
    """A block of a page: `sh`, `python` or `text`, and why it is not run, if it is not."""

    line: int
    kind: str
    code: str
    why_not: str | None


def blocks(text: str) -> list[Block]:
    """The blocks of a page in their order."""
    found = []
    for match in BLOCK.finditer(text):
        line = text[: match.start("kind")].count("\n") + 1
        found.append(Block(line, match["kind"], match["code"], match["why"]))
    return found


def readers_files(folder: Path) -> None:
    """What the pages' reader has: models, checkpoints, texts, a table, hand-ins, the notebooks."""
    from rbpkit import load_corpus
    from rbpkit_pocket.paths import MODELS

    for size in SIZES:
        shutil.copytree(MODELS / f"pythia-{size}", folder / "checkpoints" / f"pythia-{size}")
        for step in (1, 2):
            run = folder / "runs" / size / f"checkpoint-{step}"
            shutil.copytree(MODELS / f"pythia-{size}", run)
    shutil.copytree(MODELS / "pythia-w32-l2", folder / "checkpoint-1000")
    texts = load_corpus("pocket:prose", documents=40).documents
    notes = [{"text": text, "author": f"author {i % 20}"} for i, text in enumerate(texts)]
    questions = [{"question": text[:40], "answer": text[40:]} for text in texts]
    for name, rows in (("notes", notes), ("held_out", notes), ("questions", questions)):
        lines = [json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name in ("notes", "my_text"):
        (folder / f"{name}.txt").write_text("\n\n".join(texts), encoding="utf-8")
    rows = [(f"A,{ce},1,{math.exp(-0.3 * ce**0.8):.4f}") for ce in (2.0, 2.4, 2.8, 3.2)]
    (folder / "table.csv").write_text("\n".join(["text,ce,k,acc", *rows, "A,2.6,1,"]) + "\n")
    shutil.copytree(ROOT / "params/class", folder / "hand-ins/work-ann")
    for name in ("notebooks", "params", "figures", "docs"):
        (folder / name).symlink_to(ROOT / name)


def python_names() -> dict[str, Any]:
    """What the Python blocks take for granted: a model in memory and data to train it on."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from rbpkit import load_corpus
    from rbpkit_pocket.paths import MODELS

    folder = MODELS / "pythia-w32-l2"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.eos_token
    texts = load_corpus("pocket:prose", documents=20).documents
    encoded = tokenizer(list(texts), truncation=True, max_length=32, padding="max_length")
    rows = Dataset.from_dict({**encoded, "labels": encoded["input_ids"]})
    return {
        "model": AutoModelForCausalLM.from_pretrained(folder),
        "tokenizer": tokenizer,
        "train": rows,
        "valid": rows,
    }


def parsed(code: str) -> None:
    """Refuse an `rbpkit` command of a block that is not run if it has an unknown option."""
    from rbpkit.tools.cli.app import command_line

    for line in code.splitlines():
        words = shlex.split(line.partition(" #")[0])
        if words[:1] == ["rbpkit"]:
            command_line().parse_args(words[1:], exit_on_error=False, print_error=False)


def ran(block: Block, folder: Path, names: dict[str, Any]) -> str:
    """Run a block; returns what it printed."""
    if block.kind == "sh":
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.code],
            cwd=folder,
            env={**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: {done.stdout[-1500:]}")
        return done.stdout
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(block.code, f"line {block.line}", "exec"), names)
    return printed.getvalue()


def shown_as_printed(line: str, printed: str) -> bool:
    """Is a line of a text block among what was printed, numbers to 0.2%?"""
    words = " ".join(NUMBER.sub("#", line).split())
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(line)]
    for other in printed.splitlines():
        if " ".join(NUMBER.sub("#", other).split()) != words:
            continue
        found = [float(number.replace(",", "")) for number in NUMBER.findall(other)]
        if all(math.isclose(*pair, rel_tol=CLOSE) for pair in zip(numbers, found, strict=True)):
            return True
    return False


def faults(page: Path) -> list[str]:
    """Run a page; a line for each block that fails or prints something else."""
    found: list[str] = []
    printed = ""
    every = blocks(page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        readers_files(folder)
        if "checkpoints/mine-1" in page.read_text(encoding="utf-8"):
            (folder / "checkpoints/pythia-w32-l2").rename(folder / "checkpoints/mine-1")
        names = python_names() if any(block.kind == "python" for block in every) else {}
        has_run = False  # the block before: what it printed may follow as text
        for block in every:
            place = f"{page.relative_to(ROOT)}:{block.line}"
            try:
                if block.kind in ("sh", "python"):
                    has_run = block.why_not is None
                    if has_run:
                        printed += ran(block, folder, names)
                    elif block.kind == "sh":
                        parsed(block.code)
                elif block.kind == "text" and has_run and block.why_not is None:
                    lines = [line for line in block.code.splitlines() if line.strip()]
                    gone = [line for line in lines if not shown_as_printed(line, printed)]
                    found += [f"{place}: not printed: {line}" for line in gone]
            except Exception as error:
                found.append(f"{place}: {type(error).__name__}: {error}")
    return found


def main() -> int:
    """Run the pages and say how it went; 1 if something on them does not work."""
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    if not pages:
        pages = [ROOT / name for name in PAGES]
        pages += sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/class/*.md")])
    failed = 0
    for page in pages:
        start = time.monotonic()
        every = blocks(page.read_text(encoding="utf-8"))
        run = [block for block in every if block.why_not is None]
        if not every:
            continue
        found = faults(page)
        for line in found:
            print(line)
        failed += len(found)
        seconds = time.monotonic() - start
        print(f"{page.relative_to(ROOT)}: {len(run)} of {len(every)} blocks in {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
