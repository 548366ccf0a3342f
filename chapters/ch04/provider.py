"""What one provider wants, as data: the record that every adapter reads and no adapter tests for.

A difference between two servers that speak the same API is a field here. It is no `if` with the
name of a server in it, so that a new server is a new row in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from shared.messages import Origin


class Api(StrEnum):
    """The wire formats that this chapter speaks."""

    CHAT = "openai-chat"
    RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class Strict(StrEnum):
    """What a tool's definition says about strict decoding."""

    OMIT = "omit"  # nothing: some servers refuse a key they do not know
    OFF = "off"  # "strict": false
    ON = "on"  # true, with the schema made strict, for each tool whose schema can be


class Cache(StrEnum):
    """How long the provider is asked to keep what it has read."""

    NONE = "none"
    SHORT = "short"
    LONG = "long"


@dataclass(frozen=True, slots=True)
class IdRule:
    """Which call ids a provider takes.

    `legal` is a regular expression for a whole id, `limit` its length in characters; none may end
    with a character of `not_last`.
    """

    legal: str
    limit: int
    not_last: str = " "


ANY_ID = IdRule(r"[^|]+", 40, not_last="_")  # what the server itself sent is good enough for it
OPENAI_ID = IdRule(r"[^|]{1,40}", 40, not_last="_")
PLAIN_ID = IdRule(r"[A-Za-z0-9_-]{1,64}", 64)
RESPONSES_ID = IdRule(r"[A-Za-z0-9_-]{0,63}[A-Za-z0-9-]", 64, not_last="_")


# What an adapter or its client writes itself, by the field that could overwrite it.
OWNER = "The adapter and its client write that themselves."
_BODY = frozenset(
    {"model", "messages", "input", "contents", "tools"}
    | {"system", "instructions", "systemInstruction"}
    | {"stream", "stream_options", "background", "conversation", "previous_response_id"}
)
OWNED: Mapping[str, frozenset[str]] = {
    "token_limit_key": _BODY | {"store", "include"},
    "extra_body": _BODY,
    # x-api-key is not one of them: no client here sends it, and a gateway may want it.
    "headers": frozenset(
        {"authorization", "x-goog-api-key", "host"}
        | {"content-type", "content-length", "content-encoding", "transfer-encoding"}
    ),
}


def not_its_own(name: str, value: object) -> list[str]:
    """The keys in the `value` for the field `name` that the field may not hold."""
    owned = {key.lower(): key for key in OWNED.get(name, ())}
    keys = [value] if isinstance(value, str) else value if isinstance(value, Mapping) else ()
    return sorted({owned[key.lower()] for key in keys if key.lower() in owned})


# region: record
@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. Every field but the first three has a value that suits most servers."""

    name: str
    api: Api
    about: str  # one line, for a person
    base_url: str | None = None  # None: you have to say where it is

    # A reply: how long it may be, and under which name that is said.
    token_limit_key: str = "max_tokens"
    max_tokens: int | None = None  # None: the provider's own limit
    finish_required: bool = True  # a reply without a finish reason is half a reply
    stream_usage: bool = True  # a streamed reply tells its tokens if it is asked to (chapter 5)

    # Tools: how they are called, how many there may be, how strictly they are described.
    name_limit: int = 64  # characters
    max_tools: int | None = None  # None: as many as you like
    strict: Strict = Strict.OMIT  # say nothing of it, say no, or ask for it
    eager_input: bool = False  # arguments are sent while they are written (chapter 5)

    # Messages: what may stand where.
    system_role: str = "system"  # who says the system prompt; some want "developer"
    empty_content: Literal["", None] = ""  # beside calls without text: "" or null
    blank_text: bool = True  # a message may be blank
    images: bool = True  # can be sent at all

    # Results: how they find their call, and what they may hold.
    call_ids: bool = True  # calls and results carry ids; else their order pairs them
    ids: IdRule = ANY_ID  # which ids are taken
    result_name: bool = False  # a result repeats the name of its tool
    result_images: bool = False  # pictures stand in a result; else in a message after it
    reply_after_results: bool = False  # no user message may follow a result directly

    # Thinking, and what a provider has signed.
    echo_reasoning: bool = True  # thinking goes back to the model that thought it
    unsigned_thinking: bool = False  # also if nobody signed it
    foreign_signature: str = ""  # stands on a call that another model made, where one must

    # The request as a whole.
    cache: Cache = Cache.NONE  # how long the provider shall keep what it has read
    extra_body: Mapping[str, Any] = field(default_factory=dict)  # added to every request
    headers: Mapping[str, str] = field(default_factory=dict)  # sent with every request

    # endregion: record
    def __post_init__(self) -> None:
        """Raise ValueError for a key that is not this record's to set."""
        for name in OWNED:
            if taken := not_its_own(name, getattr(self, name)):
                raise ValueError(f"{name} may not hold {', '.join(taken)}. {OWNER}")


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a request is for: a model at a provider."""

    provider: Provider
    model: str

    @property
    def origin(self) -> Origin:
        """What a reply from there is signed with."""
        return Origin(self.provider.api, self.provider.name, self.model)
