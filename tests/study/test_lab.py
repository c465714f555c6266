"""`make lab`: the server's folder is the repository, so that every notebook's pictures load."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#\s]+)")


def get(address: str) -> bytes:
    with urllib.request.urlopen(f"{address}?token=lab", timeout=10) as answer:
        return answer.read()


def test_the_server_of_make_lab_shows_every_picture_and_link(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *("make", "--no-print-directory", "lab", f"PYTHON={sys.executable}"),
        f"LAB=--no-browser --allow-root --port={port} --IdentityProvider.token=lab",
    ]
    environment = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path), "HOME": str(tmp_path)}
    log = (tmp_path / "log").open("w+")
    server = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                get(f"{address}/api/status")
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.2)
        wanted = set()
        for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
            notebook = json.loads(get(f"{address}/api/contents/notebooks/{path.name}"))["content"]
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    for found in (*PICTURE.findall(cell["source"]), *LINK.findall(cell["source"])):
                        wanted.add(os.path.normpath(f"notebooks/{found}"))
        missing = []
        for one in sorted(wanted):
            try:
                get(f"{address}/files/{quote(one)}")
            except urllib.error.HTTPError as error:
                missing.append(f"{one}: {error.code}")
        assert wanted and not missing
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=20)
