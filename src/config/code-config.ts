import { toSnakeCase } from "../core/case.ts";
import { messageOf } from "../core/fault.ts";
import type { Hooks } from "../observe/hooks.ts";
import type { ChannelsOptions } from "../observe/notify/open-channels.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import { type AnyTool, isHostedTool, isLocalTool, isProviderDefinedTool, isRecord } from "../tools/kinds.ts";
import { isToolset, type Toolset } from "../tools/toolsets/toolset.ts";
import { configOpaque } from "./config-schema.ts";
import { ConfigProblems } from "./problem.ts";

/** A configuration before it is checked: its data in the file's spelling, and what only code can give. */
export interface CodeConfig {
  readonly data: unknown;
  readonly tools?: readonly (AnyTool | Toolset)[];
  readonly hooks?: Hooks;
  readonly secrets?: SecretStore;
  readonly guardrails?: readonly Guardrail[];
  readonly channels?: Pick<ChannelsOptions, "also" | "consoleUrl">;
}

/** Takes a TypeScript configuration apart: live objects aside, the rest as if it had been written in a file. */
export function codeConfig(exported: unknown, source: string): CodeConfig {
  if (!isRecord(exported)) {
    throw new ConfigProblems([
      {
        source,
        key: "",
        message: "It exports no configuration.",
        fix: "Write `export default defineConfig({ … })`.",
      },
    ]);
  }
  const { tools, hooks, secrets, guardrails, channels, ...rest } = exported;
  const looks = partedLooks(guardrails);
  const reach = partedChannels(channels);
  const data = {
    ...rest,
    guardrails: looks.data,
    channels: reach.data,
    ...(Array.isArray(tools) ? {} : { tools }),
    ...(isSecretStore(secrets) ? {} : { secrets }),
  };
  return {
    data: inFileCase(data, source),
    ...(Array.isArray(tools) && {
      tools: tools.map((tool: unknown, i) => checkedTool(tool, i, source)),
    }),
    ...(isRecord(hooks) && { hooks: hooks as Hooks }), // called as hooks; what is no function there is a type error in the file
    ...(isSecretStore(secrets) && { secrets }),
    guardrails: looks.live,
    channels: reach.live,
  };
}

function inFileCase(data: object, source: string): unknown {
  try {
    return toSnakeCase(data, configOpaque);
  } catch (error) {
    // a field in both spellings, or a cycle
    throw new ConfigProblems([{ source, key: "", message: `${messageOf(error)}.`, fix: "Write each field once." }]);
  }
}

/** Guardrails that are code, and those that a file could name. */
function partedLooks(given: unknown): { readonly live: readonly Guardrail[]; readonly data: unknown } {
  if (!Array.isArray(given)) return { live: [], data: given };
  const isLive = (one: unknown): one is Guardrail => isRecord(one) && typeof one["check"] === "function";
  const all: readonly unknown[] = given;
  return { live: all.filter(isLive), data: all.filter((one) => !isLive(one)) };
}

/** Channels of one's own and an address that is known later; webhooks are as in a file. */
function partedChannels(given: unknown): {
  readonly live: NonNullable<CodeConfig["channels"]>;
  readonly data: unknown;
} {
  if (!isRecord(given)) return { live: {}, data: given };
  const { also, consoleUrl, ...rest } = given;
  const later = typeof consoleUrl === "function";
  return {
    live: {
      ...(Array.isArray(also) && { also }), // what is no channel is named when they are opened
      ...(later && { consoleUrl: consoleUrl as () => string | undefined }), // a type error in the file if it gives something else
    },
    data: { ...rest, ...(Array.isArray(also) ? {} : { also }), ...(later ? {} : { consoleUrl }) },
  };
}

function checkedTool(tool: unknown, i: number, source: string): AnyTool | Toolset {
  if (isTool(tool) || isToolset(tool)) return tool;
  throw new ConfigProblems([
    {
      source,
      key: `tools[${i}]`,
      message: "It is neither a tool nor a set of tools.",
      fix: "Make it with `defineTool({ … })`.",
    },
  ]);
}

/** Whatever has the shape of one of the three kinds; what is missing in it is named when it is registered. */
export function isTool(value: unknown): value is AnyTool {
  return isProviderDefinedTool(value) || isHostedTool(value) || isLocalTool(value);
}

function isSecretStore(value: unknown): value is SecretStore {
  return isRecord(value) && typeof value["get"] === "function";
}
