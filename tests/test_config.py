"""Settings: where they come from, what is refused and in which words, and what never leaks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import pytest

from shared.config import (
    API_KEY,
    BASE_URL,
    MODEL,
    PROVIDER,
    VARIABLES,
    Settings,
    find_settings,
    load_settings,
)
from shared.errors import ConfigError

KEY = "sk-a-very-secret-key"
COMPLETE = {
    PROVIDER: "openai",
    BASE_URL: "http://localhost:1234/v1",
    API_KEY: KEY,
    MODEL: "a-model",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workbook's own folder."""
    folder = tmp_path / "workbook"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that has nothing to do with the workbook."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def write_env(folder: Path, values: dict[str, str], *, extra: str = "") -> None:
    """Put a `.env` into `folder`."""
    text = "".join(f"{name}={value}\n" for name, value in values.items())
    (folder / ".env").write_text(extra + text, encoding="utf-8")


def without(name: str) -> dict[str, str]:
    """All the settings but one."""
    return {other: value for other, value in COMPLETE.items() if other != name}


def test_nothing_configured_is_not_an_error(root: Path, elsewhere: Path) -> None:
    assert load_settings({}, elsewhere, root) is None
    assert load_settings({}, elsewhere, root, model="some-model") is None


def test_the_environment_alone_is_enough(root: Path, elsewhere: Path) -> None:
    settings = load_settings(COMPLETE, elsewhere, root)
    assert settings == Settings("openai", "http://localhost:1234/v1", KEY, "a-model")


def test_the_workbooks_own_file_is_found_from_anywhere(root: Path, elsewhere: Path) -> None:
    write_env(root, COMPLETE)
    settings = load_settings({}, elsewhere, root)
    assert settings is not None
    assert settings.model == "a-model"


def test_the_file_of_the_current_directory_comes_first(root: Path, elsewhere: Path) -> None:
    write_env(root, COMPLETE)
    write_env(elsewhere, COMPLETE | {MODEL: "nearer"})
    settings = load_settings({}, elsewhere, root)
    assert settings is not None
    assert settings.model == "nearer"


def test_a_file_without_a_variable_of_ours_is_passed_over(root: Path, elsewhere: Path) -> None:
    write_env(root, COMPLETE)
    (elsewhere / ".env").write_bytes(b"DJANGO_KEY='never closed\nnot a line\n\xff\n")
    assert load_settings({}, elsewhere, root) is not None


def test_two_files_are_never_mixed(root: Path, elsewhere: Path) -> None:
    write_env(root, COMPLETE)
    write_env(elsewhere, {MODEL: "only this"})
    with pytest.raises(ConfigError, match=f"{PROVIDER}, {BASE_URL} and {API_KEY} are not set"):
        load_settings({}, elsewhere, root)


def test_a_variable_of_the_environment_overrides_one_line(root: Path) -> None:
    write_env(root, COMPLETE)
    settings = load_settings({MODEL: "other", API_KEY: ""}, root, root)
    assert settings is not None
    assert settings.model == "other"
    assert settings.api_key == KEY, "an empty variable is no variable"


def test_a_model_on_the_command_line_overrides_both(root: Path) -> None:
    write_env(root, without(MODEL))
    settings = load_settings({}, root, root, model="chosen")
    assert settings is not None
    assert settings.model == "chosen"


def test_reading_a_file_leaves_the_environment_alone(root: Path) -> None:
    write_env(root, COMPLETE)
    load_settings({}, root, root)
    assert not any(name in os.environ for name in VARIABLES)


def test_a_complete_environment_opens_no_file(root: Path) -> None:
    (root / ".env").write_bytes(b"WORKBOOK_MODEL\xff")
    assert load_settings(COMPLETE, root, root) is not None


@pytest.mark.parametrize("name", VARIABLES)
def test_what_is_missing_is_named_with_the_file(name: str, root: Path) -> None:
    write_env(root, without(name))
    with pytest.raises(ConfigError) as caught:
        load_settings({}, root, root)
    assert f"{name} is not set" in str(caught.value)
    assert str(root / ".env") in str(caught.value)


@pytest.mark.parametrize("name", VARIABLES)
def test_an_empty_line_counts_as_missing(name: str, root: Path) -> None:
    write_env(root, COMPLETE | {name: ""})
    with pytest.raises(ConfigError, match=f"{name} is not set"):
        load_settings({}, root, root)


def test_a_misspelt_variable_is_pointed_out(root: Path) -> None:
    write_env(root, without(BASE_URL) | {"WORKBOOK_URL": "http://localhost"})
    with pytest.raises(ConfigError, match="WORKBOOK_URL is set, but it is no variable"):
        load_settings({}, root, root)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (PROVIDER, "opnai", "Valid: openai"),
        (PROVIDER, KEY, "Valid: openai"),
        (BASE_URL, "localhost:1234", "is not an address"),
        (BASE_URL, "ftp://host/v1", "is not an address"),
        (BASE_URL, "https://", "is not an address"),
        (BASE_URL, "https:///v1", "is not an address"),
        (BASE_URL, "https://host:99999/v1", "is not an address"),
        (BASE_URL, "https://[half/v1", "is not an address"),
        (BASE_URL, "https://host/a path", "is not an address"),
        (BASE_URL, f"https://{KEY}@host/v1", "Credentials belong into WORKBOOK_API_KEY"),
        (BASE_URL, "https://host/v1?version=1", "must end before the ?"),
        (BASE_URL, "https://host/v1/chat/completions/", "must end before /chat/completions"),
        (BASE_URL, "https://host:0/v1", "has port 0"),
        (API_KEY, f'"{KEY} "', "no key has"),
        (API_KEY, f'"Bearer {KEY}"', "no key has"),
        (API_KEY, f"{KEY}\u200b", "no key has"),
        (API_KEY, f"clé-{KEY}", "no key has"),
        (API_KEY, "put-your-key-here", "still holds the placeholder"),
        (MODEL, KEY, "looks like a key"),
        (MODEL, f'"Bearer {KEY}"', "looks like a key"),
        (MODEL, "human", "--model human only"),
        (MODEL, '"a\\tmodel"', "no model name has"),
    ],
)
def test_a_malformed_value_is_named_and_never_shown(
    name: str, value: str, words: str, root: Path
) -> None:
    write_env(root, COMPLETE | {name: value})
    with pytest.raises(ConfigError) as caught:
        load_settings({}, root, root)
    message = str(caught.value)
    assert message.startswith(f"{name} in {root / '.env'} ")
    assert words in message
    assert KEY not in message


@pytest.mark.parametrize(
    "value", ["sk-or-v1-0123456789abcdef", "gsk_0123456789", "AIza0123456789abcdefghijklm"]
)
def test_a_key_given_as_the_model_is_refused_wherever_it_comes_from(value: str, root: Path) -> None:
    for environ, model in ((COMPLETE | {MODEL: value}, None), (COMPLETE, value)):
        with pytest.raises(ConfigError, match="looks like a key") as caught:
            load_settings(environ, root, root, model=model)
        assert value not in str(caught.value)


def test_a_key_is_known_by_being_the_key(root: Path) -> None:
    key = "0123456789abcdef0123456789abcdef"
    with pytest.raises(ConfigError, match="looks like a key") as caught:
        load_settings(COMPLETE | {API_KEY: key, MODEL: key}, root, root)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["gpt-5-mini", "qwen/qwen3-8b", "hf.co/unsloth/some-model", "pplx-70b-online", "x-ai/a", "m"],
)
def test_the_name_of_a_model_is_no_key(name: str, root: Path) -> None:
    assert load_settings(COMPLETE | {MODEL: name}, root, root) is not None


def test_a_word_may_be_both_key_and_model_of_a_local_server(root: Path) -> None:
    assert load_settings(COMPLETE | {API_KEY: "llama", MODEL: "llama"}, root, root) is not None


@pytest.mark.parametrize("line", [f"WORKBOOK_{KEY}=x\n", f"WORKBOOK_{KEY}\n"])
def test_a_key_typed_into_a_name_is_not_repeated(line: str, root: Path) -> None:
    write_env(root, without(MODEL), extra=line)
    with pytest.raises(ConfigError, match="WORKBOOK_… ") as caught:
        load_settings({}, root, root)
    assert KEY not in str(caught.value)


def test_where_a_bad_value_of_the_environment_comes_from_is_said(root: Path) -> None:
    with pytest.raises(ConfigError, match=f"{PROVIDER} in the environment is none"):
        load_settings(COMPLETE | {PROVIDER: "x"}, root, root)


def test_no_repr_holds_the_key(root: Path) -> None:
    write_env(root, COMPLETE)
    assert KEY not in repr(load_settings({}, root, root))
    assert KEY not in repr(find_settings({}, root, root))


class TestTheKeyStaysHome:
    """A `.env` that lies in a folder you happen to be in must not choose where your key goes."""

    def test_a_foreign_address_with_a_key_of_the_environment_is_refused(
        self, root: Path, elsewhere: Path
    ) -> None:
        write_env(elsewhere, without(API_KEY) | {BASE_URL: "https://evil.example/v1"})
        with pytest.raises(ConfigError, match="could send your key anywhere"):
            load_settings({API_KEY: KEY}, elsewhere, root)

    def test_also_if_the_foreign_file_brings_a_key_that_yours_overrides(
        self, root: Path, elsewhere: Path
    ) -> None:
        write_env(elsewhere, COMPLETE | {API_KEY: "theirs"})
        with pytest.raises(ConfigError, match="could send your key anywhere"):
            load_settings({API_KEY: KEY}, elsewhere, root)

    def test_also_with_a_model_from_the_command_line(self, root: Path, elsewhere: Path) -> None:
        write_env(elsewhere, without(API_KEY))
        with pytest.raises(ConfigError, match="could send your key anywhere"):
            load_settings({API_KEY: KEY}, elsewhere, root, model="m")

    def test_a_file_that_holds_both_may_be_used(self, root: Path, elsewhere: Path) -> None:
        write_env(elsewhere, COMPLETE)
        assert load_settings({}, elsewhere, root) is not None

    def test_an_address_that_you_set_yourself_may_be_used(
        self, root: Path, elsewhere: Path
    ) -> None:
        write_env(elsewhere, COMPLETE)
        mine = {API_KEY: KEY, BASE_URL: "https://mine.example/v1"}
        settings = load_settings(mine, elsewhere, root)
        assert settings is not None
        assert settings.base_url == "https://mine.example/v1"

    def test_the_workbooks_own_file_may_name_the_address(self, root: Path) -> None:
        write_env(root, without(API_KEY))
        assert load_settings({API_KEY: KEY}, root, root) is not None


class TestTheFile:
    """What a `.env` may look like."""

    def test_a_line_that_cannot_be_read_is_named_by_its_number(self, root: Path) -> None:
        write_env(root, COMPLETE, extra="# mine\n\n\nthis is no line\n")
        with pytest.raises(ConfigError, match=r"\.env, line 4: this is not a line of the form"):
            load_settings({}, root, root)

    def test_a_quote_that_is_never_closed_is_such_a_line(self, root: Path) -> None:
        (root / ".env").write_text(f"# key\n{API_KEY}='{KEY}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="line 2") as caught:
            load_settings({}, root, root)
        assert KEY not in str(caught.value)

    def test_a_name_without_a_value_is_said(self, root: Path) -> None:
        (root / ".env").write_text(f"{API_KEY}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=f"{API_KEY} has no value"):
            load_settings({}, root, root)

    def test_a_byte_order_mark_and_windows_line_ends_are_no_trouble(self, root: Path) -> None:
        text = "".join(f"{name}={value}\r\n" for name, value in COMPLETE.items())
        (root / ".env").write_bytes(b"\xef\xbb\xbf" + text.encode())
        settings = load_settings({}, root, root)
        assert settings is not None
        assert settings.model == "a-model"

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
    def test_utf_16_is_recognised(self, encoding: str, root: Path) -> None:
        (root / ".env").write_bytes(f"{MODEL}=x\n".encode(encoding))
        with pytest.raises(ConfigError, match="not UTF-8 text"):
            load_settings({}, root, root)

    def test_other_bytes_are_recognised(self, root: Path) -> None:
        (root / ".env").write_bytes(b"# caf\xe9\nWORKBOOK_MODEL=x\n")
        with pytest.raises(ConfigError, match="not UTF-8 text"):
            load_settings({}, root, root)

    def test_a_directory_of_that_name_is_no_file(self, root: Path) -> None:
        (root / ".env").mkdir()
        assert load_settings({}, root, root) is None

    def test_a_file_that_cannot_be_read_is_said(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path, mode: str) -> IO[bytes]:
            raise PermissionError(13, "Permission denied")

        write_env(root, COMPLETE)
        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
            load_settings({}, root, root)

    def test_a_huge_file_is_refused_and_not_read(self, root: Path) -> None:
        write_env(root, COMPLETE)
        with (root / ".env").open("r+b") as file:
            file.truncate(50_000_000_000)  # takes no room on the disk
        with pytest.raises(ConfigError, match="larger than 64 KB") as caught:
            load_settings({}, root, root)
        assert str(root / ".env") in str(caught.value)

    def test_dollars_stay_dollars(self, root: Path) -> None:
        write_env(root, COMPLETE | {API_KEY: "a${HOME}b"})
        settings = load_settings({"HOME": "/somewhere"}, root, root)
        assert settings is not None
        assert settings.api_key == "a${HOME}b"

    def test_a_file_of_remarks_configures_nothing(self, root: Path) -> None:
        (root / ".env").write_text(f"#{MODEL}=x\n", encoding="utf-8")
        assert load_settings({}, root, root) is None
