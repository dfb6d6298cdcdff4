"""A server on this machine that speaks the OpenAI chat protocol and answers by a script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KINDS = {
    "did not satisfy the constraints": "mend",  # first: it quotes the prompt that it is about
    "analyze the complexity of each sentence": "statements",
    "judge the faithfulness": "verdicts",
    "Generate a question for the given answer": "question",
    "verify if the context was useful": "useful",
    "classify if the sentence can be attributed": "attributed",
}


@dataclass
class Asked:
    """One request: what it was for (``answer``, or one of `KINDS`), its whole prompt, and its headers."""

    kind: str
    prompt: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def input(self) -> dict[str, Any]:
        """What ragas asks to have judged."""
        return json.loads(self.prompt.split("\ninput: ")[-1].rsplit("\nOutput: ", 1)[0])


@dataclass
class Reply:
    """What comes back: by default a whole reply whose content is ``text``."""

    text: str = ""
    finish_reason: str | None = "stop"
    status: int = 200
    raw: str | None = None
    hang: bool = False
    drip: bool = False

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw.encode()
        if self.status != 200:
            return json.dumps({"error": {"message": self.text, "type": "server_error"}}).encode()
        message = {"role": "assistant", "content": self.text}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return json.dumps(
            {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [choice], "usage": usage}
        ).encode()


def as_json(**fields: Any) -> Reply:
    return Reply(json.dumps(fields))


def good(asked: Asked) -> Reply:
    """A judge that finds the first of two statements supported, contexts with `retry` useful, and half attributed."""
    match asked.kind:
        case "answer":
            return Reply("Retry sends the task again later. It costs nothing.")
        case "statements":
            return as_json(statements=["Retry sends the task again later.", "It costs nothing."])
        case "verdicts":
            given = asked.input["statements"]
            return as_json(
                statements=[{"statement": s, "reason": "", "verdict": int(i == 0)} for i, s in enumerate(given)]
            )
        case "question":
            return as_json(question="where is retry?", noncommittal=0)
        case "useful":
            return as_json(reason="", verdict=int("retry" in asked.input["context"]))
        case "attributed":
            return as_json(
                classifications=[{"statement": s, "reason": "", "attributed": a} for s, a in (("one", 1), ("two", 0))]
            )
        case _:
            return Reply("{}")


@dataclass
class Server:
    """Where it listens, and what it was asked, in order."""

    api_base: str
    asked: list[Asked] = field(default_factory=list)

    def count(self, kind: str) -> int:
        return sum(asked.kind == kind for asked in self.asked)


@contextmanager
def serve(script: Callable[[Asked], Reply] = good) -> Iterator[Server]:
    """A server for the time of a ``with`` block."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = "\n".join(m["content"] for m in body["messages"])
            kind = next((kind for said, kind in KINDS.items() if said in prompt), "answer")
            asked = Asked(kind, prompt, dict(self.headers), body)
            with lock:
                server.asked.append(asked)
                reply = script(asked)
            if reply.hang:
                over.wait(10)
                return
            data = reply.body()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            if reply.drip:  # a byte now and then: silence never lasts long enough for a client to give up
                for byte in data:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if over.wait(0.2):
                        return
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    lock = threading.Lock()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.handle_error = lambda *_: None  # a client that gave up is not an error here
    server = Server(f"http://127.0.0.1:{httpd.server_port}/v1")
    thread = threading.Thread(target=lambda: httpd.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        over.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()
