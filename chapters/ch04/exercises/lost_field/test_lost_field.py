"""What `lost` and the mended converter promise: nothing that a schema says goes missing unseen."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from secrets import token_hex
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from pydantic import Field

from chapters import ch04
from chapters.ch02.registry import Arguments, define_tool
from chapters.ch04.adapters import wire_of
from chapters.ch04.exercises.lost_field import rebuilding
from chapters.ch04.exercises.trial import model_at
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Strict, Target
from chapters.ch04.wire import Json
from shared.messages import ToolResult, ToolSpec
from shared.provider_server import Answer, ProviderServer, Received
from shared.testing import fake_kit
from shared.tools import Effect, Tool

pytestmark = pytest.mark.anyio

TOOLS = "chapters/ch04/README.md#what-a-model-is-told-about-a-tool"

TEXT: Json = {"type": "string"}


class Case(NamedTuple):
    """A schema, what was sent of it, and what is lost."""

    why: str
    schema: Any
    sent: Any
    lost: list[str]


def about(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


CASES = (
    Case("nothing is lost", about(path=TEXT), about(path=TEXT), []),
    Case(
        "a word at the root",
        {**about(), "additionalProperties": False},
        about(),
        ["/additionalProperties"],
    ),
    Case(
        "a parameter, once, and not with all that is in it",
        about(a=TEXT, b=TEXT),
        about(a=TEXT),
        ["/properties/b"],
    ),
    Case(
        "a word of a parameter",
        about(a={**TEXT, "minLength": 1}),
        about(a=TEXT),
        ["/properties/a/minLength"],
    ),
    Case(
        "several, in the order of the schema",
        {"$defs": {}, "type": "object", "required": []},
        {},
        ["/$defs", "/type", "/required"],
    ),
    Case(
        "another value",
        about(a={"maximum": 10}),
        about(a={"maximum": 100}),
        ["/properties/a/maximum"],
    ),
    Case(
        "a value of another kind",
        about(a={"maximum": 10}),
        about(a={"maximum": "10"}),
        ["/properties/a/maximum"],
    ),
    Case(
        "an object in the place of which is something else",
        about(a=TEXT),
        {"type": "object", "properties": None},
        ["/properties"],
    ),
    Case("the whole of it", about(a=TEXT), None, [""]),
    Case(
        "more than there was is no loss",
        about(a=TEXT),
        {**about(a={**TEXT, "maxLength": 9}, b=TEXT), "required": ["a"]},
        [],
    ),
    Case(
        "the order of keys says nothing",
        {"type": "object", "properties": {}},
        {"properties": {}, "type": "object"},
        [],
    ),
    Case(
        "the order of `required` says nothing",
        {"required": ["a", "b"]},
        {"required": ["b", "a"]},
        [],
    ),
    Case(
        "one name of `required`",
        {"required": ["a", "b", "c"]},
        {"required": ["c", "a"]},
        ["/required/1"],
    ),
    Case("one of two types", {"type": ["string", "null"]}, {"type": ["string"]}, ["/type/1"]),
    Case(
        "a list that has become a word", {"type": ["string", "null"]}, {"type": "string"}, ["/type"]
    ),
    Case("one value of an enum", {"enum": ["a", "b", None]}, {"enum": ["b", "a"]}, ["/enum/2"]),
    Case(
        "branches in another order",
        {"anyOf": [TEXT, {"type": "null"}]},
        {"anyOf": [{"type": "null"}, TEXT]},
        [],
    ),
    Case("a branch", {"anyOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT]}, ["/anyOf/1"]),
    Case(
        "a word in a branch",
        {"anyOf": [{**TEXT, "pattern": "a"}, {"type": "null"}]},
        {"anyOf": [TEXT, {"type": "null"}]},
        ["/anyOf/0/pattern"],
    ),
    Case(
        "branches in another order, one without its title",
        {"anyOf": [{**TEXT, "title": "A"}, {"type": "null"}]},
        {"anyOf": [{"type": "null"}, TEXT]},
        [],
    ),
    Case(
        "titles are not for models",
        {"title": "Call", "$comment": "x", "$schema": "y", **about(a={**TEXT, "title": "A"})},
        about(a=TEXT),
        [],
    ),
    Case(
        "a parameter called title is a parameter",
        about(title=TEXT, a=TEXT),
        about(a=TEXT),
        ["/properties/title"],
    ),
    Case(
        "and so is one called $comment, further down",
        about(a=about(**{"$comment": TEXT})),
        about(a=about()),
        ["/properties/a/properties/$comment"],
    ),
    Case(
        "a parameter called properties holds a schema",
        about(properties={**TEXT, "title": "P"}),
        about(properties=TEXT),
        [],
    ),
    Case(
        "a parameter called default holds a schema",
        about(default={"enum": [1, 2]}),
        about(default={"enum": [2, 1, 3]}),
        [],
    ),
    Case(
        "a definition called title is a definition",
        {"$defs": {"title": TEXT}},
        {"$defs": {}},
        ["/$defs/title"],
    ),
    Case(
        "a title in a value is part of the value",
        about(a={"default": {"title": "x"}}),
        about(a={"default": {}}),
        ["/properties/a/default"],
    ),
    Case(
        "a value is not the beginning of another",
        {"enum": [{"a": 1}]},
        {"enum": [{"a": 1, "b": 2}]},
        ["/enum/0"],
    ),
    Case("in a value the order counts", {"const": [1, 2]}, {"const": [2, 1]}, ["/const"]),
    Case("null is something", about(a={"default": None}), about(a={}), ["/properties/a/default"]),
    Case("null that is still there", about(a={"default": None}), about(a={"default": None}), []),
    Case(
        "false is not 0",
        {"additionalProperties": False},
        {"additionalProperties": 0},
        ["/additionalProperties"],
    ),
    Case("true is not 1", {"enum": [True]}, {"enum": [1]}, ["/enum/0"]),
    Case("1 is 1.0", {"minimum": 1, "enum": [2]}, {"minimum": 1.0, "enum": [2.0]}, []),
    Case(
        "a reference",
        {"$defs": {"A": TEXT}, **about(a={"$ref": "#/$defs/A"})},
        about(a={"$ref": "#/$defs/A"}),
        ["/$defs"],
    ),
    Case(
        "names with / and ~",
        about(**{"a/b": TEXT, "c~d": TEXT}),
        about(),
        ["/properties/a~1b", "/properties/c~0d"],
    ),
)


@pytest.mark.contract("`lost` names what is lost, and nothing else.", read=TOOLS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.why)
async def test_lost(target: ModuleType, case: Case) -> None:
    found = target.lost(case.schema, case.sent)
    assert found == case.lost, f"{case.why}\n  schema {case.schema}\n  sent   {case.sent}"


@pytest.mark.contract("Looking changes neither the schema nor what was sent.", read=TOOLS)
async def test_looking_changes_nothing(target: ModuleType) -> None:
    for case in CASES:
        before = deepcopy((case.schema, case.sent))
        target.lost(case.schema, case.sent)
        assert (case.schema, case.sent) == before


def some_schema(rng: random.Random, depth: int = 3) -> Json:
    """A schema that nobody has seen, with a description at every node, so that no two are alike."""
    said: Json = {"description": f"{rng.getrandbits(32):08x}"}
    kind = rng.choice(["object", "object", "array", "string", "anyOf"]) if depth else "string"
    match kind:
        case "object":
            names = rng.sample(["path", "title", "required", "type", "enum", "a/b", "default"], 3)
            inner = {name: some_schema(rng, depth - 1) for name in names}
            more = {"required": names[:2], "additionalProperties": False}
            return {**said, "type": "object", "properties": inner, **more}
        case "array":
            return {**said, "type": "array", "items": some_schema(rng, depth - 1), "minItems": 1}
        case "anyOf":
            return {**said, "anyOf": [some_schema(rng, depth - 1) for _ in range(3)]}
    return {**said, "type": "string", "pattern": f"^{rng.getrandbits(16):x}$"}


def some_tool(rng: random.Random) -> ToolSpec:
    """A tool with such a schema, whose root is an object."""
    names = rng.sample(["path", "title", "properties", "$defs", "c~d"], 3)
    properties = {name: some_schema(rng) for name in names}
    rest = {"required": names[:1], "additionalProperties": False, "description": "A call."}
    return ToolSpec("look_up", "Looks up.", {**about(**properties), **rest})


def keys_in(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to each key of each object in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*steps, key)
            yield from keys_in(inner, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from keys_in(item, (*steps, index))


def without(value: Any, steps: tuple[str | int, ...]) -> Any:
    """A copy of a value in which one key is missing."""
    copy = deepcopy(value)
    inner = copy
    for step in steps[:-1]:
        inner = inner[step]
    del inner[steps[-1]]
    return copy


def pointer(steps: tuple[str | int, ...]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


SENT: dict[Api, Callable[[Json], Json]] = {
    Api.CHAT: lambda body: body["tools"][0]["function"]["parameters"],
    Api.RESPONSES: lambda body: body["tools"][0]["parameters"],
    Api.ANTHROPIC: lambda body: body["tools"][0]["input_schema"],
    Api.GEMINI: lambda body: body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"],
}
PROVIDERS = {provider.api: provider for provider in reversed(KNOWN.values())}


@pytest.mark.contract("No adapter of the chapter loses anything, by your own `lost`.", read=TOOLS)
@pytest.mark.parametrize("api", Api)
async def test_every_adapter(target: ModuleType, api: Api) -> None:
    wire, whom = wire_of(api), Target(PROVIDERS[api], "a-model")
    for seed in random.sample(range(10_000), 10):
        spec = some_tool(random.Random(seed))
        found = target.lost(spec.parameters, SENT[api](wire.tools([spec], whom)))
        assert found == [], f"{api} loses this, or so you say (seed {seed})"


@pytest.mark.contract("Let any adapter lose any one word, and `lost` names it.", read=TOOLS)
@pytest.mark.parametrize("api", Api)
async def test_every_broken_adapter(target: ModuleType, api: Api) -> None:
    wire, whom = wire_of(api), Target(PROVIDERS[api], "a-model")
    seed = random.randrange(10_000)
    rng = random.Random(seed)
    spec = some_tool(rng)
    sent = SENT[api](wire.tools([spec], whom))
    ways = list(keys_in(dict(spec.parameters)))
    for way in rng.sample(ways, min(40, len(ways))):
        found = target.lost(spec.parameters, without(sent, way))
        assert found == [pointer(way)], f"{api} has lost {pointer(way)} (seed {seed})"


@pytest.mark.contract(
    "What a strict schema says in other words, or not at all, counts.", read=TOOLS
)
async def test_strict_schemas(target: ModuleType) -> None:
    limit = {"type": "integer", "default": random.randrange(100)}
    spec = ToolSpec("read", "Reads.", {**about(limit=limit), "additionalProperties": False})
    whom = Target(replace(KNOWN["openai"], strict=Strict.ON), "a-model")
    sent = SENT[Api.CHAT](wire_of(Api.CHAT).tools([spec], whom))
    found = target.lost(spec.parameters, sent)
    assert found == ["/properties/limit/type", "/properties/limit/default"], f"sent was {sent}"


def anthropic() -> Target:
    return Target(KNOWN["anthropic"], "a-model")


@pytest.mark.contract("The converter that rebuilds a schema is found out.", read=TOOLS)
async def test_the_given_converter(target: ModuleType) -> None:
    spec = some_tool(random.Random())
    parameters = {"$defs": {"A": TEXT}, **spec.parameters, "maxProperties": 2}
    sent = rebuilding.tools_to_wire([replace(spec, parameters=parameters)], anthropic())
    found = target.lost(parameters, SENT[Api.ANTHROPIC](sent))
    assert found == ["/$defs", "/additionalProperties", "/description", "/maxProperties"]


@pytest.mark.contract("The mended converter loses nothing, of any schema.", read=TOOLS)
async def test_the_mended_converter(target: ModuleType) -> None:
    for seed in random.sample(range(10_000), 20):
        spec = some_tool(random.Random(seed))
        unheard = {f"x-{token_hex(2)}": token_hex(4), "$defs": {"A": TEXT}}
        parameters = {**unheard, **spec.parameters}
        before = deepcopy(parameters)
        sent = target.tools_to_wire([replace(spec, parameters=parameters)], anthropic())
        assert parameters == before, "the tool's own schema was changed"
        schema = SENT[Api.ANTHROPIC](sent)
        gone = [key for key in parameters if key not in schema]
        assert gone == [], f"lost at the root: {gone} (seed {seed})"
        assert {key: schema[key] for key in parameters} == parameters


@pytest.mark.contract("The root has the type object, whatever the schema says.", read=TOOLS)
@pytest.mark.parametrize("said", [{}, {"type": ["object", "null"]}, {"type": "string"}], ids=repr)
async def test_the_type_of_the_root(target: ModuleType, said: Json) -> None:
    parameters = {**said, "properties": {"a": TEXT}, "additionalProperties": False}
    before = deepcopy(parameters)
    sent = target.tools_to_wire([ToolSpec("look", "Looks.", parameters)], anthropic())
    assert SENT[Api.ANTHROPIC](sent) == {**parameters, "type": "object"}
    assert parameters == before, "the tool's own schema was changed"


@pytest.mark.contract("Names, descriptions and the order of the tools are as before.", read=TOOLS)
async def test_the_rest_is_as_before(target: ModuleType) -> None:
    names = [f"look_{token_hex(2)}", "look.up", "x" * 200]
    specs = [ToolSpec(name, token_hex(4), {"type": "object"}) for name in names]
    for spec in (*specs, ToolSpec("no_type", "Has no type.", {})):
        (tool,) = target.tools_to_wire([spec], anthropic())["tools"]
        (before,) = rebuilding.tools_to_wire([spec], anthropic())["tools"]
        assert [tool["name"], tool["description"]] == [before["name"], before["description"]]
        assert tool["input_schema"].get("type") == "object", "Anthropic wants the type of the root"
    sent = target.tools_to_wire(specs, anthropic())["tools"]
    assert [each["description"] for each in sent] == [each.description for each in specs]


class Place(Arguments):
    """Where."""

    city: str


class Forecast(Arguments):
    """Which forecast."""

    place: Place
    days: int = Field(ge=1, le=7)


def forecast(word: str) -> Tool:
    async def handler(arguments: Forecast) -> str:
        return f"{arguments.place.city}: {word}"

    return define_tool("forecast", "The weather to come.", Effect.READ, Forecast, handler)


def willing(received: Received) -> Answer:
    """A model that sends all that a schema lets it send, at a server that knows schemas."""
    schema = received.body["tools"][0]["input_schema"]
    if "$ref" in str(schema) and "Place" not in schema.get("$defs", {}):
        said = "tools.0.input_schema: #/$defs/Place is not there"
        return Answer(
            {"type": "error", "error": {"type": "invalid_request_error", "message": said}}, 400
        )
    arguments: Json = {"place": {"city": "Oslo"}, "days": 3}
    if schema.get("additionalProperties", True) is not False:
        arguments["units"] = "celsius"
    block = {"type": "tool_use", "id": "toolu_1", "name": "forecast", "input": arguments}
    return Answer({"role": "assistant", "content": [block], "stop_reason": "tool_use"})


def reads_out(received: Received) -> Answer:
    (result,) = received.body["messages"][-1]["content"]
    block = {"type": "text", "text": str(result["content"])}
    return Answer({"role": "assistant", "content": [block], "stop_reason": "end_turn"})


@pytest.mark.contract(
    "Sent by your converter, a schema holds a model to what the tool takes.", read=TOOLS
)
async def test_over_the_wire(target: ModuleType) -> None:
    word = token_hex(8)
    wire = replace(wire_of(Api.ANTHROPIC), tools=target.tools_to_wire)
    with ProviderServer(willing, reads_out) as server:
        async with model_at(server.base_url, wire, anthropic()) as model:
            plan = replace(ch04.plan(fake_kit(model)), tools=(forecast(word),))
            conversation = plan.build(fake_kit(model))
            reply = await conversation.ask("What will the weather be?")
    failed = [m.text for m in conversation.history if isinstance(m, ToolResult) and m.code]
    assert failed == [], "the model was not told what the tool does not take"
    assert reply.text == f"Oslo: {word}"
