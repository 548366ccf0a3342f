"""An answer of Gemini that is no reply. Google says in the body what others say around it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chapters.ch01.endpoint import Endpoint
from chapters.ch01.provider_errors import (
    error_inside,
    error_object,
    redirected,
    refused,
    said_by,
    wait_of,
)
from shared.errors import ProviderError

if TYPE_CHECKING:
    import httpx2


# region: judged
def judged(endpoint: Endpoint, answer: httpx2.Response) -> tuple[int, bytes]:
    """Status and body of an answer. Raises ProviderError for one with an error status."""
    status = answer.status_code
    if answer.is_success:
        return status, answer.content
    if answer.has_redirect_location:
        raise redirected(endpoint, status, answer.headers["location"])
    raise refusal(endpoint, status, error_body(answer), wait_of(answer.headers))


def refusal(
    endpoint: Endpoint, status: int, body: object, wait: float | None = None
) -> ProviderError:
    """What an error object means that came with a status."""
    details = details_of(body)
    if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
        # It comes with status 400, and would be called a request that was not understood.
        return error_inside(endpoint, status, {"type": "API_KEY_INVALID", "message": said_by(body)})
    return refused(endpoint, status, body, retry_delay(details) if wait is None else wait)


def error_body(answer: httpx2.Response) -> object:
    """The error object of an answer, or its text if it is no JSON."""
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        return answer.content.decode("utf-8", "replace")
    return error_object(body[0] if isinstance(body, list) and body else body)


def details_of(body: object) -> list[Mapping[str, Any]]:
    """What an error object says besides its sentence."""
    details = body.get("details") if isinstance(body, Mapping) else None
    if not isinstance(details, list):
        return []
    return [detail for detail in details if isinstance(detail, Mapping)]


def retry_delay(details: list[Mapping[str, Any]]) -> float | None:
    """How many seconds to wait: Google writes it into the body and not into a header."""
    for detail in details:
        match = re.fullmatch(r"([0-9]{1,9}(\.[0-9]{1,9})?)s", str(detail.get("retryDelay", "")))
        if match:
            return float(match[1])
    return None


# endregion: judged
