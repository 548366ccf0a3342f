"""What goes wrong between an agent and its provider, by name, and what must come of it.

In each of them the model wants to write one file, and its reply is spoilt on the way. The file that
a spoilt reply names is not the one that a whole reply names, so it can be seen which of them ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labs.fault_scripts import (
    Names,
    cut_off,
    drop,
    duplicate_id,
    error_inside,
    half_json,
    html,
    no_finish,
    stall,
    too_many,
)
from shared.errors import WorkbookError
from shared.provider_server import Script


class UnknownFault(WorkbookError):
    """Somebody asked for a fault that does not exist."""


# region: fault
@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what goes wrong, what must happen, and what the server answers.

    `requests` is how many requests it gets in all. `again` are the kinds of the errors after which
    the same request is sent again, `waits` the seconds before that, where the provider names them.
    `codes` are those of the results that the model is told, None for a success. `kind` is that of
    the error a run ends with, None if it ends with an answer. `asked` are the files that a person
    is asked about, and that are written. `first_id` is the id that the first call keeps, where that
    is what matters. `idle` is how many seconds the client waits for the next piece.
    """

    wrong: str
    must: str
    script: Callable[[Names], Sequence[Script]]
    requests: int
    asked: tuple[str, ...] = ("whole",)
    again: tuple[str, ...] = ()
    codes: tuple[str | None, ...] = (None,)
    waits: tuple[float, ...] | None = None
    kind: str | None = None
    first_id: str | None = None
    idle: float = 10.0


# endregion: fault


def fault_named(name: str) -> Fault:
    """The fault of that name. Raises UnknownFault, which lists the names."""
    if name not in FAULTS:
        raise UnknownFault(f"There is no fault {name!r}. The faults are: {', '.join(FAULTS)}.")
    return FAULTS[name]


# region: faults
FAULTS = {
    "cut-off": Fault(
        "The reply reaches the output limit. Its first call is whole, its second is not.",
        "Neither of them runs. The model is told that its reply was cut off, and asks once more.",
        cut_off,
        requests=3,
        codes=("reply_cut_off", "reply_cut_off", None),
    ),
    "drop": Fault(
        "The connection is closed in the middle of a call's arguments.",
        "Nothing of that reply runs or is kept. The same request is sent again.",
        drop,
        requests=3,
        again=("connection",),
    ),
    "stall": Fault(
        "In the middle of a call's arguments nothing more comes; the connection stays open.",
        "The agent does not wait for ever: it hangs up, runs nothing, and sends the request again.",
        stall,
        requests=3,
        again=("timeout",),
        idle=0.7,
    ),
    "half-json": Fault(
        "The reply ends as it should, but the arguments of its call are half a JSON object.",
        "The call does not run. The model is told what is wrong with it, and makes a new one.",
        half_json,
        requests=3,
        codes=("invalid_json", None),
    ),
    "no-finish": Fault(
        "The reply ends without a finish reason, after a call that looks whole.",
        "Nobody said that this was all, so nothing of it runs. The request is sent again.",
        no_finish,
        requests=3,
        again=("incomplete_stream",),
    ),
    "duplicate-id": Fault(
        "Two calls of one reply have the same id.",
        "The second one gets an id of its own. Both run, and each has its own result.",
        duplicate_id,
        requests=2,
        asked=("whole", "second"),
        codes=(None, None),
        first_id="call_1",
    ),
    "429-twice": Fault(
        "The provider says twice that there are too many requests, and how long to wait.",
        "The agent waits as long as it is told, and sends the request again.",
        too_many,
        requests=4,
        again=("provider", "provider"),
        waits=(1.0, 0.5),
    ),
    "error-in-200": Fault(
        "The reply begins with status 200; then comes an error in the place of its end.",
        "Nothing of it runs. The error is one that may pass, so the request is sent again.",
        error_inside,
        requests=3,
        again=("provider",),
    ),
    "html": Fault(
        "A web page answers, every time: a proxy, or an address that is wrong.",
        "It is asked twice, no more. Then the person is told what to look at.",
        html,
        requests=2,
        asked=(),
        again=("bad_response",),
        codes=(),
        kind="bad_response",
    ),
}
# endregion: faults
