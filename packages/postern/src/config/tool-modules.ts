import { existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "@postern/core";
import { findTools } from "../tools/catalogue.ts";
import { type AnyTool, kindOf } from "../tools/kinds.ts";
import { isToolset, type Toolset } from "../tools/toolsets/toolset.ts";
import { type ConfigProblem, ConfigProblems } from "./problem.ts";

/**
 * The tools that a configuration's modules export: each export that is a tool or a toolset, and each list of them. Only
 * modules that the configuration names are loaded.
 *
 * @throws ConfigProblems for a module that cannot be run or exports none
 */
export async function loadToolModules(paths: readonly string[], file: string): Promise<readonly (AnyTool | Toolset)[]> {
  const tools: (AnyTool | Toolset)[] = [];
  for (const [i, path] of paths.entries()) tools.push(...(await toolsOf(path, `tools.modules[${i}]`, file)));
  return tools;
}

/** A tool that is not offered, and why. */
export interface RejectedTool {
  /** Its own name, or its folder's. */
  readonly tool: string;
  readonly why: string;
}

/**
 * The tools in a configuration's folders. A tool that cannot be used is skipped with a warning.
 *
 * @param others the other tools that are offered; no tool of a folder may look like one of them
 * @throws ConfigProblems for a path that is no folder
 */
export async function loadToolFolders(
  folders: readonly string[],
  file: string,
  { others, warn }: { readonly others: readonly (AnyTool | Toolset)[]; readonly warn: (problem: string) => void },
): Promise<{ readonly tools: readonly AnyTool[]; readonly rejected: readonly RejectedTool[] }> {
  const fix = "Name one, relative to the configuration, with a tool in each `NAME/tool.ts`.";
  const problems = folders.flatMap((folder, i): readonly ConfigProblem[] =>
    statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
      ? []
      : [{ source: file, key: `tools.folders[${i}]`, message: `\`${folder}\` is no folder.`, fix }],
  );
  if (problems.length > 0) throw new ConfigProblems(problems);
  const rejected: RejectedTool[] = [];
  const reject = (tool: string, path: string, why: string): void => {
    warn(`${path} is skipped: ${why}`);
    rejected.push({ tool, why });
  };
  const skip = (path: string, why: string, tool = basename(dirname(path))): void => reject(tool, path, why);
  const found = await findTools(folders, { skip, others });
  return { tools: found.map(({ tool }) => tool), rejected };
}

async function toolsOf(path: string, key: string, source: string): Promise<readonly (AnyTool | Toolset)[]> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (error) {
    const message = `\`${path}\` cannot be loaded: ${messageOf(error)}.`;
    throw ConfigProblems.of({ source, key, message, fix: remedyFor(path, error) });
  }
  const found = new Set(
    Object.values(module).flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value])),
  );
  const tools = [...found].filter((one): one is AnyTool | Toolset => kindOf(one) !== undefined || isToolset(one));
  if (tools.length > 0) return tools;
  const message = `\`${path}\` exports no tool.`;
  throw ConfigProblems.of({ source, key, message, fix: "Export what `defineTool({ … })` gives." });
}

/** The fix depends on Node's message. */
function remedyFor(path: string, error: unknown): string {
  if (!existsSync(path)) return "Name an existing module, relative to the configuration.";
  const message = messageOf(error);
  if (/is not defined in ES module scope/.test(message))
    return "Write it with `import` and `export`: it is an ES module.";
  if (/outside a module|Unexpected token 'export'/.test(message))
    return `Set \`"type": "module"\` in the package.json beside it, or name it \`${moduleNameOf(path)}\`.`;
  const [, missing] = /Cannot find (?:package|module) '([^']+)'/.exec(message) ?? [];
  if (missing !== undefined && !missing.startsWith("/"))
    return `Install what it imports where it lies: \`npm install ${missing}\`.`;
  if (missing !== undefined) return "Mend the import in it: name the file with its extension.";
  return "Mend the module; `node` shows the same when it is given it.";
}

function moduleNameOf(path: string): string {
  return basename(path).replace(/\.([jt])s$/, ".m$1s");
}
