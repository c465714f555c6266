"""A small Hugging Face hub on loopback: what its Python client asks, with faults on demand."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

_API = re.compile(
    r"/api/(?P<kind>models|datasets)/(?P<id>[^/]+/[^/]+)"
    r"(?:/(?P<what>revision|tree)/(?P<revision>[^/]+)(?:/(?P<path>.+))?)?"
)
_FILE = re.compile(
    r"/(?P<set>datasets/)?(?P<id>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)"
)
_ERRORS = {401: "GatedRepo", 403: "GatedRepo", 404: "RepoNotFound"}


@dataclass
class Fault:
    """What goes wrong where: `status` is answered, or the body stops or hangs after `after` bytes.

    where: a pattern of request paths. times: how often; files_only: HEAD and the API are well.
    """

    where: str
    status: int = 0
    drop: bool = False
    hang: bool = False
    after: float = 0.5  # share of the body
    times: int = 1_000_000
    files_only: bool = False


@dataclass
class Mirror:
    """Repositories ("owner/name" -> folder), the faults, and what was asked: (method, path, range).

    Use it as a context; `url` is for HF_ENDPOINT.
    """

    models: dict[str, Path] = field(default_factory=dict)
    datasets: dict[str, Path] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    sent: Counter = field(default_factory=Counter)

    def __enter__(self) -> Mirror:
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"mirror": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No answer from now on."""
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def commit(self, id: str) -> str:
        """The one commit of a repository."""
        return hashlib.sha1(id.encode()).hexdigest()

    def fault_at(self, path: str, of_a_file: bool) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and fnmatch(path, fault.where):
                if fault.files_only and not of_a_file:
                    continue
                fault.times -= 1
                return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mirror: Mirror

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        self.mirror.asked.append((self.command, path, self.headers.get("Range", "")))
        file, api = _FILE.fullmatch(path), _API.fullmatch(path)
        fault = self.mirror.fault_at(path, bool(file) and body)
        if fault and fault.status:
            return self._error(fault.status)
        if fault and fault.hang and not (file and body):
            self.mirror.closing.wait(120)
            return None
        if file:
            return self._file(file, fault, body)
        if api:
            return self._api(api)
        return self._error(404)

    def _api(self, asked: re.Match) -> None:
        id, revision = asked["id"], asked["revision"] or "main"
        folder = getattr(self.mirror, asked["kind"]).get(id)
        commit = self.mirror.commit(id)
        if folder is None:
            return self._error(404)
        if revision not in ("main", commit):
            return self._error(404, "RevisionNotFound")
        files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
        if asked["what"] == "tree":
            inside = f"{asked['path']}/" if asked["path"] else ""
            rows = [
                {"type": "file", "oid": _etag(p), "size": p.stat().st_size, "path": name}
                for name, p in sorted(files.items())
                if name.startswith(inside)
            ]
            return self._json(rows)
        siblings = [
            {"rfilename": name, "size": p.stat().st_size, "blobId": _etag(p)}
            for name, p in sorted(files.items())
        ]
        gated = "manual" if id in self.mirror.gated else False
        facts = {"id": id, "sha": commit, "siblings": siblings, "gated": gated}
        return self._json(facts | {"private": False, "tags": [], "downloads": 0, "likes": 0})

    def _file(self, asked: re.Match, fault: Fault | None, body: bool) -> None:
        id, path = asked["id"], asked["path"]
        folder = (self.mirror.datasets if asked["set"] else self.mirror.models).get(id)
        commit = self.mirror.commit(id)
        if folder is None:
            return self._error(404)
        if id in self.mirror.gated:
            return self._error(403)
        if asked["revision"] not in ("main", commit):
            return self._error(404, "RevisionNotFound")
        if not (folder / path).is_file():
            return self._error(404, "EntryNotFound")
        whole = (folder / path).read_bytes()
        start = 0
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(found[1])
        part = whole[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
        self.send_header("ETag", f'"{_etag(folder / path)}"')
        self.send_header("X-Repo-Commit", commit)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if not body:
            return
        if fault:
            part = part[: int(len(part) * fault.after)]
        self.wfile.write(part)
        self.wfile.flush()
        self.mirror.sent[path] += len(part)
        if fault:
            if fault.hang:
                self.mirror.closing.wait(120)
            self.close_connection = True
            time.sleep(0.05)

    def _json(self, content: object) -> None:
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _error(self, status: int, code: str = "") -> None:
        self.send_response(status)
        if code or status in _ERRORS:
            self.send_header("X-Error-Code", code or _ERRORS[status])
        self.send_header("X-Error-Message", "said by the mirror")
        self.send_header("Content-Length", "0")
        self.end_headers()


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()
