"""A model behind a vLLM server, seen through its HTTP interface.

If a model needs more than one machine has, it runs under vLLM, and the server ranks each token of
a prompt (`prompt_logprobs`): its rank counts tokens with a log-probability of at least the
target's, which is Eq. 3. A request is one document as token ids, so server and `rbpkit` cannot
tokenize differently.
"""

from __future__ import annotations

import functools
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
from rbpkit.errors import InputError, reason
from rbpkit.names import folder_name
from rbpkit.ranker import Ranker

TIMEOUT = httpx.Timeout(600, connect=10)
"""Seconds: a server under load may keep a request waiting for minutes."""
PAUSES = (1, 2, 4, 8)
"""Seconds before a request is tried again; five failures in a row end the measurement."""
PROBE = "The quick brown fox jumps over the lazy dog, and 12 ducks watch."
KEY_VARIABLE = "RBPKIT_API_KEY"
"""The server that the key is for, and the key: "https://HOST:PORT KEY"."""


class About(NamedTuple):
    """What a server says of a model; root: the folder or hub id of its files, or ""."""

    id: str
    root: str
    max_model_len: int
    version: str


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
        ask = functools.partial(self.server.prompt_scores, self.about.id)
        with ThreadPoolExecutor(self.requests) as pool:
            answers = list(pool.map(ask, prompts))

        scores = []
        for row, column in zip(batch.rows, batch.columns, strict=True):
            scores.append(answers[row][column])
        rank, nll, p_max = np.array(scores).T
        return {"n_greater": rank.astype(np.int32) - 1, "nll": nll, "p_max": p_max}

    def check_unchanged(self) -> None:
        """InputError if the server says something else of its model than before."""
        now = self.server.about(self.about.id)
        if now != self.about:
            raise InputError(f"{self.server.url}: was another model before, and is now {now}")


@dataclass(frozen=True)
class Server:
    """A vLLM server: its address, and a client that keeps connections."""

    url: str
    client: httpx.Client = field(repr=False)

    def ask(self, path: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON that a request gives, which is sent again while the server is down or busy.

        request: what is posted; None for a page that is only read. Raises InputError.
        """
        for pause in (*PAUSES, None):
            with reason(f"{self.url}: no answer of a vLLM server"):
                method = "GET" if request is None else "POST"
                try:
                    answer = self.client.request(method, f"{self.url}{path}", json=request)
                    if answer.status_code != 429 and answer.status_code < 500:
                        return dict(answer.raise_for_status().json())
                    fault = f"status {answer.status_code}"
                except httpx.TransportError as error:
                    fault = str(error)
            if pause is not None:
                time.sleep(pause)
        raise InputError(f"{self.url}: no answer ({fault}); the same command goes on later")

    def about(self, wanted: str | None = None) -> About:
        """What the server says of the model that is asked for, or of its only one."""
        listed = self.ask("/v1/models")
        version = self.ask("/version")
        with reason(f"{self.url}: not a vLLM server"):
            models = {one["id"]: one for one in listed["data"]}
            if wanted is None and len(models) == 1:
                [wanted] = models
            if wanted not in models:
                raise InputError(f"{self.url}: choose --served-model {' or '.join(models)}")
            model = models[wanted]
            length = int(model.get("max_model_len") or 0)
            return About(model["id"], model.get("root") or "", length, str(version["version"]))

    def prompt_scores(self, model: str, ids: list[int]) -> list[tuple[int, float, float]]:
        """(rank, nll, p_max) of each token of a prompt but the first."""
        request = {
            "model": model,
            "prompt": ids,
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 1,
        }
        answer = self.ask("/v1/completions", request)
        scores = []
        with reason(f"{self.url}: no prompt_logprobs of the {len(ids)} tokens that were sent"):
            places = answer["choices"][0]["prompt_logprobs"]
            for place, token_id in zip(places, ids, strict=True):
                if place is None:  # nothing stands before the first token
                    continue
                target = place[str(token_id)]
                largest = max(one["logprob"] for one in place.values())
                scores.append((target["rank"], -target["logprob"], float(np.exp(largest))))
        return scores


def open_server(
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
    url = f"{scheme}:{rest}".rstrip("/").removesuffix("/v1")
    # The address may be from somebody's parameter file, and the key goes to no other server.
    its_server, _, its_key = os.environ.get(KEY_VARIABLE, "").partition(" ")
    key = api_key or (its_key if url == its_server.rstrip("/").removesuffix("/v1") else "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    server = Server(url, httpx.Client(timeout=TIMEOUT, headers=headers))
    about = server.about(served_model)
    files = _files_of(about, tokenizer, url)
    with suppress(Exception):  # no config there, a class that is not known
        config = read_config(files)
        family = family or family_of(config)
        if not (size and vocabulary):
            counts = parameter_counts(config)
            size, vocabulary = size or counts.S, vocabulary or counts.V
    if not size or not vocabulary:
        raise InputError(f"{url}: no config of {about.id} here: give --size and --vocabulary")
    with reason(f"{url}: {files.tokenizer}: no tokenizer"):
        read_here = read_tokenizer(files.tokenizer)
    _check_tokenizer(server, about.id, read_here)
    # A prompt and one new token have to fit.
    context = about.max_model_len - 1
    # One that is served under its path is called as any folder.
    its_name = folder_name(Path(about.id)) if os.path.isabs(about.id) else about.id
    return ServedModel(
        server=server,
        requests=requests,
        about=about,
        tokenizer=read_here,
        name=name or its_name,
        revision=f"vllm-{about.version}:{files.revision}",
        family=family or "served",
        S=size,
        V=vocabulary,
        context=context if context > 0 else None,
        notes={"served": f"by vLLM {about.version}, in the dtype of the server"},
    )


open_http = functools.partial(open_server, "http")
open_https = functools.partial(open_server, "https")


def _files_of(about: About, tokenizer: str | os.PathLike[str] | None, url: str) -> Checkpoint:
    """The files that the server names, as far as they are here, with the tokenizer."""
    if about.root:
        with suppress(InputError):
            found = find_checkpoint(about.root, tokenizer=tokenizer)
            # Which commit of the hub the server has is not known.
            contents = found.contents if found.hub_id is None else (about.root, *found.contents[1:])
            return replace(found, contents=contents)
    if tokenizer is None:
        raise InputError(f"{url}: no tokenizer in its root {about.root!r} here; give --tokenizer")
    folder, content = located(tokenizer)
    name = about.root or about.id
    return Checkpoint(about.id, folder, folder, (name, content))


def _check_tokenizer(server: Server, model: str, tokenizer: Any) -> None:
    """InputError unless the server spells each token of a short text as the tokenizer does."""
    ids = tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    request = {"model": model, "prompt": PROBE, "add_special_tokens": False}
    if server.ask("/tokenize", request).get("tokens") != ids:
        raise InputError(f"{server.url}: the tokenizer is not the server's; give --tokenizer")
