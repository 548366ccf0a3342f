"""`--model human`: what you are shown, and that what you type is treated like a model's reply."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable

import pytest

from chapters import ch01, ch02
from chapters.ch01.chat_wire import to_body
from chapters.ch01.shell import SPEC
from labs.human import HumanLeft, HumanModel
from labs.line_reader import LineReader
from shared.events import fan_out
from shared.history import History
from shared.messages import Image, Request, Text, ToolResult, UserMessage
from shared.plan import Kit, Plan
from shared.ports import CommandOutcome
from shared.screen import Screen
from shared.testing import FakeApprover, FakeCommands, fake_kit

pytestmark = pytest.mark.anyio

SILENCE = fan_out(())


class Sitting:
    """A person at a keyboard who types `typed`, and the screen in front of them."""

    def __init__(self, typed: str) -> None:
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as keyboard:
            keyboard.write(typed.encode())
        self._stream = os.fdopen(reading, encoding="utf-8")
        self._out = io.StringIO()
        self.model = HumanModel(
            LineReader(self._stream),
            Screen(self._out, {}),
            lambda request: to_body(request, "human"),
        )

    @property
    def screen(self) -> str:
        """All that was shown so far."""
        return self._out.getvalue()

    def after(self, text: str) -> str:
        """What was shown after the last `text`."""
        return self.screen.rpartition(text)[2]

    async def ask(
        self,
        plan: Callable[[Kit], Plan] = ch02.plan,
        *,
        prompt: str = "what is there?",
        output: str = "README.md\n",
    ) -> History:
        """Run a chapter's agent with this person as its model."""
        commands = FakeCommands(CommandOutcome(output, 0))
        kit = fake_kit(self.model, commands=commands, approver=FakeApprover())
        conversation = plan(kit).build(kit)
        try:
            await conversation.ask(prompt)
        finally:
            self._stream.close()
            self.history = conversation.history
        return conversation.history


def results(history: History) -> list[ToolResult]:
    """The tool results of a history."""
    return [message for message in history if isinstance(message, ToolResult)]


async def test_the_first_request_shows_how_it_is_done_the_tools_and_the_prompt() -> None:
    sitting = Sitting("Nothing.\n\n")
    await sitting.ask()
    for shown in (
        "you are the model",
        'shell {"command": "…"}',
        "tool spec  shell: Run a command line",
        "path (string, required): Path relative to the workspace",
        "limit (integer or null, optional)",
        "user       what is there?",
    ):
        assert shown in sitting.screen


async def test_text_alone_is_the_answer() -> None:
    sitting = Sitting("There is\nnothing.\n\n")
    history = await sitting.ask()
    assert len(history) == 2
    assert history[-1].text == "There is\nnothing."


async def test_a_call_runs_and_its_result_is_all_that_the_next_request_adds() -> None:
    sitting = Sitting('Let me see.\nshell {"command": "ls"}\n\nA README.\n\n')
    history = await sitting.ask()
    assert [result.text for result in results(history)] == ["README.md\n"]
    second = sitting.after("request 2: all of the last one, and")
    assert 'assistant  Let me see.\n           (call_1) shell {"command": "ls"}' in second
    assert "tool       (call_1)\n           README.md" in second
    assert "what is there?" not in second
    assert "tool spec" not in second


async def test_mistakes_come_back_as_what_a_model_would_read() -> None:
    sitting = Sitting(
        'nope {"a": 1}\nread_file {"path": 3}\nread_file {"path"\nglob {"pattern": "*", "x": 1}\n'
        "\nSorry.\n\n"
    )
    history = await sitting.ask()
    assert [result.code for result in results(history)] == [
        "unknown_tool",
        "invalid_arguments",
        "invalid_json",
        "invalid_arguments",
    ]
    assert "There is no tool 'nope'. The tools are: shell," in sitting.screen


async def test_json_may_go_on_over_lines_and_the_prompt_shows_it() -> None:
    sitting = Sitting('shell {\n"command": "ls"\n}\n\nDone.\n\n')
    history = await sitting.ask()
    assert results(history)[0].code is None
    assert '... "command": "ls"' in sitting.screen


async def test_a_call_without_json_is_not_taken_for_an_answer() -> None:
    sitting = Sitting("read_file README.md\n read_file is what I would use\n\n")
    history = await sitting.ask()
    assert history[-1].text == " read_file is what I would use"
    assert 'Not taken: a call needs JSON, as in  read_file {"path": "…"}' in sitting.screen


async def test_an_empty_line_alone_sends_nothing() -> None:
    sitting = Sitting("\n\n  \n\nYes.\n\n")
    history = await sitting.ask()
    assert history[-1].text == "  \nYes."


async def test_json_is_the_request_as_it_goes_over_the_wire() -> None:
    sitting = Sitting(":json\nDone.\n\n")
    await sitting.ask(ch01.plan)
    shown = sitting.after("> :json\n").partition("\n> ")[0]
    request = Request([UserMessage("what is there?")], (SPEC,))
    assert json.loads(shown) == to_body(request, "human")


async def test_a_picture_is_one_line_with_its_type_and_size() -> None:
    sitting = Sitting("Nice.\n\n")
    photo = Image("image/png", "eHh4eA==")
    asked = UserMessage((Text("What is this?"), photo))
    shown = ToolResult("c1", "look", "", images=(photo,))
    await sitting.model.reply(Request((asked, shown)), SILENCE)
    line = "           [picture image/png, 4 bytes]\n"
    assert f"user       What is this?\n{line}" in sitting.screen
    assert f"tool       (c1)\n{line}" in sitting.screen


async def test_tools_shows_each_schema_and_all_shows_everything_again() -> None:
    sitting = Sitting(":tools\n:all\nDone.\n\n")
    await sitting.ask()
    assert '"additionalProperties": false' in sitting.screen
    assert sitting.after("the whole request").count("tool spec  ") == 5


async def test_undo_takes_the_last_line_back() -> None:
    sitting = Sitting(":undo\nYes.\nNo.\n:undo\n\n")
    history = await sitting.ask()
    assert history[-1].text == "Yes."
    assert "Nothing is typed yet." in sitting.screen
    assert "Taken back: No." in sitting.screen


async def test_help_and_an_unknown_command_say_what_there_is() -> None:
    sitting = Sitting(":help\n:halp\nYes.\n\n")
    await sitting.ask()
    assert sitting.screen.count("── you are the model ─") == 2
    assert "There is no :halp. Type :help" in sitting.screen


async def test_a_long_result_is_shortened_on_the_screen_and_all_is_one_word_away() -> None:
    output = "".join(f"line {number}\n" for number in range(500))
    sitting = Sitting('shell {"command": "x"}\n\n:all\nDone.\n\n')
    history = await sitting.ask(output=output)
    assert results(history)[0].text == output
    assert "[and 441 more lines: type :all to see them]" in sitting.screen
    assert "line 499" in sitting.after("the whole request")


async def test_nothing_foreign_acts_on_the_terminal() -> None:
    hostile = "\x1b[2J\u202e\r"
    sitting = Sitting(':json\nshell {"command": "x"}\n\n:all\n:json\n:\x1b[2J\nDone.\n\n')
    await sitting.ask(prompt=hostile, output=hostile)
    assert not set(sitting.screen) & set("\x1b\u202e\r")
    assert "\\x1b[2J\\u202e\\x0d" in sitting.screen


@pytest.mark.parametrize("typed", ["", ":quit\n", "half a\n:quit\n"])
async def test_leaving_ends_the_run_and_keeps_the_history_whole(typed: str) -> None:
    sitting = Sitting(typed)
    with pytest.raises(HumanLeft):
        await sitting.ask()
    sitting.history.append(UserMessage("again"))
    sitting.history.check_ready()


async def test_the_end_of_the_input_sends_what_was_typed() -> None:
    sitting = Sitting("Yes.")
    history = await sitting.ask()
    assert history[-1].text == "Yes."


async def test_a_history_that_was_rewritten_is_shown_from_its_beginning() -> None:
    sitting = Sitting("One.\n\nTwo.\n\n")
    await sitting.model.reply(Request([UserMessage("long ago")]), SILENCE)
    await sitting.model.reply(Request([UserMessage("a summary")], system="Be brief."), SILENCE)
    assert "request 2: the earlier messages have changed" in sitting.screen
    assert "user       a summary" in sitting.screen
