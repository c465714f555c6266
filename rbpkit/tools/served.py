"""A model behind a vLLM server, seen through its HTTP interface.

If a model needs more than one machine has, it runs under vLLM, and the server ranks each token of
a prompt (`prompt_logprobs`): its rank counts tokens with a log-probability of at least the
target's, which is Eq. 3. A request is one document as token ids, so server and `rbpkit` cannot
tokenize differently.
"""

from __future__ import annotations

import functools
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

from rbpkit.architectures import family_of, parameter_counts
from rbpkit.checkpoints import (
    Checkpoint,
    find_checkpoint,
    located,
    read_config,
    read_tokenizer,
)
from rbpkit.encoding import Batch
from rbpkit.errors import InputError, JobError, one_line, reason
from rbpkit.names import folder_name
from rbpkit.ranker import Ranker

TIMEOUT = httpx.Timeout(600, connect=10)
"""Seconds: a server under load may keep a request waiting for minutes."""
PAUSES = (1, 2, 4, 8)
"""Seconds before a request is tried again; five failures in a row end the measurement."""
MOST_SECONDS, MOST_BYTES = 600, 1 << 28
"""Of an answer: one that is slower or longer does not come from a server that ranks."""
PROBE = "The quick brown fox jumps over the lazy dog, and 12 ducks watch."
KEY_VARIABLE = "RBPKIT_API_KEY"
"""The server that the key is for, and the key: "https://HOST:PORT KEY"."""
NO_VLLM = "not the answer of a vLLM server"


@dataclass(eq=False, kw_only=True)
class ServedModel(Ranker):
    """A model that a server ranks with; what is not here cannot be known through the server.

    It gives no counts of equal logits, so only the pessimistic rank of Eq. 3, and no entropy.
    The engine and its version are in `revision`, and so in the key of a job.

    requests: how many documents are sent at a time.
    about: what the server said of it.
    """

    server: Server
    requests: int
    about: About
    dtype: str = "served"
    device: str = "served"
    is_tried = False  # vLLM is no function of the user's

    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """n_greater (rank - 1), nll and p_max of the scored tokens, in the batch's order."""
        prompts = []
        for row, ids in enumerate(batch.input_ids):
            last_target = batch.columns[batch.rows == row].max() + 1
            prompts.append(ids[: last_target + 1].tolist())
        with ThreadPoolExecutor(self.requests) as pool:
            answers = list(pool.map(self.server.prompt_scores, prompts))

        scores = []
        for row, column in zip(batch.rows, batch.columns, strict=True):
            scores.append(answers[row][column + 1])
        rank, nll, p_max = np.array(scores).T
        return {"n_greater": rank.astype(np.int32) - 1, "nll": nll, "p_max": p_max}

    def check_unchanged(self) -> None:
        """InputError if the server says something else of its model than before."""
        now = _about(self.server, self.about.id)
        if now != self.about:
            raise InputError(f"{self.server.url}: was another model before, and is now {now}")


class About(NamedTuple):
    """What a server says of a model; root: the folder or hub id of its files, or ""."""

    id: str
    root: str
    max_model_len: int
    version: str


@dataclass(frozen=True)
class Server:
    """A vLLM server: its address, the model asked for, and a client that keeps connections."""

    url: str
    model: str
    client: httpx.Client = field(repr=False)

    def asked(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """What one request gives. Raises JobError if the server is down or busy."""
        end, content = time.monotonic() + MOST_SECONDS, bytearray()
        try:
            with self.client.stream(method, f"{self.url}{path}", **request) as answer:
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > MOST_BYTES or time.monotonic() > end:
                        raise InputError(f"{self.url}: an answer without an end")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise JobError(f"{self.url}: no answer from a server ({one_line(error)})") from error
        status = answer.status_code
        if status == 401:
            fault = f"it asks for a key that it knows (--api-key, or {KEY_VARIABLE})"
            raise InputError(f"{self.url}: {fault}")
        if status >= 400:
            said = " ".join(content[:200].decode("utf-8", "replace").split())
            fault = f"status {status}: {said}"
            if status == 429 or status >= 500:
                raise JobError(f"{self.url}: no answer from a server ({fault})")
            raise InputError(f"{self.url}: {fault}")
        with reason(f"{self.url}: {NO_VLLM}"):
            return dict(json.loads(content))

    def post(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        """The JSON that a request gives, which is sent again while the server is down or busy.

        Raises InputError, and JobError if it stays so.
        """
        for pause in (*PAUSES, 0):
            try:
                return self.asked("POST", path, json=request)
            except JobError as error:
                fault = str(error)
            time.sleep(pause)
        fault += "; nothing of this job is written, and the same command goes on when it is back"
        raise JobError(fault)

    def prompt_scores(self, ids: list[int]) -> list[tuple[int, float, float]]:
        """(rank, nll, p_max) of each token of a prompt; zeros for the first.

        Raises InputError if the server does not answer, and if a token is missing from its answer
        or has a log-probability that is not finite.
        """
        request = {
            "model": self.model,
            "prompt": ids,
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 1,
        }
        answer = self.post("/v1/completions", request)
        with reason(f"{self.url}: {NO_VLLM}"):
            places = answer["choices"][0].get("prompt_logprobs") or ()
            if len(places) != len(ids):
                fault = f"prompt_logprobs of {len(places)} tokens, but {len(ids)} were sent"
                raise InputError(f"{self.url}: {fault}")
            scores = [(0, 0.0, 0.0)]
            for place, token_id in zip(places[1:], ids[1:], strict=True):
                found = place[str(token_id)]
                log_p, rank = found["logprob"], found["rank"]
                largest = max(one["logprob"] for one in place.values())
                is_rank = type(rank) is int and 0 < rank < 2**31
                if not (is_rank and -np.inf < log_p <= largest <= 1e-3):
                    raise InputError(f"{self.url}: token {token_id} has rank {rank}, log p {log_p}")
                scores.append((rank, -log_p, float(np.exp(largest))))
            return scores


def is_address(source: str) -> bool:
    """Whether a model is named by the address of a server."""
    return source.startswith(("http://", "https://"))


def served_name(address: str) -> str:
    """The name of the only model behind an address. Raises InputError as `served_model`."""
    return _name_of(_about(_server_at(address), None).id)


def _name_of(id: str) -> str:
    """A model as the records name it: one that is served under its path as any folder."""
    return folder_name(Path(id)) if os.path.isabs(id) else id


def served_model(
    scheme: str,
    rest: str,
    *,
    name: str | None,
    family: str | None,
    tokenizer: str | os.PathLike[str] | None,
    size: int | None,
    vocabulary: int | None,
    served_model: str | None,
    api_key: str | None,
    requests: int,
    **of_files: Any,
) -> ServedModel:
    """The model behind SCHEME:REST, an address such as http://HOST:8000/v1.

    Its tokenizer and config come from the folder or hub id that the server names as its root, or
    from `tokenizer`; S, V and family from that config, or from `size`,
    `vocabulary` and `family`. Nothing there is run.

    Raises InputError if there is no vLLM server, for several models unless one is named, without a
    tokenizer or S, and if the tokenizer is not the server's.
    """
    server = _server_at(f"{scheme}:{rest}", api_key)
    about = _about(server, served_model)
    server = replace(server, model=about.id)
    files = _files_of(about, tokenizer, server.url)
    config = None
    with suppress(Exception):  # no config there, a class that is not known
        config = read_config(files)
    if config is not None and not (size and vocabulary):
        counts = parameter_counts(config)
        size, vocabulary = size or counts.S, vocabulary or counts.V
    if not size or not vocabulary:
        raise InputError(
            f"{server.url}: S and V of {about.id} cannot be read from its config"
            f" ({about.root or 'no root'}); give --size (non-embedding parameters) and --vocabulary"
        )
    with reason(f"{server.url}: {files.tokenizer}: no tokenizer"):
        read_here = read_tokenizer(files.tokenizer)
    _check_tokenizer(server, read_here)
    notes = {"served": f"by vLLM {about.version}, in the dtype of the server"}
    quantised = getattr(config, "quantization_config", None)
    if quantised:
        notes["quantised"] = str(dict(quantised).get("quant_method", "yes"))
    # A prompt and one new token have to fit.
    context = about.max_model_len - 1
    return ServedModel(
        server=server,
        requests=requests,
        about=about,
        tokenizer=read_here,
        name=name or _name_of(about.id),
        revision=f"vllm-{about.version}:{files.revision}",
        family=family or (family_of(config) if config is not None else "served"),
        S=int(size),
        V=int(vocabulary),
        context=context if context > 0 else None,
        notes=notes,
    )


open_http = functools.partial(served_model, "http")
open_https = functools.partial(served_model, "https")


def _server_at(address: str, api_key: str | None = None) -> Server:
    """The server at an address, without a model."""
    if "@" in address:  # it would be shown
        raise InputError("the address of a server holds no user and password; give --api-key")
    url = _without_path(address)
    server, _, key = os.environ.get(KEY_VARIABLE, "").partition(" ")
    if api_key is not None or _without_path(server) != url:
        key = api_key or ""
    if not (key.isascii() and key.isprintable()):  # the library's error would show it
        raise InputError(f"the key (--api-key, or {KEY_VARIABLE}) has letters that cannot be sent")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return Server(url, "", httpx.Client(timeout=TIMEOUT, headers=headers))


def _without_path(address: str) -> str:
    return address.rstrip("/").removesuffix("/v1").rstrip("/")


def _about(server: Server, wanted: str | None) -> About:
    """What the server says of the model that is asked for, or of its only one."""
    try:
        listed = server.asked("GET", "/v1/models")
        version = server.asked("GET", "/version").get("version", "unknown")
    except JobError as error:  # nothing has begun
        raise InputError(f"{error}; is it running, and at this address?") from error
    with reason(f"{server.url}: {NO_VLLM}"):
        models = {one["id"]: one for one in listed["data"]}
    if wanted is None and len(models) == 1:
        [wanted] = models
    if wanted is None or wanted not in models:
        fault = "several models" if wanted is None else f"no model {wanted!r}"
        raise InputError(f"{server.url}: {fault}; choose --served-model {' or '.join(models)}")
    about = models[wanted]
    with reason(f"{server.url}: {NO_VLLM}"):
        root, most = about.get("root") or "", int(about.get("max_model_len") or 0)
        words = json.dumps([wanted, root, version])
        if len(words) > 1000 or not all(isinstance(one, str) for one in (wanted, root, version)):
            raise TypeError("id, root and version must be short strings")
        f"{wanted}{root}{version}".encode()
    return About(wanted, root, most, version)


def _files_of(about: About, tokenizer: str | os.PathLike[str] | None, url: str) -> Checkpoint:
    """The files that the server names, as far as they are here, with the tokenizer."""
    if about.root:
        with suppress(InputError):
            found = find_checkpoint(about.root, tokenizer=tokenizer)
            # Which commit of the hub the server has is not known.
            contents = found.contents if found.hub_id is None else (about.root, *found.contents[1:])
            return replace(found, contents=contents)
    if tokenizer is None:
        where = about.root or "the root that it names"
        raise InputError(f"{url}: no tokenizer in {where}; give --tokenizer")
    folder, content = located(tokenizer)
    name = about.root or about.id
    return Checkpoint(about.id, folder, folder, (name, content))


def _check_tokenizer(server: Server, tokenizer: Any) -> None:
    """InputError unless the server spells each token of a short text as the tokenizer does."""
    ids = tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    request = {"model": server.model, "prompt": PROBE, "add_special_tokens": False}
    answer = server.post("/tokenize", request)
    if answer.get("tokens") != ids:
        raise InputError(
            f"{server.url}: the tokenizer is not the server's: a short text has {len(ids)} tokens"
            f" here and {answer.get('count')} there; give --tokenizer"
        )
