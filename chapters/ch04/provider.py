"""What one provider wants, as data: the record that every adapter reads and no adapter tests for.

A difference between two servers that speak the same API is a field here. It is no `if` with the
name of a server in it, so that a new server is a new row in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

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


# region: record
@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. Every field but the first three has a value that suits most servers."""

    name: str
    api: Api
    about: str  # one line, for a person
    base_url: str | None = None  # None: you have to say where it is
    token_limit_key: str = "max_tokens"
    max_tokens: int | None = None  # of a reply; None: the provider's own limit
    system_role: str = "system"
    empty_content: str | None = ""  # beside calls without text: "" or null
    strict: Strict = Strict.OMIT
    images: bool = True  # can be sent at all
    result_images: bool = False  # can stand in a tool result; else in a user message after it
    result_name: bool = False  # a result repeats the name of its tool
    reply_after_results: bool = False  # no user message may follow a result directly
    echo_reasoning: bool = True  # thinking goes back to the model that thought it
    unsigned_thinking: bool = False  # thinking goes back though nobody signed it
    foreign_signature: str = ""  # stands on a call that another model made, where one must
    call_ids: bool = True  # calls and results carry ids; else their order pairs them
    ids: IdRule = ANY_ID
    blank_text: bool = True  # a message may be blank
    finish_required: bool = True  # a reply without a finish reason is half a reply
    cache: Cache = Cache.NONE
    eager_input: bool = False  # arguments are sent while they are written
    name_limit: int = 64
    max_tools: int | None = None  # on offer; None: as many as you like
    extra_body: Mapping[str, Any] = field(default_factory=dict)  # added to every request
    headers: Mapping[str, str] = field(default_factory=dict)


# endregion: record


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a request is for: a model at a provider."""

    provider: Provider
    model: str

    @property
    def origin(self) -> Origin:
        """What a reply from there is signed with."""
        return Origin(self.provider.api, self.provider.name, self.model)
