"""There was no answer, or not a whole one: what that means, and what to do about it."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator, Mapping

from chapters.ch01.endpoint import Endpoint
from shared.errors import ConfigError, ProviderError


# region: unreachable
def unreachable(endpoint: Endpoint, error: BaseException) -> ProviderError:
    """There was no connection, or it broke before the whole answer was here."""
    address = endpoint.address
    found = list(causes(error))
    retryable = True
    if any(isinstance(cause, socket.gaierror) for cause in found):
        advice = (
            f"The host of {address} was not found. Check {endpoint.url_variable} and your network "
            "connection."
        )
    elif any(isinstance(cause, ssl.SSLCertVerificationError) for cause in found):
        retryable = False
        advice = (
            f"The certificate of {address} is not trusted. If a proxy reads your traffic, add its "
            "certificate to those of your system, or name its file in SSL_CERT_FILE."
        )
    elif any(isinstance(cause, ssl.SSLError) for cause in found):
        advice = (
            f"There is no secure connection to {address}. Check {endpoint.url_variable}: a server "
            "on your own machine usually has http:// and not https://."
        )
    elif any(isinstance(cause, ConnectionRefusedError) for cause in found):
        advice = (
            f"Nothing answers at {address}. Is the server running? Check {endpoint.url_variable}."
        )
    else:
        advice = (
            f"The connection to {address} failed before there was a whole answer. Try again. If it "
            f"stays, check your network, your proxy and {endpoint.url_variable}."
        )
    detail = endpoint.quote(str(error.__cause__ or ""))
    return ProviderError(
        f"{advice} ({detail})" if detail else advice, kind="connection", retryable=retryable
    )


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and everything that led to it."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def too_far(endpoint: Endpoint, seconds: float) -> ProviderError:
    """No connection within `seconds`."""
    return ProviderError(
        f"{endpoint.address} could not be reached within {seconds:g} seconds. Check "
        f"{endpoint.url_variable} and your network connection.",
        kind="timeout",
        retryable=True,
    )


def too_slow(endpoint: Endpoint, seconds: float) -> ProviderError:
    """No whole answer within `seconds`."""
    return ProviderError(
        f"{endpoint.address} did not answer within {seconds:g} seconds. Try again, or choose a "
        f"faster model ({endpoint.model_variable}).",
        kind="timeout",
        retryable=True,
    )


def unexpected(endpoint: Endpoint, error: BaseException) -> ProviderError:
    """The provider's client failed in a way that nobody foresaw."""
    said = endpoint.quote(str(error))
    detail = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return ProviderError(
        f"The client for {endpoint.address} could not read the answer, or send the request. Check "
        f"{endpoint.url_variable}: is that the address of a provider? ({detail})",
        kind="connection",
    )


# endregion: unreachable


# region: no_client
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


def no_client(error: Exception, environ: Mapping[str, str] = os.environ) -> ConfigError:
    """The error for an environment in which no HTTP client can be made. It shows no value."""
    about_files = isinstance(error, OSError)
    known = CERTIFICATES if about_files else PROXIES
    names = [name for name in environ if name.upper() in known and environ[name].strip()]
    variable = " or ".join(names) or "the settings of your system"
    if about_files:
        return ConfigError(
            f"The file that {variable} names cannot be read, or holds no certificates. Put the "
            "path of a file in PEM format there, or clear the variable."
        )
    if isinstance(error, ImportError):
        return ConfigError(
            f"{variable} names a SOCKS proxy, which needs a package that is not installed. "
            "Use a proxy whose address starts with http://, or install the package: "
            "pip install socksio"
        )
    return ConfigError(
        f"{variable} holds no address of a proxy. It looks like http://proxy.example.com:8080. "
        "To go without a proxy, clear the variable."
    )


# endregion: no_client
