"""The environment of a child process: everything it needs, nobody's keys."""

from __future__ import annotations

import pytest

from chapters.ch01.environment import child_environment

SECRET = "sk-0123456789abcdefghij"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GITHUB_TOKEN",
        "GITHUB_PAT",
        "DB_PASSWORD",
        "SMTP_PASS",
        "PGPASSWORD",
        "MYSQL_PWD",
        "openai_api_key",
        "Some.ApiKey",
        "KEY",
        "TOKEN_2",
    ],
)
def test_a_variable_that_is_named_like_a_credential_stays_behind(name: str) -> None:
    assert child_environment({name: "value", "LANG": "C"}, []) == {"LANG": "C"}


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "KEYBOARD",
        "XKB_KEYMAP",
        "TOKENIZERS_PARALLELISM",
        "PASSAGE",
        "PATTERN",
        "SYSTEMROOT",
        "MONKEY",
        "GIT_CONFIG_KEY_0",
    ],
)
def test_a_variable_that_only_sounds_like_one_comes_along(name: str) -> None:
    assert child_environment({name: "value"}, [SECRET]) == {name: "value"}


@pytest.mark.parametrize("name", ["WORKBOOK_API_KEY", "WORKBOOK_MODEL", "workbook_base_url"])
def test_no_setting_of_the_workbook_comes_along(name: str) -> None:
    assert child_environment({name: "value"}, []) == {}


def test_a_variable_whose_value_holds_a_secret_stays_behind_whatever_its_name() -> None:
    environ = {"CURL_OPTIONS": f"-H 'Authorization: Bearer {SECRET}'", "COPY": SECRET, "LANG": "C"}
    assert child_environment(environ, [SECRET]) == {"LANG": "C"}


def test_a_short_placeholder_of_a_key_does_not_take_path_away() -> None:
    environ = {"PATH": "/opt/ollama/bin:/bin", "COPY": "ollama"}
    assert child_environment(environ, ["ollama"]) == {"PATH": "/opt/ollama/bin:/bin"}


@pytest.mark.parametrize("secret", ["", "  "])
def test_a_key_that_is_not_set_matches_nothing(secret: str) -> None:
    assert child_environment({"EMPTY": "", "BLANK": "  "}, [secret]) == {"EMPTY": "", "BLANK": "  "}


def test_the_original_is_not_touched() -> None:
    environ = {"DEMO_KEY": "value"}
    child_environment(environ, [SECRET])["NEW"] = "1"
    assert environ == {"DEMO_KEY": "value"}
