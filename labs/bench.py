"""What the workbook costs, as ratios measured in one run: `python -m labs.bench [--json]`.

Every figure is a ratio against a floor that is timed in the same run, in interleaved rounds, in CPU
time, so that it means the same on a fast machine and on a slow one. The floor of a turn is a bare
loop with the same pydantic validation; that of a turn with a provider's client is the HTTP library
below it; that of a file read is `open().read()`; that of a search is pathlib and a plain
`os.scandir` walk; that of an import is `import pydantic`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from chapters.ch01.loop import run
from chapters.ch02.registry import Arguments, Registry, define_tool
from chapters.ch02.workspace import open_workspace
from labs.bench_arguments import argument_figures, arrival_figures
from labs.bench_client import client_figures
from labs.bench_stream import stream_figures
from labs.timing import ROUNDS, Figure, cpu_seconds, growth, paired
from shared.events import Emit, Event, fan_out
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    UserMessage,
)
from shared.sources import Inbox
from shared.tools import Effect, call_handler

STARTS = 4  # fresh interpreters a round: one alone is too short to time

RUNNER = asyncio.Runner()  # one event loop for everything: starting one is not what is measured


# A turn: one call of add(a, b), validated, run, answered.


class Add(Arguments):
    """Two numbers."""

    a: int
    b: int


async def add(arguments: Add) -> str:
    """Their sum."""
    return str(arguments.a + arguments.b)


REGISTRY = Registry((define_tool("add", "Add two numbers.", Effect.READ, Add, add),), call_handler)


class CountingModel:
    """An in-process model that asks for one addition a turn, `turns` times, and then says so."""

    def __init__(self, turns: int) -> None:
        self._left = turns

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """The next reply."""
        if not self._left:
            return AssistantMessage((Text("done"),))
        self._left -= 1
        call = ToolCall(f"call_{self._left}", "add", '{"a": 2, "b": 3}')
        return AssistantMessage((call,), StopReason.TOOL_USE)


def run_agent(turns: int) -> None:
    """Our loop, registry, history and events, for `turns` turns."""
    seen: list[type[Event]] = []

    def listener(event: Event) -> None:
        seen.append(type(event))

    inbox = Inbox()
    inbox.put(UserMessage("go"))
    RUNNER.run(
        run(
            CountingModel(turns),
            REGISTRY,
            History(),
            arrivals=inbox,
            emit=fan_out([listener]),
            max_turns=turns + 1,
        )
    )
    assert len(seen) > turns * 6


def plain_add(a: int, b: int) -> int:
    """The floor's tool."""
    return a + b


ADD: TypeAdapter[Any] = TypeAdapter(plain_add)  # type: ignore[arg-type]  # a function is one too


def run_floor(turns: int) -> None:
    """The least that can be called an agent: a list of dicts, a dict of tools, validated calls."""

    async def model(messages: list[dict[str, Any]], left: int) -> dict[str, Any]:
        if not left:
            return {"role": "assistant", "content": "done", "tool_calls": []}
        call = {"id": f"call_{left}", "name": "add", "arguments": '{"a": 2, "b": 3}'}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    async def loop() -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        tools = {"add": ADD}
        left = turns
        while True:
            reply = await model(messages, left)
            left -= 1
            messages.append(reply)
            if not reply["tool_calls"]:
                return
            for call in reply["tool_calls"]:
                try:
                    content = str(tools[call["name"]].validate_json(call["arguments"]))
                except Exception as error:
                    content = f"Error: {error}"
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    RUNNER.run(loop())


def peak_memory(function: str) -> float:
    """Peak memory in MB of a fresh process that runs `function` for 10,000 turns."""
    program = f"from labs.bench import {function}, peak\n{function}(10_000)\nprint(peak())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def peak() -> float:
    """Peak resident memory of this process in MB."""
    import resource

    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20


# Files.


def read_figure(root: Path) -> Figure:
    """How many reads at depth 3 the adapter does in the time of one plain read, confined or not."""
    path = root / "a" / "b" / "c" / "file.txt"
    path.parent.mkdir(parents=True)
    path.write_text("x" * 1000)
    count = 3000

    async def confined() -> None:
        for _ in range(count):
            await files.read_text("a/b/c/file.txt")

    def plain() -> None:
        for _ in range(count):
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                file.read()

    with open_workspace(root) as files:
        cost = paired("", "", lambda: RUNNER.run(confined()), plain)
    return Figure(
        "reads at depth 3, rate over plain open().read()",
        1 / cost.ratio,
        1 / cost.highest,
        1 / cost.lowest,
        ">= 0.45",
    )


def glob_figures(root: Path, count: int) -> list[Figure]:
    """A search for **/*.py in a tree of `count` files."""
    for folder in range(count // 100):
        inside = root / f"d{folder % 40}" / f"e{folder}"
        inside.mkdir(parents=True)
        for number in range(100):
            (inside / f"f{number}.{'py' if number % 5 == 0 else 'txt'}").touch()
    expected = count // 5

    def ours() -> None:
        with open_workspace(root) as files:
            assert len(RUNNER.run(files.glob("**/*.py"))) == expected

    def by_pathlib() -> None:
        assert len(sorted(str(path) for path in root.glob("**/*.py"))) == expected

    def by_scandir() -> None:
        found, stack = [], [str(root)]
        while stack:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                    elif entry.name.endswith(".py"):
                        found.append(entry.path)
        assert len(sorted(found)) == expected

    name = f"glob **/*.py over {count:,} files, CPU over"
    return [
        paired(f"{name} pathlib", "<= 1", ours, by_pathlib),
        paired(f"{name} a bare scandir walk", "aim 1.3", ours, by_scandir),
    ]


# Start-up.


def fresh(program: str) -> Callable[[], None]:
    """An action that runs `program` in a fresh interpreter."""

    def action() -> None:
        for _ in range(STARTS):
            subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)

    return action


def start_up_figure() -> Figure:
    """`workbook list` over what it may take: 2.5 times a bare interpreter, and 40 ms."""
    ours = fresh("from labs.cli import main\nmain(['list'], standalone_mode=False)")
    bare = fresh("pass")
    ours()
    ratios = []
    for _ in range(ROUNDS):
        allowed = 2.5 * cpu_seconds(bare) + 0.040 * STARTS
        ratios.append(cpu_seconds(ours) / allowed)
    name = "workbook list over 2.5 times python -c pass + 40 ms"
    return Figure(name, statistics.median(ratios), min(ratios), max(ratios), "<= 1")


CHAPTER_2 = (
    "import chapters.ch02, chapters.ch02.file_tools, chapters.ch02.registry, chapters.ch01.loop, "
    "chapters.ch01.dispatch, chapters.ch01.question, chapters.ch01.shell, shared.conversation"
)


def measure(files: int) -> list[Figure]:
    """All figures, in the order in which they are printed."""
    figures = [
        paired(
            "a tool-call turn, 200 turns, events on, over a bare loop",
            "<= 8",
            lambda: run_agent(200),
            lambda: run_floor(200),
        ),
        growth("a turn in a run of 800 over one in a run of 50", "<= 1.3", run_agent, 50, 800),
        *client_figures(),
        *stream_figures(),
        *argument_figures(),
        *arrival_figures(),
    ]
    if sys.platform != "win32":  # which has no `resource`
        memory = peak_memory("run_agent") / peak_memory("run_floor")
        figures.append(
            Figure("peak memory of 10,000 turns over the floor's", memory, memory, memory, "<= 2")
        )
    with tempfile.TemporaryDirectory() as folder:
        figures.append(read_figure(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        figures.extend(glob_figures(Path(folder), files))
    figures.append(
        paired(
            "import chapter 2 and all its plan needs, over import pydantic",
            "<= 1.3",
            fresh(CHAPTER_2),
            fresh("import pydantic\nclass M(pydantic.BaseModel):\n    a: int"),
        )
    )
    figures.append(start_up_figure())
    return figures


def main() -> None:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--files", type=int, default=100_000, help="size of the searched tree (default 100,000)"
    )
    options = parser.parse_args()
    figures = measure(options.files)
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
        return
    for figure in figures:
        print(
            f"{figure.ratio:7.2f}  ({figure.lowest:.2f} to {figure.highest:.2f})  "
            f"{figure.name}  [target {figure.target}]"
        )


if __name__ == "__main__":
    main()
