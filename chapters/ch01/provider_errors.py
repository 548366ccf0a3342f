"""There was an answer, and it is not a reply: what that means, and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from chapters.ch01.endpoint import Endpoint
from shared.errors import ConfigError, ProviderError

# Statuses after which the same request may succeed, besides all from 500 on.
TEMPORARY = {408, 409, 425, 429}

# Looked for in the provider's code and type. Its sentence is no sign: some say "check your plan and
# billing" of a limit that is over in a minute.
NO_CREDIT = re.compile(r"(?i)insufficient.?(quota|balance|credit|funds)|billing|arrear")

# Looked for in all the provider says: there is no common code for it.
TOO_LONG = re.compile(
    r"(?i)context.?(length|size|window)|maximum context|too many (input )?tokens|prompt is too long"
)

# What an error inside an answer of status 200 says of itself, first match first.
MEANT = (
    (r"(?i)rate.?limit|too.?many", 429),
    (r"(?i)permission", 403),
    (r"(?i)auth|api.?key", 401),
    (r"(?i)too.?large", 413),
    (r"(?i)not.?found", 404),
    (r"(?i)invalid|bad.?request|context", 400),
)


# region: refused
def refused(
    endpoint: Endpoint, status: int, body: object, wait: float | None = None
) -> ProviderError:
    """The provider answered with an error status, and perhaps with the seconds to `wait`."""
    return _from_provider(endpoint, status, status, body, wait)


def wait_of(headers: Mapping[str, str]) -> float | None:
    """How many seconds the provider wants to be left alone, if its headers say so."""
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    wait = headers.get("retry-after", "")
    seconds = _seconds(wait)
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(wait)
        return max(0.0, (until - datetime.now(until.tzinfo)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,300}(\.[0-9]{1,300})?", text) else None


def redirected(endpoint: Endpoint, status: int, target: str) -> ProviderError:
    """The provider sends the client on to `target`, its Location header, and nobody went there."""
    asked = endpoint.base_url.rstrip("/") + endpoint.path
    try:
        there = replace(endpoint, base_url=urljoin(asked, target))
        there.check()
    except (ValueError, ConfigError):  # it leads nowhere
        return refused(endpoint, status, None)
    address = there.address.removesuffix("/").removesuffix(endpoint.path)
    if address == endpoint.address.removesuffix("/"):  # it leads to where we are
        return refused(endpoint, status, None)
    host = endpoint.quote(urlsplit(there.base_url).hostname or "")
    return ProviderError(
        f"{endpoint.address} sends you on to the host {host}. Nothing was sent there: it would "
        f"have got the whole conversation. If you trust {address}, put that address into "
        f"{endpoint.url_variable}; if it is a page to sign in, do that first, or check your proxy. "
        f"(HTTP {status})",
        kind="provider",
        status=status,
    )


def error_inside(endpoint: Endpoint, status: int, body: object) -> ProviderError:
    """The provider answered that all is well, and what it sent is an error."""
    error = _from_provider(endpoint, status, status_meant_by(body), body, None)
    error.status = status_in(body) or status
    return error


def error_in(body: object) -> object:
    """The error in an answer of status 200, or None: under its key, or all of the answer."""
    if not isinstance(body, Mapping):
        return None
    if "error" in (body.get("object"), body.get("type")) and not body.get("error"):
        return body
    return body.get("error") or None


def status_in(body: object) -> int | None:
    """The number of an HTTP status that an error object holds as its code, or None."""
    code = body.get("code") if isinstance(body, Mapping) else None
    return int(str(code)) if re.fullmatch("[45][0-9]{2}", str(code)) else None


def status_meant_by(body: object) -> int:
    """The HTTP status that an error object should have come with; 500 if it does not tell."""
    if status := status_in(body):
        return status
    words = code_of(body)
    return next((status for pattern, status in MEANT if re.search(pattern, words)), 500)


def _from_provider(
    endpoint: Endpoint, status: int, meant: int, body: object, wait: float | None
) -> ProviderError:
    body = error_object(body)
    said, code = said_by(body), code_of(body)
    out_of_credit = meant == 402 or NO_CREDIT.search(code) is not None
    too_long = meant in (400, 413, 422) and TOO_LONG.search(f"{code} {said}") is not None
    if out_of_credit:
        advice = (
            "The account has no credit or quota left. Waiting does not help: check the plan and "
            f"billing of the account that {endpoint.key_variable} belongs to."
        )
    elif too_long:
        advice = (
            "The conversation is longer than the model can read. Start again with a smaller task, "
            f"or choose a model that reads more ({endpoint.model_variable})."
        )
    else:
        advice = advice_for(endpoint, meant, wait)
        if meant in (400, 422) and (more := endpoint.advice(said)):
            advice += f" {more}"
    quoted = f" The provider says: {endpoint.quote(said)}" if said.strip() else ""
    return ProviderError(
        f"{advice} (HTTP {status}){quoted}",
        kind="provider",
        status=status,
        retry_after=wait,
        code=_word(body, "code"),
        type=_word(body, "type") or _word(body, "status"),
        retryable=not (out_of_credit or too_long) and (meant in TEMPORARY or meant >= 500),
    )


def advice_for(endpoint: Endpoint, status: int, wait: float | None) -> str:
    """What an HTTP status means here, and what to do."""
    model = endpoint.quote(endpoint.model)  # a key in the wrong variable is a key all the same
    if status == 401:
        return (
            f"The key was not accepted. Check {endpoint.key_variable}: is it for "
            f"{endpoint.address}?"
        )
    if status == 403:
        return (
            f"The provider does not allow this. Check {endpoint.key_variable}, and that its "
            f"account may use the model '{model}' ({endpoint.model_variable})."
        )
    if status == 404:
        return (
            f"There is no such model or address. Check {endpoint.model_variable}, now '{model}', "
            f"and {endpoint.url_variable}, now {endpoint.address}: it usually {endpoint.usually}, "
            f"without {endpoint.path}."
        )
    if status in (400, 422):
        return (
            f"The provider did not understand the request. Check that '{model}' "
            f"({endpoint.model_variable}) is one of its models, and one that can call tools."
        )
    if status == 413:
        return "The request is too large. Start again with a smaller task."
    if status == 429:
        after = "a little" if wait is None else f"{wait:g} seconds"
        return f"Too many requests. Wait {after}, then try again."
    if status in TEMPORARY or status >= 500:
        return (
            "The provider, or a proxy on the way to it, has a problem. Try again in a moment. If "
            f"it stays, check {endpoint.url_variable}, now {endpoint.address}."
        )
    return (
        f"No chat provider answers like this. Check {endpoint.url_variable}, now "
        f"{endpoint.address}: it usually {endpoint.usually}."
    )


def said_by(body: object) -> str:
    """The sentence in an error body, wherever this provider puts it; else the body as it is."""
    for _ in range(3):
        if not isinstance(body, Mapping):
            break
        found = [body[key] for key in ("message", "error", "detail", "msg") if body.get(key)]
        if not found:
            break
        body = found[0]
    if body is None or isinstance(body, str):
        return body or ""
    try:
        return json.dumps(body, ensure_ascii=False)
    except RecursionError:
        return ""


def error_object(body: object) -> object:
    """The error in an error body: most providers put it one level down."""
    inner = body.get("error") if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else body


def code_of(body: object) -> str:
    """Code, type and status of an error object, as one text to search in."""
    return " ".join(filter(None, [_word(body, name) for name in ("code", "type", "status")]))


def _word(body: object, name: str) -> str | None:
    value = body.get(name) if isinstance(body, Mapping) else None
    return str(value) if isinstance(value, (str, int)) else None


# endregion: refused


# region: unreadable
def unreadable(endpoint: Endpoint, status: int, content: bytes, reason: str) -> ProviderError:
    """The answer is not what a chat provider sends: a web page, half a reply, nothing."""
    page = endpoint.quote(content.decode("utf-8", "replace"))
    if page:
        begins = f"It begins: {page}"
    elif content:  # of something endless, only the beginning was looked at
        begins = f"It begins with white space, {len(content):,} bytes in all."
    else:
        begins = "It is empty."
    return ProviderError(
        f"The answer from {endpoint.address} is not {endpoint.answer}: {reason}. Perhaps a proxy "
        f"answered, or the address is that of a web page: check {endpoint.url_variable}, it "
        f"usually {endpoint.usually}. (HTTP {status}) {begins}",
        kind="bad_response",
        status=status,
        retryable=True,
    )


def too_large(endpoint: Endpoint, status: int, limit: int) -> ProviderError:
    """The answer did not end within `limit` bytes, and was not read further."""
    return ProviderError(
        f"The answer from {endpoint.address} is longer than {limit // 1_000_000} MB, so it is not "
        f"{endpoint.answer}, and the rest of it was not read. Perhaps the address is that of a "
        f"file or a web page: check {endpoint.url_variable}, it usually {endpoint.usually}. "
        f"(HTTP {status})",
        kind="bad_response",
        status=status,
    )


# endregion: unreadable
