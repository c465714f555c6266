"""`make lab`: the server's folder is the repository, so notebooks and docs/ are in reach."""

import json
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from conftest import ROOT


@pytest.mark.slow
def test_the_server_of_make_lab_shows_notebooks_and_pages(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *("make", "lab", f"PYTHON={sys.executable}"),
        f"LAB=--no-browser --allow-root --port={port} --IdentityProvider.token=lab",
    ]
    home = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path), "HOME": str(tmp_path)}
    server = subprocess.Popen(
        command, cwd=ROOT, env=home, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        # It says this once it listens; without it the log ends.
        assert any("is running at" in line for line in server.stderr)
        contents = httpx.Client(
            base_url=f"http://127.0.0.1:{port}/api/contents/", params={"token": "lab"}, timeout=30
        )
        quickstart = contents.get("notebooks/00_quickstart.ipynb").json()
        written = json.loads((ROOT / "notebooks/00_quickstart.ipynb").read_text(encoding="utf-8"))
        assert len(quickstart["content"]["cells"]) == len(written["cells"])
        pages = {page["name"] for page in contents.get("docs").json()["content"]}
        assert pages >= {path.name for path in (ROOT / "docs").glob("*.md")}
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.communicate(timeout=20)
