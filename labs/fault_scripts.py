"""What a provider sends that fails in one way or another: the scripts of the faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shared.provider_server import Answer, Ending, Received, Script, completion, wire_call
from shared.provider_stream import DONE, sse, stream_of, streamed

HALF = 9  # events of a reply: the arguments have begun, and are not whole
PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>Welcome</body></html>"


@dataclass(frozen=True, slots=True)
class Names:
    """The files of a run: `spoilt` must never be there, `whole` is what is really to be written.

    `word` is what the files are to hold, new in every run.
    """

    word: str

    @property
    def spoilt(self) -> str:
        """What a spoilt reply wants to write."""
        return f"spoilt-{self.word}.txt"

    @property
    def whole(self) -> str:
        """What a whole reply wants to write."""
        return f"{self.word}.txt"

    @property
    def second(self) -> str:
        """What a second call of a whole reply wants to write."""
        return f"{self.word}-2.txt"


# The replies


def write(path: str, names: Names, *, id: str = "call_1") -> dict[str, Any]:  # noqa: A002
    """A call that writes the word to a file."""
    return wire_call(id, "write_file", {"path": path, "content": f"{names.word}\n"})


def asks(path: str, names: Names, **options: Any) -> dict[str, Any]:
    """A reply that wants to write a file."""
    return completion(write(path, names, **options), text="I will write it down.")


def spoilt(names: Names) -> list[bytes]:
    """The events of the reply that does not arrive as it should."""
    return stream_of(asks(names.spoilt, names))


def rest(names: Names) -> tuple[Script, Script]:
    """A whole reply with a call, and the answer after it."""
    return whole(asks(names.whole, names, id="call_2")), final(names)


def whole(reply: dict[str, Any]) -> Answer:
    """A reply that arrives as it should."""
    return streamed(*stream_of(reply))


def final(names: Names) -> Script:
    """The reply that asks for nothing more: it says what the last result says."""

    def answer(received: Received) -> Answer:
        last = received.body["messages"][-1]["content"]
        done = f"Done. The word is {names.word}." if last.startswith("Wrote") else "Not written."
        return whole(completion(text=done))

    return answer


# The faults


def cut_off(names: Names) -> Sequence[Script]:
    """Two calls; the first is whole, the second is not."""
    later = write(names.spoilt, names, id="call_b")
    later["function"]["arguments"] = later["function"]["arguments"][:-9]
    reply = completion(write(names.spoilt, names), later, text="I will write.", finish="length")
    return whole(reply), *rest(names)


def drop(names: Names) -> Sequence[Script]:
    """The connection is closed in the middle of the arguments."""
    return streamed(*spoilt(names)[:HALF], ending=Ending.DROPPED), *rest(names)


def stall(names: Names) -> Sequence[Script]:
    """Nothing more comes, and the connection stays open."""
    return streamed(*spoilt(names)[:HALF], ending=Ending.HANGING), *rest(names)


def half_json(names: Names) -> Sequence[Script]:
    """The reply ends as it should, and the arguments of its call do not."""
    call = write(names.spoilt, names)
    call["function"]["arguments"] = call["function"]["arguments"][:-9]
    return whole(completion(call, text="I will write it down.")), *rest(names)


def no_finish(names: Names) -> Sequence[Script]:
    """All events but those that say how the reply ended."""
    return streamed(*spoilt(names)[:-3], DONE), *rest(names)


def duplicate_id(names: Names) -> Sequence[Script]:
    """Two calls, both whole, with one id."""
    both = [write(names.whole, names), write(names.second, names)]
    return whole(completion(*both, text="I will write twice.")), final(names)


def too_many(names: Names) -> Sequence[Script]:
    """Twice there is no reply, but a wait."""
    body = {"error": {"message": "Slow down", "code": "rate_limit_exceeded"}}
    limited = [Answer(body, 429, headers={"retry-after": wait}) for wait in ("1", "0.5")]
    return *limited, *rest(names)


def error_inside(names: Names) -> Sequence[Script]:
    """A status of 200, the beginning of a reply, and then an error."""
    error = {"error": {"message": "The server is overloaded", "type": "overloaded_error"}}
    return streamed(*spoilt(names)[:HALF], sse(error), DONE), *rest(names)


def html(names: Names) -> Sequence[Script]:
    """A web page, whatever is asked."""
    return (Answer(PAGE, content_type="text/html"),) * 3
