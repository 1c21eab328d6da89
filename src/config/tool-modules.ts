import { pathToFileURL } from "node:url";
import { messageOf } from "../calls/fault.ts";
import type { AnyTool } from "../tools/kinds.ts";
import { isTool } from "./code-config.ts";
import { ConfigProblems } from "./problem.ts";

/**
 * The tools a configuration's modules export: each export that is a tool, and each list of tools. They are code of the
 * operator's: the configuration names them, nothing else is ever loaded.
 *
 * @throws ConfigProblems for a module that cannot be run or exports none
 */
export async function loadToolModules(paths: readonly string[], file: string): Promise<readonly AnyTool[]> {
  const tools: AnyTool[] = [];
  for (const [i, path] of paths.entries()) tools.push(...(await toolsOf(path, `tools.modules[${i}]`, file)));
  return tools;
}

async function toolsOf(path: string, key: string, source: string): Promise<readonly AnyTool[]> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (error) {
    throw new ConfigProblems([
      {
        source,
        key,
        message: `\`${path}\` cannot be loaded: ${messageOf(error)}.`,
        fix: "Name an existing module, relative to the configuration.",
      },
    ]);
  }
  const found = new Set(
    Object.values(module).flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value])),
  );
  const tools = [...found].filter(isTool);
  if (tools.length > 0) return tools;
  throw new ConfigProblems([
    {
      source,
      key,
      message: `\`${path}\` exports no tool.`,
      fix: "Export what `defineTool({ … })` gives.",
    },
  ]);
}
