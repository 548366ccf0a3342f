"""Where a model is reached, and what of that may be shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from shared.errors import ConfigError
from shared.key_shape import KEY_SHAPE
from shared.text import visible

QUOTED_CHARACTERS = 200  # of what a provider says, this much is shown

# A shorter key is a stand-in for a server that wants none, such as `ollama`, and an ordinary word.
SECRET_CHARACTERS = 8

LIKE_A_KEY = re.compile(
    rf"(?i)\b(?:{KEY_SHAPE})"
    # Masked by the provider, with some of it left. Only from the start of a word: a page of one
    # endless word would take seconds otherwise.
    r"|(?<![^\s\"'<>])[^\s\"'<>]*\*{3,}[^\s\"'<>]*"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, a key and a model. The key is in no `repr` and in no quotation.

    `path` is what the client adds to the address. The rest is for messages to a person: how the
    names of the settings begin, what the address usually looks like, what its answers are called,
    and what else to say of a request that was refused with these words.
    """

    base_url: str
    api_key: str = field(repr=False)
    model: str
    path: str = "/chat/completions"
    prefix: str = "WORKBOOK_"
    usually: str = "ends in /v1"
    answer: str = "a chat completion"
    advice: Callable[[str], str] = field(default=lambda said: "", repr=False, compare=False)

    @property
    def url_variable(self) -> str:
        """The setting that holds the address."""
        return f"{self.prefix}BASE_URL"

    @property
    def key_variable(self) -> str:
        """The setting that holds the key."""
        return f"{self.prefix}API_KEY"

    @property
    def model_variable(self) -> str:
        """The setting that holds the name of the model."""
        return f"{self.prefix}MODEL"

    def check(self) -> None:
        """Raise ConfigError for a key or an address that no request can be sent with."""
        if not re.fullmatch(r"[!-~]+", self.api_key):
            raise ConfigError(
                f"{self.key_variable} is empty, or holds a character that no key has: a space, a "
                "line break, a letter that is not ASCII. Copy the key again. For a server that "
                "wants no key, put any word there."
            )
        try:
            url = urlsplit(self.base_url)
            usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise not_an_address(self.url_variable)

    @property
    def address(self) -> str:
        """The base URL without what may be secret in it: user, password, query."""
        url = urlsplit(self.base_url)
        return self.quote(f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}")

    def quote(self, said: str) -> str:
        """Foreign text for a message: short, one line, no key, nothing that acts on a terminal."""
        said = said[: 50 * QUOTED_CHARACTERS]
        if len(self.api_key) >= SECRET_CHARACTERS:
            for spelling in (self.api_key, quote(self.api_key, safe="")):
                said = said.replace(spelling, "[key]")
        said = visible(" ".join(LIKE_A_KEY.sub("[key]", said).split()))
        return said if len(said) <= QUOTED_CHARACTERS else f"{said[: QUOTED_CHARACTERS - 1]}…"


def not_an_address(variable: str) -> ConfigError:
    """The error for a base URL that is none."""
    return ConfigError(
        f"{variable} is not a web address. It starts with http:// or https:// and usually ends in "
        "/v1, for example http://127.0.0.1:11434/v1."
    )
