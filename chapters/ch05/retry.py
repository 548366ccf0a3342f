"""A request that brought no reply is sent again, where that can help: a layer around the model.

It sees one request and nothing else. The tools of a turn start when the model has replied, so when
a request is sent again, none of that turn has started.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from shared.errors import ProviderError
from shared.events import Emit, RetryScheduled
from shared.messages import AssistantMessage, Request
from shared.ports import Clock, Model, ModelLayer

# What the message about too many requests advises somebody who has not waited yet.
WAIT = re.compile(r"Wait (a little|[0-9.e+-]+ seconds), then try again\.")


# region: patience
@dataclass(frozen=True, slots=True)
class Patience:
    """How often one request is sent, and how long the waits between may be, in seconds.

    An answer that nobody can read is asked for less often: whoever sent it will send it again.
    """

    requests: int = 3
    unreadable: int = 2
    longest_asked: float = 60.0  # of the waits that a provider asks for
    first: float = 0.5  # of the others; each is twice as long as the one before
    longest: float = 8.0

    def wait(self, failed: Counter[str], error: ProviderError, chance: float) -> float | None:
        """How long to wait before the request is sent again; None if it is not.

        `failed` counts the requests so far by the kind of their error, `error` is the last one,
        `chance` is from 0 to 1: clients that failed together do not come back together.
        """
        if not error.retryable or failed.total() >= self.requests:
            return None
        if failed["bad_response"] >= self.unreadable:
            return None
        if error.retry_after:
            return error.retry_after if error.retry_after <= self.longest_asked else None
        doubled = min(failed.total() - 1, 30)
        return float(min(self.first * 2**doubled, self.longest) * (0.75 + 0.25 * chance))


USUAL = Patience()
# endregion: patience


# region: retry
class Retrying:
    """A model that is asked again after an error that may pass.

    Pieces of a reply that broke off have been told by then, with a ReplyEnded that holds the error:
    they are thrown away, and the whole reply is asked for again. Raises the last error.
    """

    def __init__(self, model: Model, clock: Clock, patience: Patience) -> None:
        self._model = model
        self._clock = clock
        self._patience = patience

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """The first whole reply. Can be cancelled at any time, also while it waits."""
        failed: Counter[str] = Counter()
        while True:
            try:
                return await self._model.reply(request, emit)
            except ProviderError as error:
                failed[error.kind] += 1
                wait = self._patience.wait(failed, error, self._clock.random())
                if wait is None:
                    self._explain(error, failed.total())
                    raise
                emit(RetryScheduled(failed.total() + 1, wait, error))
            await self._clock.sleep(wait)

    def _explain(self, error: ProviderError, requests: int) -> None:
        """Add to the message what the person cannot see: what was tried, and what was not."""
        said = str(error)
        asked = error.retry_after or 0
        if error.retryable and asked > self._patience.longest_asked:
            wait = f"{asked:g} seconds"
            named = f"Wait {wait}" in said
            said = _ended(said) + (
                f"{'' if named else f' It wants to be left alone for {wait}.'} That is longer than "
                f"the {self._patience.longest_asked:g} seconds this program waits, so it was not "
                "tried again."
            )
        elif requests > 1:  # it has waited: that is no advice any more
            said = WAIT.sub("Waiting did not help: try again later.", said, count=1)
        if requests > 1:
            said = f"{_ended(said)} (The request was sent {requests} times.)"
        error.args = (said,)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", ")")) else f"{text}."


def retrying(clock: Clock, patience: Patience = USUAL) -> ModelLayer:
    """The layer that sends a request again. It waits by `clock`."""
    return ModelLayer("retry", lambda model: Retrying(model, clock, patience))


# endregion: retry
