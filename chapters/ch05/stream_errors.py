"""A stream that is none, that breaks, or that ends before the reply does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from chapters.ch01.connection import Sdk
from chapters.ch01.connection_errors import causes, too_far, too_slow, unreachable
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.provider_errors import (
    error_inside,
    error_object,
    redirected,
    refused,
    too_large,
    unreadable,
    wait_of,
)
from shared.errors import ProviderError


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a reply may take: `whole` until its end, `idle` without any byte, in seconds.

    `connect` is for reaching the server.
    """

    whole: float
    idle: float
    connect: float


# region: failure
def failure_of(
    endpoint: Endpoint, sdk: Sdk, error: BaseException, limits: Limits
) -> ProviderError | None:
    """What went wrong with a request or with its stream; None for a bug, which is none of that.

    The clients do not agree on their exceptions, and in the middle of a stream those of the layers
    below come out as they are.
    """
    import httpx2

    from chapters.ch05.streaming_client import Packed, TooLong

    package = sdk.package
    if isinstance(error, TimeoutError):
        return too_slow(endpoint, limits.whole)
    for cause in causes(error):  # one client wraps whatever the layer below it raises
        if isinstance(cause, TooLong):
            return too_large(endpoint, cause.status, cause.limit)
        if isinstance(cause, Packed):
            return packed(endpoint, cause.status, cause.encoding)
    if isinstance(error, package.APIStatusError):
        return with_status(endpoint, error)
    if isinstance(error, package.APITimeoutError | httpx2.TimeoutException):
        far = any(isinstance(cause, httpx2.ConnectTimeout) for cause in causes(error))
        return too_far(endpoint, limits.connect) if far else silent(endpoint, limits.idle)
    if isinstance(error, package.APIConnectionError | httpx2.HTTPError | httpx2.StreamError):
        return unreachable(endpoint, error)
    if isinstance(error, package.APIError):  # the client found an error in an event
        return error_inside(endpoint, 200, error_object(error.body))
    if isinstance(error, ValueError | RecursionError):
        return unreadable_event(endpoint, "an event of it is not JSON")
    return None


# endregion: failure


def with_status(endpoint: Endpoint, error: Any) -> ProviderError:
    """The client met an error status, or an error event, which has the status of its stream."""
    response, status = error.response, error.status_code
    if response.is_success:
        return error_inside(endpoint, status, error_object(error.body))
    if response.has_redirect_location:
        return redirected(endpoint, status, response.headers["location"])
    return refused(endpoint, status, error.body, wait_of(response.headers))


def silent(endpoint: Endpoint, seconds: float) -> ProviderError:
    """Nothing came for `seconds`, not even a sign that the server is still there."""
    return ProviderError(
        f"{endpoint.address} sent nothing for {seconds:g} seconds, so nothing of its reply was "
        f"used. Try again, or choose a faster model ({endpoint.model_variable}).",
        kind="timeout",
        retryable=True,
    )


def packed(endpoint: Endpoint, status: int, encoding: str) -> ProviderError:
    """The answer is compressed, though it was asked for as it is; none of it was read."""
    if status >= 400:
        return refused(endpoint, status, None)
    return ProviderError(
        f"The answer from {endpoint.address} is packed ({endpoint.quote(encoding)}), though it was "
        "asked for unpacked, and was not read. Perhaps a proxy packs it: switch that off, or use "
        f"the agent of chapter 4. (HTTP {status})",
        kind="bad_response",
        status=status,
        retryable=True,
    )


def no_stream(endpoint: Endpoint, status: int, kind: str, content: bytes) -> ProviderError:
    """The answer is of another kind: a page, an error, or a reply in one piece."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict) and body.get("error"):
        return error_inside(endpoint, status, error_object(body))
    if isinstance(body, dict):
        begins = endpoint.quote(content.decode("utf-8", "replace"))
        return ProviderError(
            f"{endpoint.address} was asked for a stream, and its answer is one piece of JSON. "
            "Perhaps the server, or a proxy on the way to it, cannot stream: use the agent of "
            f"chapter 4. (HTTP {status}) It begins: {begins}",
            kind="bad_response",
            status=status,
            retryable=True,
        )
    called = endpoint.quote(kind) or "not named"
    reason = f"it does not come as events (its type is {called})"
    return unreadable(endpoint, status, content, reason)


def no_event(endpoint: Endpoint, status: int, beginning: bytes) -> ProviderError:
    """The stream came to its end, and there was no event in it."""
    reason = (
        "it has no event in it. The server may be one that cannot stream: then use the agent of "
        "chapter 4"
    )
    return unreadable(endpoint, status, beginning, reason)


def incomplete(endpoint: Endpoint, begun: bool) -> ProviderError:
    """The stream ended, and nobody said that the reply had."""
    if not begun:
        return no_event(endpoint, 200, b"")
    return ProviderError(
        f"The reply from {endpoint.address} broke off: it ended without a reason, so nothing of it "
        "was used. Try again. If it happens every time, this server gives no reason: set "
        f"{endpoint.prefix}FINISH_REQUIRED=false.",
        kind="incomplete_stream",
        retryable=True,
    )


def unreadable_event(endpoint: Endpoint, reason: str) -> ProviderError:
    """An event that is not of this API, in the middle of a reply or at its beginning."""
    return ProviderError(
        f"The answer from {endpoint.address} cannot be read: {reason}. Nothing of it was used. "
        f"Try again; if it stays, check {endpoint.url_variable}.",
        kind="bad_response",
        retryable=True,
    )
