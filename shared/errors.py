"""The ways a run can end other than well, and the one way a tool can fail.

A `RunError` is for the program that started the run. A `ToolError` is for the model: the dispatcher
turns it into a tool result and the run goes on.
"""

from __future__ import annotations


class WorkbookError(Exception):
    """A problem with a message for a person: what happened and what to do about it."""


class ConfigError(WorkbookError):
    """A setting is missing or malformed; the message names the variable."""


class PairingError(WorkbookError):
    """A history in which calls and results do not match; the message names the call id."""


class RunError(WorkbookError):
    """A run that ended without an answer."""


class TurnLimitReached(RunError):
    """The model was asked as often as allowed and still wants to go on."""

    def __init__(self, max_turns: int) -> None:
        requests = "1 request" if max_turns == 1 else f"{max_turns} requests"
        super().__init__(
            f"Stopped after {requests} without a final answer. "
            "Raise the limit with --max-turns, or give a smaller task."
        )
        self.max_turns = max_turns


class ReplyCutOff(RunError):
    """The reply hit the output limit before it said anything complete. `text` is what came."""

    def __init__(self, text: str) -> None:
        super().__init__(
            "The reply was cut off at the model's output limit, so it is not an answer. "
            "Ask for something shorter, or raise the limit at the provider."
        )
        self.text = text


class ReplyRefused(RunError):
    """The model or its provider declined to answer. Asking the same again will not help."""

    def __init__(self, finish: str, text: str) -> None:
        super().__init__(f"The request was refused ({finish or 'refusal'}). Rephrase the task.")
        self.finish = finish
        self.text = text


class ReplyIncomplete(RunError):
    """The reply ended without a finish reason, or with one nobody knows: it may be half a reply."""

    def __init__(self, finish: str, text: str) -> None:
        what = f"with an unknown finish reason {finish!r}" if finish else "without a finish reason"
        super().__init__(f"The reply ended {what}, so it may be incomplete. Try again.")
        self.finish = finish
        self.text = text


class EmptyReply(RunError):
    """The reply holds neither text nor a call: there is nothing to show and nothing to do."""

    def __init__(self) -> None:
        super().__init__("The model replied with neither text nor a tool call. Try again.")


class ProviderError(RunError):
    """A provider could not be reached, refused the request, or answered with something else.

    `kind` is one of connection, timeout, provider, bad_response, incomplete_stream; `status` is the
    HTTP status if there was one; `retryable` says whether the same request may succeed later, and
    `retry_after` after how many seconds, if the provider said so. `code` and `type` are the
    provider's own words.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        code: str | None = None,
        type: str | None = None,  # noqa: A002 (the field's own name)
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.code = code
        self.type = type


class ToolError(Exception):
    """A tool failed in a way the model can react to.

    `code` is stable (tests and models rely on it); the message says what went wrong and what to do
    next, and holds no secret and no path of the host.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
