"""Build the distributions and try them: `python .ci/release.py` (`make release`).

1. A wheel and a source archive of rbpkit, rbpkit-pocket and rbpkit-notebooks, in dist/.
2. `twine check --strict`; rbpkit's wheel is below 1 MB and has no weights, summaries or glyphs; the
   wheel that each source archive builds has the same files.
3. In an empty environment outside the repository: rbpkit alone measures, shows and fits a folder of
   text with three models given as folders, and refuses `pocket:NAME` in one line.
4. With the laboratory installed too, `pocket:NAME` is measured; what the notebooks draw can be
   imported once it is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SIZES = ("pythia-w32-l2", "pythia-w48-l3", "pythia-w64-l4")
MOST_BYTES = 1_000_000
TEXT = "The rank of a token is the number of tokens that score at least as high as it does. "


def run(*command: object, cwd: Path | None = None, status: int = 0) -> str:
    """Run a command, print what it prints and return it; stop if its exit status is another."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    output = done.stdout + done.stderr
    print(output, flush=True)
    if done.returncode != status:
        raise SystemExit(f"exit status {done.returncode}, not {status}")
    return output


def files_of(wheel: Path) -> set[str]:
    """The files of a wheel, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def build() -> list[Path]:
    """The three wheels, built and checked, each before those that need it."""
    shutil.rmtree(DIST, ignore_errors=True)
    for project in (ROOT, ROOT / "pocket", ROOT / "notebooks"):
        run(sys.executable, "-m", "build", "--outdir", DIST, project)
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    wheels = []
    for name in ("rbpkit", "rbpkit_pocket", "rbpkit_notebooks"):
        [wheel] = DIST.glob(f"{name}-*.whl")
        [archive] = DIST.glob(f"{name}-*.tar.gz")
        with tempfile.TemporaryDirectory() as again:
            run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", again, archive)
            [rebuilt] = Path(again).glob("*.whl")
            differing = files_of(wheel) ^ files_of(rebuilt)
            if differing:
                raise SystemExit(f"{archive.name} builds another wheel: {sorted(differing)[:5]}")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, {len(files_of(wheel))} files")
        wheels.append(wheel)
    core = wheels[0]
    heavy = [name for name in files_of(core) if name.endswith((".safetensors", ".npz", ".gz"))]
    if heavy or core.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{core.name} is not thin: {core.stat().st_size:,} bytes, {heavy[:3]}")
    return wheels


def main() -> None:
    core, laboratory, notebooks = build()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        install = (python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt")
        run(*install, core)
        rbpkit = (folder / "env" / "bin" / "rbpkit",)
        (folder / "texts").mkdir()
        for number in range(4):
            (folder / "texts" / f"{number}.txt").write_text(TEXT * (number + 2))
        for size in SIZES:
            shutil.copytree(ROOT / "pocket" / "rbpkit_pocket" / "data" / "models" / size,
                            folder / size)  # fmt: skip
            run(*rbpkit, "measure", "--model", size, "--corpus", "texts", "--out", "records",
                cwd=folder)  # fmt: skip
        run(*rbpkit, "show", "records", cwd=folder)
        run(*rbpkit, "fit", "records", "--k", "1", cwd=folder)
        from_pocket = ("measure", "--model", f"pocket:{SIZES[0]}", "--corpus", "texts")
        refused = run(*rbpkit, *from_pocket, "--out", "other", cwd=folder, status=2)
        if len(refused.strip().splitlines()) != 1 or "rbpkit-pocket" not in refused:
            raise SystemExit("pocket:NAME must be refused in one line that says what to install")
        run(*install, laboratory)
        run(*rbpkit, *from_pocket, "--out", "other", cwd=folder)
        run(*rbpkit, "show", "other", cwd=folder)
        run(*install, notebooks)
        run(python, "-c", "import rbpkit_notebooks.notebook_03", cwd=folder)
    print("release: all distributions build, install and measure")


if __name__ == "__main__":
    main()
