"""A language model behind an endpoint: what it is asked, how long it is waited for, and what counts as a reply."""

import asyncio
import json
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from llama_index.core.llms import ChatMessage

from rungs.errors import RunError
from rungs.settings import Endpoint

__all__ = ["Model"]

_WARMTH = 0.3  # temperature where replies must differ
_LONGEST_PAUSE = 60.0  # seconds a client waits at most between tries, where a server asks it to


class Model:
    """The endpoint's model, as we ask it (`ask`) and as ragas does (`generate`)."""

    def __init__(self, llm: Any, endpoint: Endpoint) -> None:
        self._llm = llm
        self._endpoint = endpoint
        tries = endpoint.retries + 1
        # the client's own limit is on silence; this one is on the whole, also of a reply that comes in drops
        self._longest = tries * endpoint.timeout + endpoint.retries * _LONGEST_PAUSE

    async def ask(self, messages: Sequence[ChatMessage], temperature: float = 0.0) -> str:
        """One reply, whole.

        Raises
        ------
        RunError
            When there is none within the time, or what came is no reply, empty or cut off.
        """
        import openai

        try:
            reply = await asyncio.wait_for(self._llm.achat(messages, temperature=temperature), self._longest)
            ended = reply.raw.choices[0].finish_reason
        except (openai.APITimeoutError, TimeoutError):
            tries = f", {self._endpoint.retries + 1} times" if self._endpoint.retries else ""
            raise RunError(f"no reply within {self._endpoint.timeout:g} s{tries}") from None
        except openai.APIStatusError as error:
            raise RunError(f"the server said HTTP {error.status_code}: {error.message}") from None
        except openai.APIConnectionError as error:
            raise RunError(f"the server cannot be reached ({error.__cause__ or error})") from None
        except Exception as error:  # the client meets a body that is not the protocol's in many ways
            raise RunError(f"the reply is not of the OpenAI protocol ({type(error).__name__}: {error})") from None
        if ended in ("length", "content_filter"):
            raise RunError(f"the reply was cut off by the server (finish_reason {ended!r})")
        text = reply.message.content or ""
        if not text.strip():
            raise RunError("the reply is empty")
        return text

    async def generate(
        self,
        prompt: Any,
        n: int = 1,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
        callbacks: Any = None,
    ) -> Any:
        """What ragas calls; ``n`` replies by ``n`` calls, for many servers ignore the parameter."""
        warmth = temperature if temperature is not None else (0.0 if n == 1 else _WARMTH)  # as ragas sets it
        messages = [ChatMessage(role="user", content=prompt.to_string())]
        texts = [await self._ask_json(messages, warmth) for _ in range(n)]
        return SimpleNamespace(generations=[[SimpleNamespace(text=text) for text in texts]])

    async def _ask_json(self, messages: Sequence[ChatMessage], warmth: float) -> str:
        """A reply with a whole JSON object in it; asked for again where there is none, less coldly."""
        for attempt in range(self._endpoint.retries + 1):
            found = _object_in(await self.ask(messages, max(warmth, _WARMTH) if attempt else warmth))
            if found is not None:
                return found
        raise RunError("the reply is not the JSON that was asked for")


def _object_in(text: str) -> str | None:
    """The JSON object in a reply, or ``None``, in a form that ragas reads right.

    Left to itself, ragas completes an object that was cut off and scores what had arrived, and takes a brace in a string,
    which about code is common, for the object's end.
    """
    start = text.find("{", max(text.find("```json"), 0))
    try:
        found, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, start) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return None
    if not found:
        return None
    escapes = {ord(bracket): f"\\u{ord(bracket):04x}" for bracket in "{}[]"}
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: match[0].translate(escapes), json.dumps(found))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
