import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { LostAnswer } from "../../results/raw-result.ts";
import type { PreviewContext } from "../../tools/tool.ts";
import { callerOf } from "./adapter.ts";
import { invalid, type ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import type { UpstreamAnswer, UpstreamCall, UpstreamTool } from "./upstream.ts";

/** The server's own name of the tool that makes previews for another one. */
export function previewToolOf(tool: string, { tools }: ServerConfig): string | undefined {
  return tools !== undefined && Object.hasOwn(tools, tool) ? tools[tool]?.preview : undefined;
}

/**
 * Checks what can be known before the server lists its tools.
 *
 * @param settings where settings of its tools are written
 * @throws RuntimeFault `options_invalid`
 */
export function checkPreviewTools(config: ServerConfig, settings: string): void {
  for (const tool of Object.keys(config.tools ?? {})) {
    const name = previewToolOf(tool, config);
    const stated = name === undefined ? undefined : { name, inputSchema: {} };
    if (name === tool)
      throw invalid(`\`${settings}.${tool}.preview\` is the tool itself; name another one, which only reads.`);
    const problem =
      stated && (config.trust === "annotations" ? hiddenProblem(stated.name, config) : problemOf(stated, config));
    if (problem !== undefined) throw invalid(`\`${settings}.${tool}.preview\` is \`${name}\`, which ${problem}`);
  }
}

/** Why a listed tool cannot have the previews that its settings ask for. */
export function previewProblem(
  tool: string,
  listed: readonly UpstreamTool[],
  config: ServerConfig,
): string | undefined {
  const name = previewToolOf(tool, config);
  if (name === undefined) return undefined;
  const found = listed.find((one) => one.name === name);
  const problem = found === undefined ? "its server does not list. Name one that it lists." : problemOf(found, config);
  return problem && `Its \`preview\` is \`${name}\`, which ${problem}`;
}

function problemOf(tool: UpstreamTool, config: ServerConfig): string | undefined {
  const { risk, effects } = termsOf(tool, config);
  if (risk !== "safe" || effects !== "read")
    return `is not read-only (risk \`${risk}\`, effects \`${effects}\`): a preview runs before a person approves. If the server lists it and it only reads, write \`${tool.name}: { risk: safe, effects: read }\` under \`tools\`.`;
  return hiddenProblem(tool.name, config);
}

function hiddenProblem(name: string, { tools }: ServerConfig): string | undefined {
  const isOff = tools !== undefined && Object.hasOwn(tools, name) && tools[name]?.enabled === false;
  return isOff ? "is switched off (`enabled: false`)." : undefined;
}

/** A preview reads for the caller of the call that it shows. Its key is its own, because that call may follow. */
export function previewCallOf(context: PreviewContext): UpstreamCall {
  const { signal, idempotencyKey, principal } = context;
  return {
    signal,
    idempotencyKey: `${idempotencyKey}:preview`,
    caller: () => callerOf(context),
    onProgress: () => undefined,
    principal,
  };
}

/**
 * What a tool answered, as a local tool's `preview` answers: structured content with a `summary`, else its text.
 *
 * @throws Error when it failed
 */
export function previewIn(answer: UpstreamAnswer | LostAnswer): Json {
  if (answer instanceof LostAnswer) throw new Error("its answer is too large to be shown");
  const { content, structured, isError } = answer;
  const text = content.flatMap((block) => textIn(block as Json)).join("\n"); // it was read from JSON
  if (isError) throw new Error(text === "" ? "it failed" : text);
  if (isJsonObject(structured as Json) && typeof (structured as JsonObject)["summary"] === "string")
    return structured as JsonObject;
  if (text !== "") return text;
  return structured === undefined ? null : JSON.stringify(structured);
}

function textIn(block: Json): readonly string[] {
  return isJsonObject(block) && typeof block["text"] === "string" ? [block["text"]] : [];
}
