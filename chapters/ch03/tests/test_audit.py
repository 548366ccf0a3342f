"""The audit: one line for a decision, without secrets, on the disk or nothing runs."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chapters import ch03
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch03.audit import AuditFile, entry
from chapters.ch03.redaction import REDACTED, is_secret, redacted
from chapters.ch03.tests.calls import prepared
from shared.decision import Behaviour, Decision
from shared.ports import Audit
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, MemoryAudit, Recording, run_script

pytestmark = pytest.mark.anyio

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
ALLOWED = Decision(Behaviour.ALLOW, "nobody objected", "default")


async def run_a_command(audit: Audit) -> tuple[Recording, FakeCommands]:
    commands = FakeCommands()
    recording = await run_script(
        ch03.plan,
        [says(call("shell", command="ls"), call("read_file", path="a.txt")), says("done")],
        commands=commands,
        files=MemoryFiles({"a.txt": "text"}),
        approver=FakeApprover("yes"),
        audit=audit,
    )
    assert recording.error is None
    return recording, commands


# What is written

SECRETS = [
    *("key", "api_key", "apiKey", "API-KEY", "APIKey", "openaiApiKey", "apikey", "private_key"),
    *("token", "tokens", "accessToken", "auth_token", "X-Auth-Token", "auth", "jwt", "bearer"),
    *("secret", "client_secret", "clientSecret", "AWS_SECRET_ACCESS_KEY", "credentials"),
    *("password", "db.password", "Passwd", "pwd", "passphrase", "pass", "dbPass", "passcode"),
    *("pat", "github_pat", "oauth", "oauth2", "sid", "connect.sid", "session_id", "PHPSESSID"),
    *("csrf", "X-CSRF-Token", "xcsrf", "dsn", "SENTRY_DSN", "privkey", "sshkey", "sshKey", "totp"),
    *("max_tokens_secret", "public_key_password", "tokenizer_key"),
    *("authorization", "Proxy-Authorization", "cookie", "Set-Cookie"),
]


def test_a_line_says_what_was_decided_why_and_by_whom() -> None:
    line = entry(prepared("read_file", path="a.txt", limit=2), ALLOWED, "policy")
    assert line == {
        "call_id": "call_1",
        "tool": "read_file",
        "effect": "read",
        "arguments": {"path": "a.txt", "limit": 2},
        "decision": "allow",
        "reason": "nobody objected",
        "source": "default",
        "who": "policy",
    }


def test_a_line_holds_no_value_that_has_the_name_of_a_secret() -> None:
    base = prepared("shell", command="ls")
    sent = dataclasses.replace(base, arguments={"url": "x", "headers": {"X-Api-Key": "s3cr3t"}})
    line = entry(sent, ALLOWED, "policy")
    assert line["arguments"] == {"url": "x", "headers": {"X-Api-Key": REDACTED}}


async def test_who_decided_is_the_policy_a_person_or_nobody() -> None:
    for approver, who in (
        (FakeApprover("yes"), "person"),
        (FakeApprover("no"), "person"),
        (FakeApprover(EOFError()), "nobody"),
    ):
        audit = MemoryAudit()
        await run_script(
            ch03.plan,
            [
                says(call("shell", command="ls"), call("write_file", path="../a", content="")),
                says("done"),
            ],
            files=MemoryFiles(),
            approver=approver,
            audit=audit,
        )
        assert [line["who"] for line in audit.entries] == [who, "policy"]


@pytest.mark.parametrize("name", SECRETS)
def test_what_has_the_name_of_a_secret_is_redacted(name: str) -> None:
    assert redacted({name: "s3cr3t"}) == {name: REDACTED}
    assert redacted({"a": [{"b": {name: ["s3cr3t"]}}]}) == {"a": [{"b": {name: REDACTED}}]}


KEPT = [
    *(
        "path",
        "command",
        "keyboard",
        "monkey",
        "author",
        "pass_count",
        "pattern",
        "side",
        "compass",
    ),
    *("max_tokens", "maxTokens", "tokenizer", "secretary", "sort_key", "sortKey", "public_key"),
]


@pytest.mark.parametrize("name", KEPT)
def test_what_has_another_name_is_kept(name: str) -> None:
    assert not is_secret(name)
    assert redacted({name: "value"}) == {name: "value"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"token": "s3cr3t", "a": 1}', '{"token": "[redacted]", "a": 1}'),
        (' [{"a": {"apiKey": "s3cr3t"}}]', '[{"a": {"apiKey": "[redacted]"}}]'),
        ('{"a": {"key": "s3cr3t"}, "a": 1}', '{"a": 1}'),
        ('{"a": "{\\"key\\": \\"s3cr3t\\"}"}', '{"a": "{\\"key\\": \\"[redacted]\\"}"}'),
        ('["{\\"key\\": \\"s3cr3t\\"}"]', '["{\\"key\\": \\"[redacted]\\"}"]'),
        ('{ "a" :  1 }', '{ "a" :  1 }'),
        ("{not json", "{not json"),
        ("[" * 100_000, REDACTED),
    ],
)
def test_json_within_text_is_looked_into(text: str, expected: str) -> None:
    assert redacted({"content": text}) == {"content": expected}


# Where it is written


def test_each_line_is_one_json_object_with_its_time(tmp_path: Path) -> None:
    audit = AuditFile(tmp_path / "audit", now=lambda: NOON)
    audit.record({"reason": "two\nlines \u2028 \u202e \ud800"})
    audit.record({"reason": "more"})
    lines = (tmp_path / "audit").read_bytes().split(b"\n")
    assert [json.loads(line) for line in lines[:-1]] == [
        {"time": "2024-02-29T12:00:00+00:00", "reason": "two\nlines \u2028 \u202e \ud800"},
        {"time": "2024-02-29T12:00:00+00:00", "reason": "more"},
    ]
    assert lines[-1] == b""
    assert b"\\u2028" in lines[0]


def test_what_was_there_is_kept_and_a_line_cut_short_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    path.write_bytes(b'{"reason": "whole"}\n{"reason": "cut sh')
    AuditFile(path).record({"reason": "new"})
    first, cut, new = path.read_text(encoding="utf-8").splitlines()
    assert (first, cut) == ('{"reason": "whole"}', '{"reason": "cut sh')
    assert json.loads(new)["reason"] == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    AuditFile(tmp_path / "audit").record({})
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed there")
def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "audit").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        AuditFile(tmp_path / "audit").record({})
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")
def test_several_programs_write_whole_lines_and_nothing_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    other = AuditFile(tmp_path / "audit")
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        half = real(descriptor, data[:10])
        with monkeypatch.context() as patched:  # another program, when half of this line is there
            patched.setattr(os, "write", real)
            patched.setattr("chapters.ch03.audit.PATIENCE", 0.0)
            try:
                other.record({"reason": "other"})
            except OSError as error:
                seen.append("locked" in str(error))
        return half + real(descriptor, data[10:])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        AuditFile(tmp_path / "audit").record({"reason": "first"})
    other.record({"reason": "other"})
    lines = (tmp_path / "audit").read_text(encoding="utf-8").splitlines()
    assert seen == [True]
    assert [json.loads(line)["reason"] for line in lines] == ["first", "other"]


# When it cannot be written


def unwritable(tmp_path: Path) -> list[Audit]:
    full = [AuditFile(Path("/dev/full"))] if Path("/dev/full").exists() else []
    return [
        MemoryAudit(OSError("disk full")),
        MemoryAudit(RuntimeError("anything")),
        AuditFile(tmp_path / "no" / "such" / "folder"),
        AuditFile(tmp_path),
        *full,
    ]


async def test_what_cannot_be_written_down_does_not_happen(tmp_path: Path) -> None:
    for audit in unwritable(tmp_path):
        recording, commands = await run_a_command(audit)
        assert commands.commands == []
        assert [result.code for result in recording.results] == ["permission_evaluation_error"] * 2
        assert "text" not in recording.results[1].text.split()
        assert str(tmp_path) not in str(recording.messages)


async def test_a_refusal_that_cannot_be_written_down_is_no_ordinary_refusal() -> None:
    recording = await run_script(
        ch03.plan,
        [says(call("shell", command="ls")), says("done")],
        audit=MemoryAudit(OSError("disk full")),
    )
    assert [result.code for result in recording.results] == ["permission_evaluation_error"]


class HalfWritten:
    """A disk on which only half of each line finds room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[: len(data) // 2]))


async def test_half_a_line_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        HalfWritten(patched)
        recording, commands = await run_a_command(AuditFile(tmp_path / "audit"))
    assert commands.commands == []
    assert recording.results[0].code == "permission_evaluation_error"


async def test_the_line_is_on_the_disk_before_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[Any] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        happened.append(json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["decision"])

    def outcome(command: str) -> Any:
        happened.append(command)
        return FakeCommands().outcome

    path = tmp_path / "audit"
    monkeypatch.setattr(os, "fsync", fsync)
    await run_script(
        ch03.plan,
        [says(call("shell", command="ls"), call("shell", command="pwd")), says("done")],
        commands=FakeCommands(outcome),
        approver=FakeApprover("yes"),
        audit=AuditFile(path),
    )
    assert happened == ["allow", "ls", "allow", "pwd"]
