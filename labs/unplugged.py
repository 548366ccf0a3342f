"""A kit whose ports lead nowhere: enough to make a plan and look at it, not to run anything."""

from __future__ import annotations

from typing import Any, NoReturn

from shared.plan import Kit


class Unplugged:
    """Stands where an adapter would be. Using it is a mistake of the program, and says so."""

    def __init__(self, port: str) -> None:
        self._port = port

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(f"{self._port}.{name} was used, but this kit is only for looking at")


def unplugged_kit() -> Kit:
    """A kit of ports that are all unplugged."""
    ports: dict[str, Any] = {
        name: Unplugged(name) for name in Kit.__dataclass_fields__ if name != "participants"
    }
    return Kit(**ports)
