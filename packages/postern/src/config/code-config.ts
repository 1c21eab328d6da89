import { isRecord, messageOf, toSnakeCase } from "@postern/core";
import type { Hooks } from "../observe/hooks.ts";
import type { ChannelsOptions } from "../observe/notify/open-channels.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import { type AnyTool, kindOf } from "../tools/kinds.ts";
import { isToolset, type Toolset } from "../tools/toolsets/toolset.ts";
import { configOpaque } from "./config-schema.ts";
import { ConfigProblems } from "./problem.ts";

/** A configuration before it is checked: its data in snake_case, and its live objects. */
export interface CodeConfig {
  readonly data: unknown;
  readonly tools?: readonly (AnyTool | Toolset)[];
  readonly hooks?: Hooks;
  readonly secrets?: SecretStore;
  readonly guardrails?: readonly Guardrail[];
  readonly channels?: Pick<ChannelsOptions, "also" | "consoleUrl">;
}

/** Separates the live objects of a TypeScript configuration from its data, which is then read like a file. */
export function codeConfig(exported: unknown, source: string): CodeConfig {
  if (!isRecord(exported)) {
    const fix = "Write `export default defineConfig({ … })`.";
    throw ConfigProblems.of({ source, message: "It exports no configuration.", fix });
  }
  const { tools, hooks, secrets, guardrails, channels, ...rest } = exported;
  const split = splitGuardrails(guardrails);
  const channel = splitChannels(channels);
  const data = {
    ...rest,
    guardrails: split.data,
    channels: channel.data,
    ...(Array.isArray(tools) ? {} : { tools }),
    ...(isSecretStore(secrets) ? {} : { secrets }),
  };
  return {
    data: inFileCase(data, source),
    ...(Array.isArray(tools) && {
      tools: tools.map((tool: unknown, i) => checkedTool(tool, i, source)),
    }),
    ...(isRecord(hooks) && { hooks: hooks as Hooks }), // a member that is no function is a type error in the file
    ...(isSecretStore(secrets) && { secrets }),
    guardrails: split.live,
    channels: channel.live,
  };
}

function inFileCase(data: object, source: string): unknown {
  try {
    return toSnakeCase(data, configOpaque);
  } catch (error) {
    // a field in both cases, or a cycle
    throw ConfigProblems.of({ source, message: `${messageOf(error)}.`, fix: "Write each field once." });
  }
}

/** Separates guardrails that are code from those that a file could name. */
function splitGuardrails(given: unknown): { readonly live: readonly Guardrail[]; readonly data: unknown } {
  if (!Array.isArray(given)) return { live: [], data: given };
  const isLive = (one: unknown): one is Guardrail => isRecord(one) && typeof one["check"] === "function";
  const all: readonly unknown[] = given;
  return { live: all.filter(isLive), data: all.filter((one) => !isLive(one)) };
}

/** Separates channels that are code, and an address that is known later, from webhooks. */
function splitChannels(given: unknown): {
  readonly live: NonNullable<CodeConfig["channels"]>;
  readonly data: unknown;
} {
  if (!isRecord(given)) return { live: {}, data: given };
  const { also, consoleUrl, ...rest } = given;
  const later = typeof consoleUrl === "function";
  return {
    live: {
      ...(Array.isArray(also) && { also }), // opening them reports what is no channel
      ...(later && { consoleUrl: consoleUrl as () => string | undefined }), // another type is a type error in the file
    },
    data: { ...rest, ...(Array.isArray(also) ? {} : { also }), ...(later ? {} : { consoleUrl }) },
  };
}

function checkedTool(tool: unknown, i: number, source: string): AnyTool | Toolset {
  if (kindOf(tool) !== undefined || isToolset(tool)) return tool as AnyTool | Toolset; // it has a kind, so it is a tool
  const message = "It is neither a tool nor a toolset.";
  throw ConfigProblems.of({ source, key: `tools[${i}]`, message, fix: "Make it with `defineTool({ … })`." });
}

function isSecretStore(value: unknown): value is SecretStore {
  return isRecord(value) && typeof value["get"] === "function";
}
