/** Tools as Python signatures that a type checker understands: what a script calls is known before it runs. */
import { isJsonObject, type Json, type JsonObject } from "../../../../calls/json.ts";
import type { ToolSketch } from "../../../sandbox.ts";
import { keywords, standsAlone } from "../names.ts";
import { argumentOrder, toolNames } from "../tool-names.ts";

const head = `from typing import Any as _Any
_unset: _Any = None
`;

/** What a script says it with. */
interface Said {
  readonly names: readonly string[];
  readonly stub: string;
}

/** Of a result, whose other members a script that does not say them cannot miss. */
const ofResult: readonly Said[] = [
  { names: ["text"], stub: "    text: str" },
  { names: ["structured"], stub: "    structured: _Any" },
  { names: ["ref"], stub: "    ref: _Any" },
  { names: ["files"], stub: "    files: list[_Any]" },
  { names: ["status"], stub: "    status: str" },
  { names: ["await", "asyncio", "__await__"], stub: "    def __await__(self) -> _Any: return None" },
  { names: ["materialize"], stub: '    def materialize(self, **options: _Any) -> str: return ""' },
];

/** What a script has besides tools. */
const besides: readonly Said[] = [
  {
    names: ["PermissionError", "ToolError", "ToolDenied"],
    stub: `class PermissionError(OSError): ...
class ToolError(Exception):
    message: str
    code: str
    advice: str
    tool: str
class ToolDenied(ToolError, PermissionError): ...
`,
  },
  {
    names: ["progress"],
    stub: `def progress(message: _Any = "", fraction: _Any = None, **more: _Any) -> None: ...
`,
  },
  {
    names: ["artifacts"],
    stub: `class _Artifacts:
    def put(self, path: _Any, type: str | None = None, **options: _Any) -> str: return ""
    def materialize(self, value: _Any, **options: _Any) -> str: return ""
artifacts = _Artifacts()
`,
  },
];

/** Types go by names of their own: among tools, `str` may be one of them. A result may stand for any value. */
const types: readonly (readonly [name: string, stub: string])[] = [
  ["_name", "_name = str\n"],
  ["_str", "_str = str | ToolResult\n"],
  ["_int", "_int = int | ToolResult\n"],
  ["_float", "_float = float | ToolResult\n"],
  ["_bool", "_bool = bool | ToolResult\n"],
  ["_list", "_list = list[_Any] | tuple[_Any, ...] | set[_Any] | ToolResult\n"],
  ["_dict", "_dict = dict[_Any, _Any] | ToolResult\n"],
];

/**
 * What stands before a script when it is checked. Its classes of tools are called \`Tools\` and \`Tools_<server>\`.
 *
 * Only of what the script names, because a stub takes the checker longer than a line of a script. And nothing in it gives the
 * checker a finding, because it forgets all it knows with one.
 */
export function pythonStubs(tools: readonly ToolSketch[], source: string): string {
  const named = wordsOf(source);
  const { servers, plain: called, acting: actions } = toolNames(tools);
  const groups = [...servers].filter(([server]) => named.has(server));
  const classes = groups.map(([server, members]) =>
    classOf(
      `Tools_${server}`,
      [...members].filter(([name]) => named.has(name) && !keywords.has(name)).map(([name, tool]) => method(name, tool)),
    ),
  );
  const plain = [...called].filter(([name]) => named.has(name) && !keywords.has(name) && !servers.has(name));
  const all = [
    ...groups.map(([server]) => `    ${server}: Tools_${server}`),
    ...plain.map(([name, tool]) => method(name, tool)),
  ];
  const acting = [...actions].filter((name) => named.has(name));
  const single = plain.map(([name]) => name).filter(standsAlone);
  const bare = [...new Set([...single, ...acting])].map((name) => `${name} = tools.${name}`);
  const isByName = source.includes("[") || named.has("__getitem__");
  const byName = isByName ? ["    def __getitem__(self, name: _name) -> _Any: return None"] : [];
  const made = `${classes.join("")}${classOf("Tools", [...all, ...byName])}tools = Tools()\n${bare.join("\n")}\n`;
  return `${head}${before(made, named)}${made}`;
}

/** Of all that a script may say beside its tools' names, and its tools' stubs do, what these say. */
function before(made: string, named: ReadonlySet<string>): string {
  const stubsOf = (all: readonly Said[]): readonly string[] =>
    all.filter(({ names }) => names.some((name) => named.has(name))).map(({ stub }) => stub);
  const result = `${classOf("ToolResult", stubsOf(ofResult))}_Result = ToolResult\n`;
  const said = [result, ...stubsOf(besides)];
  const used = types.filter(([name]) => made.includes(`: ${name}`)).map(([, stub]) => stub);
  return [...said, ...used].join("");
}

/** Every name in it, and more: as Python reads them, in whichever letters they are written. */
function wordsOf(source: string): ReadonlySet<string> {
  return new Set(source.normalize("NFKC").match(/[A-Za-z_]\w*/g));
}

function classOf(name: string, members: readonly string[]): string {
  return `class ${name}:\n${members.length === 0 ? "    pass" : members.join("\n")}\n`;
}

function method(name: string, tool: ToolSketch): string {
  return `    def ${name}(${["_own", "/", ...parameters(tool)].join(", ")}) -> _Result: return _Result()`;
}

function parameters(tool: ToolSketch): readonly string[] {
  const { properties, required, additionalProperties } = tool.inputSchema;
  const needed: ReadonlySet<Json> = new Set(Array.isArray(required) ? required : []);
  const members: JsonObject = isJsonObject(properties) ? properties : {};
  const named = argumentOrder(tool.inputSchema).filter(
    (name) => /^[A-Za-z_]\w*$/.test(name) && !keywords.has(name) && !ours.has(name),
  );
  const leading = named.findIndex(
    (name, at) => !needed.has(name) && named.slice(at).some((later) => needed.has(later)),
  );
  const first = leading < 0 ? named : named.slice(0, leading);
  const rest = leading < 0 ? [] : named.slice(leading); // a needed one behind an optional one: Python has no way to say it but by name
  const shown = (name: string): string => `${name}: ${typeOf(members[name])}${needed.has(name) ? "" : " = _unset"}`;
  const open = additionalProperties !== false || named.length < argumentOrder(tool.inputSchema).length;
  return [
    ...first.map(shown),
    ...(rest.length === 0 ? [] : ["*", ...rest.map(shown)]),
    ...(open ? ["**_more: _Any"] : []),
  ];
}

/** Of the stubs' own making: a tool's argument of that name is among the rest. */
const ours: ReadonlySet<string> = new Set(["_own", "_more"]);

const typeNames: ReadonlyMap<string, string> = new Map([
  ["string", "_str"],
  ["integer", "_int"],
  ["number", "_float"],
  ["boolean", "_bool"],
  ["array", "_list"],
  ["object", "_dict"],
]);

/** Only what is certain: a checker that is stricter than the gate would refuse what may be called. */
function typeOf(schema: Json | undefined): string {
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  return (typeof type === "string" ? typeNames.get(type) : undefined) ?? "_Any";
}
