import type { SecretStore } from "../secrets/secret-store.ts";
import { type AnyTool, isHostedTool, isLocalTool, isProviderDefinedTool, isRecord } from "../tools/kinds.ts";
import type { Hooks } from "../watchers/hooks.ts";
import { ConfigProblems } from "./problem.ts";
import { type Shape, toFileSpelling } from "./shape.ts";

/** A configuration before it is checked: its data in the file's spelling, and what only code can give. */
export interface Given {
  readonly data: unknown;
  readonly tools?: readonly AnyTool[];
  readonly hooks?: Hooks;
  readonly secrets?: SecretStore;
}

/** Takes a TypeScript configuration apart: live objects aside, the rest as if it had been written in a file. */
export function codeConfig(exported: unknown, source: string, shape: Shape): Given {
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
  const { tools, hooks, secrets, ...rest } = exported;
  const data = {
    ...rest,
    ...(Array.isArray(tools) ? {} : { tools }),
    ...(isSecretStore(secrets) ? {} : { secrets }),
  };
  return {
    data: toFileSpelling(data, shape),
    ...(Array.isArray(tools) && {
      tools: tools.map((tool: unknown, i) => checkedTool(tool, i, source)),
    }),
    ...(isRecord(hooks) && { hooks: hooks as Hooks }), // called as hooks; what is no function there is a type error in the file
    ...(isSecretStore(secrets) && { secrets }),
  };
}

function checkedTool(tool: unknown, i: number, source: string): AnyTool {
  if (isTool(tool)) return tool;
  throw new ConfigProblems([
    {
      source,
      key: `tools[${i}]`,
      message: "It is not a tool.",
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
