"""Every way a provider can fail, as a sentence that says what to do and gives nothing away."""

from __future__ import annotations

import socket
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from chapters.ch01.connection_errors import (
    no_client,
    too_far,
    too_slow,
    unexpected,
    unreachable,
)
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.provider_errors import (
    error_in,
    error_inside,
    redirected,
    refused,
    too_large,
    unreadable,
    wait_of,
)
from shared.errors import ConfigError

KEY = "a-secret/of+mine=="
HERE = Endpoint("https://user:pass@api.example.com/v1?k=v", KEY, "a-model")


def openai_error(code: str | None, kind: str = "invalid_request_error", said: str = "No.") -> Any:
    return {"message": said, "type": kind, "param": None, "code": code}


@pytest.mark.parametrize(
    ("status", "body", "names", "retryable"),
    [
        (401, openai_error("invalid_api_key"), "WORKBOOK_API_KEY", False),
        (403, openai_error(None), "WORKBOOK_API_KEY", False),
        (402, openai_error(None), "billing", False),
        (404, openai_error("model_not_found"), "WORKBOOK_MODEL, now 'a-model'", False),
        (404, "<html>Not Found</html>", "WORKBOOK_BASE_URL, now https://api.example.com/v1", False),
        (404, {"detail": "Not Found"}, "Not Found", False),
        (400, openai_error(None), "WORKBOOK_MODEL", False),
        (400, openai_error("context_length_exceeded"), "smaller task", False),
        (400, openai_error(None, "exceed_context_size_error"), "smaller task", False),
        (400, openai_error(None, said="maximum context length is 9"), "smaller task", False),
        (422, [{"msg": "field required"}], "field required", False),
        (413, None, "too large", False),
        (429, openai_error("rate_limit_exceeded", "requests"), "Wait a little", True),
        (429, openai_error(None, said="too many tokens per minute"), "Wait a little", True),
        (429, openai_error(None, said="check your plan and billing"), "Wait a little", True),
        (429, openai_error("insufficient_quota", "insufficient_quota"), "billing", False),
        (429, openai_error("billing_hard_limit_reached"), "billing", False),
        (408, None, "Try again", True),
        (409, None, "Try again", True),
        (500, openai_error(None, "server_error"), "Try again", True),
        (502, "<h1>Bad Gateway</h1>", "proxy", True),
        (503, openai_error("503", said="Loading model"), "Loading model", True),
        (529, None, "Try again", True),
        (302, "", "WORKBOOK_BASE_URL", False),
        (405, "", "WORKBOOK_BASE_URL", False),
    ],
)
def test_a_status_becomes_advice(status: int, body: Any, names: str, retryable: bool) -> None:
    error = refused(HERE, status, body)

    assert names in str(error)
    assert f"(HTTP {status})" in str(error)
    assert (error.kind, error.status, error.retryable) == ("provider", status, retryable)


@pytest.mark.parametrize(
    ("status", "said", "more"),
    [
        (400, "No.", True),
        (422, "No.", True),
        (400, "maximum context length is 9", False),
        (401, "No.", False),
        (429, "No.", False),
        (500, "No.", False),
    ],
)
def test_what_an_endpoint_knows_of_a_request_is_added_where_one_was_not_understood(
    status: int, said: str, more: bool
) -> None:
    knowing = replace(HERE, advice=lambda words: f"Of {words!r} more is known.")
    error = str(refused(knowing, status, openai_error(None, said=said)))
    assert (f" Of {said!r} more is known. (HTTP {status})" in error) == more
    assert "more is known" not in str(refused(HERE, status, openai_error(None, said=said)))


def test_the_wait_a_provider_asks_for_is_passed_on() -> None:
    error = refused(HERE, 429, None, 3600.0)
    assert "Wait 3600 seconds" in str(error)
    assert error.retry_after == 3600.0
    assert "Wait a little" in str(refused(HERE, 429, None))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "10000000000"}, 1e10),
        ({"retry-after": "0.12345678901"}, 0.12345678901),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after-ms": "20", "retry-after": "1"}, 0.02),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_in_each_form_it_comes_in(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert wait_of(headers) == seconds


def test_a_wait_until_a_time_of_day_is_counted_from_now() -> None:
    wait = wait_of({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=90))})
    assert wait is not None
    assert 60 < wait <= 90


def test_the_words_of_the_provider_are_kept_for_a_program() -> None:
    nested = {"type": "error", "error": {"type": "billing_error", "message": "No credit."}}
    assert refused(HERE, 402, nested).type == "billing_error"
    spent = refused(HERE, 429, {"code": 429, "status": "RESOURCE_EXHAUSTED"})
    assert (spent.code, spent.type) == ("429", "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize(
    ("body", "names", "retryable"),
    [
        ({"code": 400, "message": "No."}, "WORKBOOK_MODEL", False),
        ({"code": "401", "message": "No."}, "WORKBOOK_API_KEY", False),
        ({"code": 429, "message": "No."}, "Too many", True),
        ({"code": "insufficient_quota", "message": "No."}, "billing", False),
        ({"type": "rate_limit_error", "message": "No."}, "Too many", True),
        ({"type": "invalid_request_error", "message": "No."}, "WORKBOOK_MODEL", False),
        ({"type": "permission_error", "message": "No."}, "WORKBOOK_API_KEY", False),
        ({"type": "request_too_large", "message": "No."}, "too large", False),
        ({"type": "server_error", "message": "No."}, "Try again", True),
        ("overloaded", "overloaded", True),
        (7, "7", True),
    ],
)
def test_an_error_inside_a_good_status_is_judged_by_what_it_says(
    body: Any, names: str, retryable: bool
) -> None:
    error = error_inside(HERE, 200, body)
    assert names in str(error)
    code = body.get("code") if isinstance(body, dict) else None
    status = (
        int(code) if code and str(code).isdecimal() else 200
    )  # a number is what the status should be
    assert (error.kind, error.status, error.retryable) == ("provider", status, retryable)
    assert "(HTTP 200)" in str(error)


def test_an_answer_that_is_no_reply_is_shown_short_and_harmless() -> None:
    page = b"<html>\n<title>\x1b]0;owned\x07 \xff" + b"x" * 5_000 + b"</html>"

    error = unreadable(HERE, 200, page, "it is not JSON")

    shown = str(error).partition("It begins: ")[2]
    assert len(shown) == 200
    assert shown.startswith("<html> <title>\\x1b]0;owned\\x07 \ufffdxxx")
    assert "\x1b" not in str(error)
    assert "\n" not in str(error)
    assert "WORKBOOK_BASE_URL" in str(error)
    assert "/v1" in str(error)
    assert (error.kind, error.retryable) == ("bad_response", True)


def test_an_answer_of_white_space_is_not_called_empty() -> None:
    blank = str(unreadable(HERE, 200, b" \n" * 1_000_000, "it is not JSON"))
    assert "It begins with white space, 2,000,000 bytes in all." in blank
    assert "empty" not in blank
    assert "It is empty." in str(unreadable(HERE, 200, b"", "it is not JSON"))


def test_an_answer_without_end_is_no_matter_of_trying_again() -> None:
    error = too_large(HERE, 200, 20_000_000)
    assert "longer than 20 MB" in str(error)
    assert "WORKBOOK_BASE_URL" in str(error)
    assert (error.kind, error.status, error.retryable) == ("bad_response", 200, False)


@pytest.mark.parametrize(
    ("target", "host", "address"),
    [
        ("https://b.example/v2/chat/completions", "b.example", "https://b.example/v2"),
        ("https://b.example:8443/", "b.example", "https://b.example:8443"),
        ("//b.example/v1", "b.example", "https://b.example/v1"),
        ("/v2/chat/completions/", "api.example.com", "https://api.example.com/v2"),
        (f"https://me:pw@b.example/in?key={KEY}", "b.example", "https://b.example/in"),
        ("https://b.example/sk-abcdef123456", "b.example", "https://b.example/[key]"),
    ],
)
def test_a_redirect_is_named_and_left_to_you(target: str, host: str, address: str) -> None:
    error = redirected(HERE, 307, target)
    assert f"to the host {host}. Nothing was sent there" in str(error)
    assert f"If you trust {address}, put that address into WORKBOOK_BASE_URL" in str(error)
    assert (error.kind, error.status, error.retryable) == ("provider", 307, False)
    for secret in (KEY, "pw", "pass"):
        assert secret not in str(error)


@pytest.mark.parametrize(
    "target",
    ["", "/v1/chat/completions/", "javascript:alert(1)", "file:///etc", "http://[", "http://h:0/"],
)
def test_a_redirect_that_leads_nowhere_is_an_answer_like_no_providers(target: str) -> None:
    assert str(redirected(HERE, 302, target)).startswith("No chat provider answers like this.")


def from_causes(*causes: BaseException) -> BaseException:
    error = cause = RuntimeError("Connection error.")
    for inner in causes:
        cause.__cause__ = inner
        cause = inner  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "names", "retryable"),
    [
        (from_causes(OSError("x"), ConnectionRefusedError(111, "no")), "Nothing answers", True),
        (from_causes(OSError("x"), socket.gaierror(-2, "no name")), "was not found", True),
        (from_causes(ssl.SSLCertVerificationError(1, "self-signed")), "SSL_CERT_FILE", False),
        (from_causes(ssl.SSLError(1, "wrong version number")), "http://", True),
        (from_causes(OSError("peer closed connection")), "(peer closed connection)", True),
        (from_causes(), "failed before there was a whole answer", True),
        (
            from_causes(
                OSError("x"), ExceptionGroup("both", [OSError(), ConnectionRefusedError()])
            ),
            "Nothing answers",
            True,
        ),
    ],
)
def test_no_connection_becomes_advice(error: BaseException, names: str, retryable: bool) -> None:
    translated = unreachable(HERE, error)
    assert names in str(translated)
    assert "https://api.example.com/v1" in str(translated)
    assert (translated.kind, translated.status) == ("connection", None)
    assert translated.retryable is retryable


def test_both_time_outs_say_how_long_was_waited() -> None:
    far, slow = too_far(HERE, 10.0), too_slow(HERE, 0.5)
    assert "within 10 seconds" in str(far)
    assert "within 0.5 seconds" in str(slow)
    assert far.kind == slow.kind == "timeout"
    assert far.retryable
    assert slow.retryable


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"bad key {KEY}, go away", "bad key [key], go away"),
        ("in a URL: a-secret%2Fof%2Bmine%3D%3D", "in a URL: [key]"),
        ("Incorrect API key provided: sk-ab12***wxyz.", "Incorrect API key provided: [key]"),
        ("Authorization: Bearer abcdefgh.ijk", "Authorization: [key]"),
        ('{"key":"gsk_abcdef"}', '{"key":"[key]"}'),
        ("Your key: ****abcd is invalid", "Your key: [key] is invalid"),
        ("task-list and risk-free", "task-list and risk-free"),
        (f"{'x' * 190} {KEY} tail", f"{'x' * 190} [key] ta…"),
        ("a\n\n  b\tc", "a b c"),
        ("\u202eevil\x1b[2J", "\\u202eevil\\x1b[2J"),
    ],
)
def test_a_quotation_holds_no_key_and_acts_on_no_terminal(said: str, shown: str) -> None:
    assert HERE.quote(said) == shown
    assert len(HERE.quote(said)) <= 200


def test_a_word_in_place_of_a_key_stays_a_word() -> None:
    local = Endpoint("http://127.0.0.1:11434/v1", "ollama", "m")
    assert local.quote("try: ollama pull m") == "try: ollama pull m"


def test_nothing_secret_of_an_address_is_shown() -> None:
    for error in (refused(HERE, 401, None), refused(HERE, 404, None), too_slow(HERE, 1)):
        assert "api.example.com/v1" in str(error)
        assert "pass" not in str(error)
        assert "k=v" not in str(error)


def test_a_key_in_the_wrong_variable_is_not_shown_either() -> None:
    mixed_up = Endpoint("https://api.example.com/v1", "a-model", "sk-abcdef123456")
    assert "sk-abcdef" not in str(refused(mixed_up, 404, None))


def test_the_key_is_in_no_repr() -> None:
    assert KEY not in repr(HERE)


@pytest.mark.parametrize("key", ["", "clé", "two words", "line\nbreak", "tab\t", "nul\0", "\x7f"])
def test_a_key_that_no_request_can_carry_is_refused_by_name_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="WORKBOOK_API_KEY") as caught:
        Endpoint("https://api.example.com/v1", key, "m").check()
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000/v1",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://h:port",
        "http://h:0/v1",
        "http://[::1",
    ],
)
def test_an_address_that_no_request_can_reach_is_refused_by_name(url: str) -> None:
    with pytest.raises(ConfigError, match="WORKBOOK_BASE_URL"):
        Endpoint(url, "a-key", "m").check()


def test_good_settings_pass() -> None:
    HERE.check()
    Endpoint("http://[::1]:8080/v1", "ollama", "m").check()


def test_a_body_nested_without_end_is_no_crash() -> None:
    body: Any = {}
    for _ in range(5_000):
        body = {"message": body}
    assert refused(HERE, 400, body).status == 400


VLLM = {"object": "error", "code": 400, "type": "BadRequestError", "message": "No."}
FLAT = {"type": "error", "code": "rate_limit_exceeded", "message": "No."}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"error": {"code": 1}}, {"code": 1}),
        ({"error": "No."}, "No."),
        ({"type": "error", "error": {"type": "x"}}, {"type": "x"}),
        (VLLM, VLLM),
        (FLAT, FLAT),
        ({"object": "chat.completion", "error": None}, None),
        ({"object": ["error"]}, None),
        ({"type": "message"}, None),
        (["error"], None),
    ],
    ids=str,
)
def test_an_error_is_found_under_its_key_or_as_the_whole_answer(body: Any, error: Any) -> None:
    assert error_in(body) == error


@pytest.mark.parametrize(
    ("body", "status", "names", "retryable"),
    [(VLLM, 400, "WORKBOOK_MODEL", False), (FLAT, 200, "Too many", True)],
    ids=["vLLM", "flat"],
)
def test_an_error_that_is_the_whole_answer_is_judged_like_any_other(
    body: Any, status: int, names: str, retryable: bool
) -> None:
    error = error_inside(HERE, 200, error_in(body))
    assert names in str(error)
    assert "The provider says: No." in str(error)
    assert (error.status, error.retryable) == (status, retryable)


def test_a_failure_of_the_client_itself_is_told_without_the_key() -> None:
    error = unexpected(HERE, LookupError(f"unknown encoding for {KEY}"))
    assert "LookupError: unknown encoding for [key]" in str(error)
    assert (error.kind, error.retryable) == ("connection", False)


@pytest.mark.parametrize(
    ("error", "environ", "said"),
    [
        (ValueError(), {"HTTP_PROXY": "x"}, "HTTP_PROXY holds no address"),
        (ValueError(), {"https_proxy": "x", "ALL_PROXY": ""}, "https_proxy holds no address"),
        (ImportError(), {"ALL_PROXY": "socks5://x", "PATH": "x"}, "ALL_PROXY names a SOCKS proxy"),
        (OSError(), {"SSL_CERT_FILE": "x"}, "that SSL_CERT_FILE names"),
        (ssl.SSLError(), {"SSL_CERT_DIR": "x", "HTTP_PROXY": "x"}, "that SSL_CERT_DIR names"),
        (ValueError(), {}, "the settings of your system"),
    ],
    ids=["proxy", "small letters", "socks", "no file", "no certificate", "none is set"],
)
def test_what_keeps_a_client_from_being_made_is_named(
    error: Exception, environ: dict[str, str], said: str
) -> None:
    assert said in str(no_client(error, environ))
