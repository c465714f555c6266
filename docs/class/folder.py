"""A student's folder: copies of notebooks 00, 03 and 07, of the four studies and of answers.md.

    python docs/class/folder.py ann

makes work-ann in the repository's folder. It lies next to notebooks/, so that relative links and
pictures work, and git ignores it. A file that is there already is left as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ("00", "03", "07")

ACTIVATE = r".venv\Scripts\Activate.ps1" if os.name == "nt" else ". .venv/bin/activate"
WHAT_NEXT = """\
{work}: notebooks 00, 03 and 07, four studies and answers.md, yours to change.
Open them, with make or without it:
    make lab OPEN={work}/00_quickstart.ipynb
    python -m jupyterlab --ServerApp.root_dir=. --LabApp.app_settings_dir=docs/lab \
{work}/00_quickstart.ipynb
Train your own model, in a second terminal:
    cd {root}
    {activate}
    cd {work}
    rbpkit reproduce own_model.yaml --out own_model --notebook 13"""


def lay_out(name: str, root: Path = ROOT) -> Path:
    """Make work-NAME, or add what is missing in it. Raises ValueError for a name with odd signs."""
    if not re.fullmatch(r"\w[\w-]*", name):
        raise ValueError(f"NAME {name!r}: letters, digits, - and _ only")
    folder = root / f"work-{name}"
    folder.mkdir(exist_ok=True)
    originals = [*sorted(root.glob("params/class/*.yaml")), *root.glob("params/class/*.md")]
    for number in NOTEBOOKS:
        originals += root.glob(f"notebooks/{number}_*.ipynb")
    for original in originals:
        copy = folder / original.name
        if not copy.exists():
            shutil.copyfile(original, copy)
    return folder


def main() -> int:
    if len(sys.argv) != 2:
        print("give a name: python docs/class/folder.py ann", file=sys.stderr)
        return 2
    try:
        folder = lay_out(sys.argv[1])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(WHAT_NEXT.format(root=ROOT, work=folder.name, activate=ACTIVATE))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
