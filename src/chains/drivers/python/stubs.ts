/** Tools as Python signatures that a type checker understands: what a script calls is known before it runs. */
import { isJsonObject, type Json, type JsonObject } from "../../../calls/json.ts";
import type { ToolSketch } from "../../sandbox.ts";
import { keywords, pythonName, standsAlone } from "./names.ts";

const head = `from typing import Any
class PermissionError(OSError): ...
class ToolResult:
    text: str
    structured: Any
    ref: Any
    files: list[Any]
    status: str
    def __await__(self) -> Any: ...
    def materialize(self, **options: Any) -> str: return ""
class ToolError(Exception):
    message: str
    code: str
    advice: str
    tool: str
class ToolDenied(ToolError, PermissionError): ...
def progress(message: Any = "", fraction: Any = None, **more: Any) -> None: ...
class _Artifacts:
    def put(self, path: Any, type: str | None = None, **options: Any) -> str: return ""
    def materialize(self, value: Any, **options: Any) -> str: return ""
artifacts = _Artifacts()
`;

/** What stands before a script when it is checked. Its classes of tools are called \`Tools\` and \`Tools_<server>\`. */
export function pythonStubs(tools: readonly ToolSketch[]): string {
  const servers = new Map<string, ToolSketch[]>();
  for (const tool of tools) {
    if (tool.server !== undefined)
      servers.set(pythonName(tool.server), [...(servers.get(pythonName(tool.server)) ?? []), tool]);
  }
  const groups = [...servers].map(([server, members]) =>
    classOf(
      `Tools_${server}`,
      members
        .filter((tool) => !keywords.has(pythonName(tool.short)))
        .map((tool) => method(pythonName(tool.short), tool)),
    ),
  );
  const plain = [...plainNames(tools)].filter(([name]) => !keywords.has(name) && !servers.has(name));
  const all = [
    ...[...servers.keys()].map((server) => `    ${server}: Tools_${server}`),
    ...plain.map(([name, tool]) => method(name, tool)),
  ];
  const bare = plain.filter(([name]) => standsAlone(name)).map(([name]) => `${name} = tools.${name}`);
  return `${head}${groups.join("")}${classOf("Tools", [...all, "    def __getitem__(self, name: str) -> Any: ..."])}tools = Tools()\n${bare.join("\n")}\n`;
}

/** Names behind `tools.` that lead to one tool: the full one, and the short one where only one tool is called so. */
export function plainNames(tools: readonly ToolSketch[]): ReadonlyMap<string, ToolSketch> {
  const short = new Map<string, ToolSketch | undefined>();
  for (const tool of tools) {
    const name = pythonName(tool.short);
    short.set(name, short.has(name) ? undefined : tool);
  }
  const names = new Map<string, ToolSketch>();
  for (const [name, tool] of short) if (tool !== undefined) names.set(name, tool);
  for (const tool of tools) names.set(pythonName(tool.name), tool);
  return names;
}

/** A tool's arguments in the order they may be given without names. */
export function argumentOrder({ inputSchema: { properties } }: ToolSketch): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

function classOf(name: string, members: readonly string[]): string {
  return `class ${name}:\n${members.length === 0 ? "    pass" : members.join("\n")}\n`;
}

function method(name: string, tool: ToolSketch): string {
  return `    def ${name}(${["self", ...parameters(tool)].join(", ")}) -> ToolResult: return ToolResult()`;
}

function parameters(tool: ToolSketch): readonly string[] {
  const { properties, required, additionalProperties } = tool.inputSchema;
  const needed: ReadonlySet<Json> = new Set(Array.isArray(required) ? required : []);
  const members: JsonObject = isJsonObject(properties) ? properties : {};
  const named = argumentOrder(tool).filter(
    (name) => /^[A-Za-z_]\w*$/.test(name) && !keywords.has(name) && name !== "self",
  );
  const leading = named.findIndex(
    (name, at) => !needed.has(name) && named.slice(at).some((later) => needed.has(later)),
  );
  const first = leading < 0 ? named : named.slice(0, leading);
  const rest = leading < 0 ? [] : named.slice(leading); // a needed one behind an optional one: Python has no way to say it but by name
  const shown = (name: string): string => `${name}: ${typeOf(members[name])}${needed.has(name) ? "" : " = ..."}`;
  const open = additionalProperties !== false || named.length < argumentOrder(tool).length;
  return [
    ...first.map(shown),
    ...(rest.length === 0 ? [] : ["*", ...rest.map(shown)]),
    ...(open ? ["**more: Any"] : []),
  ];
}

const names: ReadonlyMap<string, string> = new Map([
  ["string", "str"],
  ["integer", "int"],
  ["number", "float"],
  ["boolean", "bool"],
  ["array", "list[Any] | tuple[Any, ...] | set[Any]"],
  ["object", "dict[Any, Any]"],
]);

/** Only what is certain: a checker that is stricter than the gate would refuse what may be called. A result may stand for any value. */
function typeOf(schema: Json | undefined): string {
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  const found = typeof type === "string" ? names.get(type) : undefined;
  return found === undefined ? "Any" : `${found} | ToolResult`;
}
