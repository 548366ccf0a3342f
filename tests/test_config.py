"""Settings: where they come from, what is refused and in which words, and what never leaks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Literal

import pytest

from labs.provider import known_providers
from shared.config import (
    API_KEY,
    BASE_URL,
    MODEL,
    PROVIDER,
    VARIABLES,
    KnownProvider,
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


class Speed(StrEnum):
    """A field that takes one of several words."""

    SLOW = "slow"
    FAST = "fast"


FIELDS: dict[str, Any] = {
    "limit": int | None,
    "tools": int,
    "role": str,
    "empty": Literal["", None],
    "pictures": bool,
    "speed": Speed,
    "body": Mapping[str, Any],
    "headers": Mapping[str, str],
}


def owned(name: str, value: object) -> list[str]:
    """What a value may not hold: here, the key `model` of a body."""
    return ["model"] if name == "body" and isinstance(value, dict) and "model" in value else []


PROVIDERS = {
    "openai": KnownProvider("Anybody", None, FIELDS),
    "acme": KnownProvider("Acme", "https://acme.example", FIELDS, owned),
    "acme-two": KnownProvider("Acme, second of the name", "https://two.acme.example", FIELDS),
}
ACME, TWO = "WORKBOOK_ACME_", "WORKBOOK_ACME_TWO_"


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
        (BASE_URL, "https://host/v1/responses", "must end before /responses"),
        (BASE_URL, "https://host/v1/messages", "must end before /messages"),
        (BASE_URL, "https://host/v1beta/models/m:generateContent", "must end before /models"),
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

    @pytest.mark.parametrize("field", ["HEADERS", "EXTRA_BODY"])
    def test_also_what_a_gateway_takes_for_a_key(
        self, field: str, root: Path, elsewhere: Path
    ) -> None:
        write_env(elsewhere, COMPLETE | {BASE_URL: "https://evil.example/v1"})
        secret = {f"WORKBOOK_{field}": '{"x-gateway": "a-secret"}'}
        with pytest.raises(ConfigError, match=f"WORKBOOK_{field} from the environment") as caught:
            load_settings(secret, elsewhere, root, providers=known_providers())
        assert "a-secret" not in str(caught.value)
        mine = secret | {BASE_URL: "https://mine.example/v1", API_KEY: KEY}
        assert load_settings(mine, elsewhere, root, providers=known_providers()) is not None

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

    @pytest.mark.parametrize("again", ["anthropic", "openai"])
    def test_a_name_that_is_set_twice_is_refused_with_both_lines(
        self, again: str, root: Path
    ) -> None:
        """Two blocks of .env.example: the last of each would count, a key for another address."""
        write_env(root, COMPLETE, extra="# mine\n\n")
        with (root / ".env").open("a", encoding="utf-8") as file:
            file.write(f"\n# --- another\nOTHER=1\nOTHER=2\nexport {PROVIDER}='{again}'\n")
        with pytest.raises(ConfigError) as caught:
            load_settings({}, root, root)
        assert str(caught.value).startswith(
            f"{root / '.env'} sets {PROVIDER} twice, in line 3 and in line 11. Keep one block"
        )
        assert "WORKBOOK_ANTHROPIC_API_KEY" in str(caught.value)

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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("acmee", "Did you mean acme? Valid: openai, acme, acme-two."),
        ("ACME", "Did you mean acme? Valid: openai, acme, acme-two."),
        ("acme_two", "Did you mean acme-two? Valid: openai, acme, acme-two."),
        ("somebody", ". Valid: openai, acme, acme-two."),
    ],
)
def test_an_unknown_provider_gets_the_list_and_the_nearest_name(
    name: str, hint: str, root: Path
) -> None:
    unknown = f"{PROVIDER} in the environment is none that the workbook knows."
    option = f"--provider: there is no provider '{name}'."
    for says, environ, provider in (
        (unknown, COMPLETE | {PROVIDER: name}, None),
        (option, COMPLETE, name),
        (option, {}, name),
    ):
        with pytest.raises(ConfigError) as caught:
            load_settings(environ, root, root, provider=provider, providers=PROVIDERS)
        assert str(caught.value).startswith(says)
        assert str(caught.value).endswith(hint)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (("ACME", "OPENAI"), "Your .env has openai and acme. Choose one: --provider openai, or "),
        (("ACME",), f"Your .env has acme. Choose it: --provider acme, or {PROVIDER}=acme."),
        ((), f"{PROVIDER}, {BASE_URL} and {API_KEY} are not set."),
    ],
)
def test_several_providers_and_no_choice_are_answered_with_their_names(
    values: tuple[str, ...], says: str, root: Path
) -> None:
    own = {f"WORKBOOK_{name}_API_KEY": "a-key" for name in values}
    write_env(root, own | {MODEL: "m"})
    with pytest.raises(ConfigError) as caught:
        load_settings({}, root, root, providers=PROVIDERS)
    assert str(caught.value).startswith(says)
    environ = own | {MODEL: "m"}
    with pytest.raises(ConfigError, match="^The environment has " if own else "not set"):
        load_settings(environ, root / "nowhere", root / "nowhere", providers=PROVIDERS)


def test_a_provider_that_is_asked_for_with_nothing_configured_is_told_what_it_needs(
    root: Path,
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({}, root, root, provider="acme", providers=PROVIDERS)
    assert str(caught.value).startswith(f"{ACME}API_KEY and {ACME}MODEL are not set. Add them to ")


PLAIN = {API_KEY: "plain-key", MODEL: "plain-model"}
OWN = {f"{ACME}API_KEY": "acme-key", f"{ACME}MODEL": "acme-model"}
GATEWAY = {BASE_URL: "https://gateway.example"}


class TestWhichVariablesCount:
    """Key and address come from one set: plain, or under the provider's own name."""

    @pytest.mark.parametrize(
        ("values", "provider", "expected"),
        [
            # A name that stands for one server brings its address.
            (
                {PROVIDER: "acme"} | PLAIN,
                None,
                ("https://acme.example", "plain-key", "plain-model"),
            ),
            # Its own address takes the place of that.
            (
                {PROVIDER: "acme"} | PLAIN | GATEWAY,
                None,
                ("https://gateway.example", "plain-key", "plain-model"),
            ),
            # A plain address and a plain key belong together, whoever is asked there.
            (
                {PROVIDER: "openai"} | PLAIN | GATEWAY,
                "acme",
                ("https://gateway.example", "plain-key", "plain-model"),
            ),
            # The option may name the provider that is named anyway.
            (
                {PROVIDER: "acme"} | PLAIN,
                "acme",
                ("https://acme.example", "plain-key", "plain-model"),
            ),
            # Several in one file: what stands under a name wins, and takes nothing from another.
            (
                {PROVIDER: "openai"} | PLAIN | GATEWAY | OWN,
                "acme",
                ("https://acme.example", "acme-key", "acme-model"),
            ),
            # The others' variables do not disturb.
            (
                {PROVIDER: "openai"} | PLAIN | GATEWAY | OWN,
                None,
                ("https://gateway.example", "plain-key", "plain-model"),
            ),
            # Without the option, WORKBOOK_PROVIDER chooses; without that, the option does.
            ({PROVIDER: "acme"} | OWN, None, ("https://acme.example", "acme-key", "acme-model")),
            (OWN, "acme", ("https://acme.example", "acme-key", "acme-model")),
            # A key of its own never goes to a plain address.
            (
                {PROVIDER: "acme"} | PLAIN | GATEWAY | {f"{ACME}API_KEY": "acme-key"},
                None,
                ("https://acme.example", "acme-key", "plain-model"),
            ),
            # An address of its own goes with a key of its own.
            (
                {PROVIDER: "openai", f"{ACME}BASE_URL": "https://near.example"} | OWN | GATEWAY,
                "acme",
                ("https://near.example", "acme-key", "acme-model"),
            ),
            # A model of its own goes with a plain key, and a plain one with a key of its own.
            (
                {PROVIDER: "acme", f"{ACME}MODEL": "acme-model"} | PLAIN,
                None,
                ("https://acme.example", "plain-key", "acme-model"),
            ),
            (
                {MODEL: "plain-model", f"{ACME}API_KEY": "acme-key"},
                "acme",
                ("https://acme.example", "acme-key", "plain-model"),
            ),
            # A dash becomes an underscore, and one name may begin like another.
            (
                {f"{TWO}API_KEY": "two-key", f"{TWO}MODEL": "two-model"} | OWN,
                "acme-two",
                ("https://two.acme.example", "two-key", "two-model"),
            ),
            # `openai` can have variables of its own, too.
            (
                {
                    PROVIDER: "acme",
                    "WORKBOOK_OPENAI_BASE_URL": "https://o.example",
                    "WORKBOOK_OPENAI_API_KEY": "o-key",
                    "WORKBOOK_OPENAI_MODEL": "o-model",
                }
                | PLAIN,
                "openai",
                ("https://o.example", "o-key", "o-model"),
            ),
            # An empty variable is none.
            (
                {PROVIDER: "acme", BASE_URL: "", f"{ACME}API_KEY": " "} | PLAIN,
                None,
                ("https://acme.example", "plain-key", "plain-model"),
            ),
        ],
    )
    def test_they_are_used_together(
        self,
        values: dict[str, str],
        provider: str | None,
        expected: tuple[str, str, str],
        root: Path,
    ) -> None:
        write_env(root, values)
        settings = load_settings({}, root, root, provider=provider, providers=PROVIDERS)
        assert settings is not None
        assert (settings.base_url, settings.api_key, settings.model) == expected
        assert settings.prefix == (
            "WORKBOOK_" if settings.api_key == "plain-key" else f"WORKBOOK_{stem(settings)}_"
        )

    @pytest.mark.parametrize(
        ("values", "provider", "names", "remark"),
        [
            (
                {PROVIDER: "openai"} | PLAIN,
                "acme",
                f"{ACME}API_KEY and {ACME}MODEL are not set",
                f"{API_KEY} is set, but nothing beside it says that it is for acme, so it is not "
                "sent to https://acme.example.",
            ),
            (
                PLAIN,
                "acme",
                f"{ACME}API_KEY is not set",
                "so it is not sent to https://acme.example.",
            ),
            (
                {PROVIDER: "acme", f"{ACME}BASE_URL": "https://near.example"} | PLAIN,
                None,
                f"{ACME}API_KEY is not set",
                f"{API_KEY} is set, but nothing beside it says that it is for acme, so it is not "
                "sent there.",
            ),
            (
                {PROVIDER: "acme", f"{ACME}BASE_URL": "https://near.example"} | PLAIN | GATEWAY,
                None,
                f"{ACME}API_KEY is not set",
                f"{API_KEY} is set, but that key is for {BASE_URL} only.",
            ),
            (
                {PROVIDER: "openai", "WORKBOOK_OPENAI_API_KEY": "o-key"} | PLAIN | GATEWAY,
                None,
                "WORKBOOK_OPENAI_BASE_URL is not set",
                f"{BASE_URL} is set, but WORKBOOK_OPENAI_API_KEY is not sent there.",
            ),
            (
                {PROVIDER: "openai", f"{ACME}API_KEY": "acme-key", MODEL: "of-openai"},
                "acme",
                f"{ACME}MODEL is not set",
                "",
            ),
            ({PROVIDER: "acme"}, None, f"{API_KEY} and {MODEL} are not set", ""),
            ({PROVIDER: "acme"} | PLAIN, "openai", "WORKBOOK_OPENAI_BASE_URL, ", ""),
        ],
    )
    def test_what_would_send_a_key_to_somebody_else_is_not_used(
        self, values: dict[str, str], provider: str | None, names: str, remark: str, root: Path
    ) -> None:
        write_env(root, values)
        with pytest.raises(ConfigError) as caught:
            load_settings({}, root, root, provider=provider, providers=PROVIDERS)
        assert str(caught.value).startswith(names)
        assert f"to {root / '.env'}, or to the environment" in str(caught.value)
        assert remark in str(caught.value)

    def test_a_model_on_the_command_line_comes_before_all(self, root: Path) -> None:
        settings = load_settings(
            OWN | PLAIN, root, root, provider="acme", model="chosen", providers=PROVIDERS
        )
        assert settings is not None
        assert settings.model == "chosen"
        with pytest.raises(ConfigError, match="--model is empty"):
            load_settings(OWN, root, root, provider="acme", model=" ", providers=PROVIDERS)

    def test_another_provider_is_looked_for_in_the_file_too(self, root: Path) -> None:
        write_env(root, OWN)
        environ = {PROVIDER: "openai"} | PLAIN | GATEWAY
        settings = load_settings(environ, root, root, provider="acme", providers=PROVIDERS)
        assert settings is not None
        assert settings.api_key == "acme-key"

    def test_the_place_of_the_choice_is_the_source_of_a_known_address(self, root: Path) -> None:
        write_env(root, {PROVIDER: "acme"} | PLAIN | OWN)
        for provider, source in ((None, str(root / ".env")), ("acme", "--provider")):
            settings = load_settings({}, root, root, provider=provider, providers=PROVIDERS)
            assert settings is not None
            assert settings.source == source

    @pytest.mark.parametrize(
        ("what", "value", "words"),
        [
            ("API_KEY", "put-your-key-here", "still holds the placeholder"),
            ("API_KEY", "two words", "no key has"),
            ("MODEL", KEY, f"looks like a key. A key belongs into {ACME}API_KEY"),
            ("MODEL", "human", "--model human only"),
            ("BASE_URL", "localhost", "is not an address"),
            ("BASE_URL", f"https://{KEY}@h/v1", f"Credentials belong into {ACME}API_KEY"),
        ],
    )
    def test_a_malformed_value_is_named_by_its_own_variable(
        self, what: str, value: str, words: str, root: Path
    ) -> None:
        write_env(root, {PROVIDER: "acme"} | OWN | {f"{ACME}{what}": value})
        with pytest.raises(ConfigError) as caught:
            load_settings({}, root, root, providers=PROVIDERS)
        assert str(caught.value).startswith(f"{ACME}{what} in {root / '.env'} ")
        assert words in str(caught.value)
        assert KEY not in str(caught.value)

    def test_what_another_provider_has_to_be_filled_in_yet_is_left_alone(self, root: Path) -> None:
        write_env(root, COMPLETE | {f"{ACME}API_KEY": "put-your-key-here"})
        assert load_settings({}, root, root, providers=PROVIDERS) is not None


def stem(settings: Settings) -> str:
    """How the provider's name is written in a variable."""
    return settings.provider.upper().replace("-", "_")


class TestAStrangeFolderDoesNotChoose:
    """What a `.env` of another folder may say about where a key goes: nothing."""

    @pytest.mark.parametrize(
        ("theirs", "mine", "decisive"),
        [
            # An address under the provider's name, for the key that you have under that name.
            (
                {PROVIDER: "acme", f"{ACME}BASE_URL": "https://evil.example"},
                OWN,
                f"{ACME}BASE_URL",
            ),
            # The name of a provider, for the plain key that you have for another one.
            ({PROVIDER: "acme"}, PLAIN, PROVIDER),
        ],
    )
    def test_it_is_refused(
        self,
        theirs: dict[str, str],
        mine: dict[str, str],
        decisive: str,
        root: Path,
        elsewhere: Path,
    ) -> None:
        write_env(elsewhere, theirs)
        with pytest.raises(ConfigError, match="could send your key anywhere") as caught:
            load_settings(mine, elsewhere, root, providers=PROVIDERS)
        assert str(caught.value).startswith(f"{decisive} comes from {elsewhere / '.env'}, but ")
        write_env(elsewhere, theirs | mine)
        assert load_settings({}, elsewhere, root, providers=PROVIDERS) is not None
        write_env(root, theirs)
        assert load_settings(mine, root, root, providers=PROVIDERS) is not None

    def test_a_key_under_a_name_may_go_to_the_address_that_is_known_for_it(
        self, root: Path, elsewhere: Path
    ) -> None:
        write_env(elsewhere, {PROVIDER: "acme"})
        settings = load_settings(OWN, elsewhere, root, providers=PROVIDERS)
        assert settings is not None
        assert settings.base_url == "https://acme.example"

    def test_a_choice_of_the_environment_takes_no_plain_key_out_of_a_file(self, root: Path) -> None:
        write_env(root, {PROVIDER: "acme-two"} | PLAIN)
        with pytest.raises(ConfigError, match=f"^{ACME}API_KEY is not set"):
            load_settings({PROVIDER: "acme"}, root, root, providers=PROVIDERS)
        assert load_settings({PROVIDER: "acme"} | OWN, root, root, providers=PROVIDERS) is not None


class TestFields:
    """Every field of a provider's record can be set."""

    @pytest.mark.parametrize(
        ("field", "text", "value"),
        [
            ("limit", "4096", 4096),
            ("limit", "null", None),
            ("role", "developer", "developer"),
            ("role", "7", "7"),
            ("empty", "null", None),
            ("empty", "'\"\"'", ""),
            ("empty", "empty", ""),
            ("pictures", "false", False),
            ("pictures", "on", True),
            ("speed", "fast", Speed.FAST),
            ("body", '{"a": [1, null], "b": "é"}', {"a": [1, None], "b": "é"}),
            ("headers", '{"x-team": "red one"}', {"x-team": "red one"}),
        ],
    )
    def test_a_value_is_json_or_a_word(
        self, field: str, text: str, value: object, root: Path
    ) -> None:
        for prefix in ("WORKBOOK_", ACME):
            write_env(root, {PROVIDER: "acme"} | PLAIN, extra=f"{prefix}{field.upper()}={text}\n")
            settings = load_settings({}, root, root, providers=PROVIDERS)
            assert settings is not None
            assert settings.overrides == {field: value}
            assert settings.unknown == ()

    @pytest.mark.parametrize(
        ("field", "text", "takes"),
        [
            ("limit", "many", "takes a whole number from 1 on, or null."),
            ("limit", "0", "takes a whole number from 1 on, or null."),
            ("limit", "1.5", "takes a whole number from 1 on, or null."),
            ("tools", "null", "takes a whole number from 1 on."),
            ("pictures", "maybe", "takes true or false."),
            ("speed", "true", "takes one of slow, fast."),
            ("empty", "None", "takes empty or null."),
            ("empty", "none", "takes empty or null."),
            ("empty", "x", "takes empty or null."),
            ("body", '{"model": "x", "n": 1}', "may not hold model: the workbook writes that"),
            ("body", "{'a': 1}", 'takes a JSON object such as {"temperature": 0}.'),
            ("body", '{"a": NaN}', "takes a JSON object such as"),
            ("body", "[1]", "takes a JSON object such as"),
            ("headers", '{"x-team": 1}', 'takes a JSON object such as {"x-team": "red"}.'),
            ("headers", r'{"x-team": "a\nb"}', 'takes a JSON object such as {"x-team": "red"}.'),
            ("headers", '{"x team": "a"}', 'takes a JSON object such as {"x-team": "red"}.'),
            ("role", KEY, "holds what looks like a key"),
        ],
    )
    def test_a_value_that_is_none_is_named_with_what_the_field_takes(
        self, field: str, text: str, takes: str, root: Path
    ) -> None:
        name = f"{ACME}{field.upper()}"
        write_env(root, {PROVIDER: "acme"} | PLAIN, extra=f"{name}={text}\n")
        with pytest.raises(ConfigError) as caught:
            load_settings({}, root, root, providers=PROVIDERS)
        assert str(caught.value).startswith(f"{name} in {root / '.env'} {takes}")
        assert text not in str(caught.value).partition(str(root / ".env"))[2]

    def test_the_providers_own_comes_before_the_plain_one(self, root: Path) -> None:
        both = {"WORKBOOK_LIMIT": "1", f"{ACME}LIMIT": "2", "WORKBOOK_ROLE": "plain"}
        settings = load_settings({PROVIDER: "acme"} | PLAIN | both, root, root, providers=PROVIDERS)
        assert settings is not None
        assert settings.overrides == {"limit": 2, "role": "plain"}

    def test_what_is_said_for_one_provider_changes_no_other(self, root: Path) -> None:
        values = {PROVIDER: "openai", f"{TWO}LIMIT": "2", "WORKBOOK_ROLE": "plain"} | OWN
        settings = load_settings(values, root, root, provider="acme", providers=PROVIDERS)
        assert settings is not None
        assert settings.overrides == {}, "plain ones are for the provider of WORKBOOK_PROVIDER"

    def test_a_variable_that_is_none_is_said_with_the_one_that_may_be_meant(
        self, root: Path
    ) -> None:
        write_env(root, {PROVIDER: "acme"} | PLAIN, extra="WORKBOOK_LIMITS=1\nWORKBOOK_NAME=x\n")
        settings = load_settings({}, root, root, providers=PROVIDERS)
        assert settings is not None
        assert settings.unknown == (
            "WORKBOOK_LIMITS is set, but it is no variable of the workbook; WORKBOOK_LIMIT is one.",
            "WORKBOOK_NAME is set, but it is no variable of the workbook.",
        )

    def test_in_the_environment_only_what_looks_misspelt_is_said(self, root: Path) -> None:
        others = {"WORKBOOK_LIMITS": "1", "WORKBOOK_WORK": "/tmp", "WORKBOOKS": "x"}
        settings = load_settings(
            {PROVIDER: "acme"} | PLAIN | others, root, root, providers=PROVIDERS
        )
        assert settings is not None
        (remark,) = settings.unknown
        assert remark.startswith("WORKBOOK_LIMITS is set, but it is no variable")

    def test_no_repr_holds_what_is_set(self, root: Path) -> None:
        secret = {"WORKBOOK_HEADERS": '{"x-gateway": "very-secret"}'}
        settings = load_settings(
            {PROVIDER: "acme"} | PLAIN | secret, root, root, providers=PROVIDERS
        )
        assert settings is not None
        assert settings.overrides == {"headers": {"x-gateway": "very-secret"}}
        assert "very-secret" not in repr(settings)
