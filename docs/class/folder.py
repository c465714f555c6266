"""A student's folder: copies of notebooks 00, 03 and 07, of the four studies and of answers.md.

    python docs/class/folder.py ann         makes work-ann in the repository's folder
    python docs/class/folder.py ann --zip   makes handin-ann.zip of it, to hand in

The folder lies next to notebooks/, so that pictures and links to docs/ work, and git ignores it. A
file that is there already is left as it is, but my_text.jsonl, the text of the study own_text, is
made of my_text.txt whenever that is there. Without it, it is the reference of the Python language.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import zipfile
from pathlib import Path
from pydoc_data.topics import topics

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ("00", "03", "07")
HANDED_IN = ("*.ipynb", "*.y*ml", "answers.*", "**/*.summary.npz")  # and no models

ACTIVATE = r".venv\Scripts\Activate.ps1" if os.name == "nt" else ". .venv/bin/activate"
WHAT_NEXT = """\
{work}: notebooks 00, 03 and 07, four studies and answers.md, yours to change.
Open them, with make or without it:
    make lab OPEN={work}/00_quickstart.ipynb
    python -m jupyterlab --ServerApp.root_dir=. --LabApp.app_settings_dir=docs/lab \
{work}/00_quickstart.ipynb
Train your own model, in a terminal of JupyterLab, or in a second one after
    cd {root}
    {activate}
with
    cd {work}
    rbpkit reproduce own_model.yaml --out own_model --notebook 13
Make a zip to hand in:
    make handin NAME={name}"""


def lay_out(name: str, root: Path = ROOT) -> Path:
    """Make work-NAME, or add what is missing in it. Raises ValueError for a name with odd signs."""
    if not re.fullmatch(r"\w[\w-]*", name):
        raise ValueError(f"NAME {name!r}: letters, digits, - and _ only")
    folder = root / f"work-{name}"
    folder.mkdir(exist_ok=True)
    for original in [*sorted(root.glob("params/class/*.yaml")), *root.glob("params/class/*.md")]:
        if not (folder / original.name).exists():
            shutil.copyfile(original, folder / original.name)
    for number in NOTEBOOKS:
        for original in root.glob(f"notebooks/{number}_*.ipynb"):
            if not (folder / original.name).exists():
                (folder / original.name).write_text(as_copied(original), encoding="utf-8")
    own_text, lines = folder / "my_text.txt", folder / "my_text.jsonl"
    if own_text.exists():
        lines.write_text(as_lines(own_text.read_text(encoding="utf-8")), encoding="utf-8")
    elif not lines.exists():
        reference = "\n\n".join(topics[name] for name in sorted(topics))
        lines.write_text(as_lines(reference), encoding="utf-8")
    return folder


def as_lines(text: str) -> str:
    """A line of JSON for each paragraph of more than 100 characters."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if len(part) > 100]
    return "\n".join(json.dumps({"text": part}) for part in paragraphs)


def as_copied(original: Path) -> str:
    """A notebook for a student's folder: with links to those that are not there, and this Python.

    JupyterLab marks a notebook as changed when its metadata are of another version of Python.
    """
    notebook = json.loads(original.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            others = rf"\]\((?!{'|'.join(NOTEBOOKS)})(\d\d_\w+\.ipynb)"
            cell["source"] = [re.sub(others, r"](../notebooks/\1", line) for line in cell["source"]]
    notebook["metadata"]["language_info"]["version"] = platform.python_version()
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def hand_in(name: str, root: Path = ROOT) -> Path:
    """Make handin-NAME.zip of work-NAME: notebooks, answers, studies and summaries, no models."""
    folder = root / f"work-{name}"
    if not folder.is_dir():
        raise ValueError(f"NAME {name!r}: there is no folder {folder.name}; `make class` makes it")
    path = root / f"handin-{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for pattern in HANDED_IN:
            for file in sorted(folder.glob(pattern)):
                archive.write(file, file.relative_to(root))
    return path


def main() -> int:
    match sys.argv[1:]:
        case [name]:
            make = lay_out
        case [name, "--zip"]:
            make = hand_in
        case _:
            print("give a name: python docs/class/folder.py ann", file=sys.stderr)
            return 2
    try:
        made = make(name)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if make is lay_out:
        print(WHAT_NEXT.format(name=name, root=ROOT, work=made.name, activate=ACTIVATE))
    else:
        print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB; hand in this file")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
