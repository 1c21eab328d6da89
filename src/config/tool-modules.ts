import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../calls/fault.ts";
import { scanCatalogue } from "../tools/catalogue.ts";
import type { AnyTool } from "../tools/kinds.ts";
import { isToolset, type Toolset } from "../tools/sets/toolset.ts";
import { isTool } from "./code-config.ts";
import { type ConfigProblem, ConfigProblems } from "./problem.ts";

/**
 * The tools a configuration's modules export: each export that is a tool or a set of tools, and each list of them. They
 * are code of the operator's: the configuration names them, nothing else is ever loaded.
 *
 * @throws ConfigProblems for a module that cannot be run or exports none
 */
export async function loadToolModules(paths: readonly string[], file: string): Promise<readonly (AnyTool | Toolset)[]> {
  const tools: (AnyTool | Toolset)[] = [];
  for (const [i, path] of paths.entries()) tools.push(...(await toolsOf(path, `tools.modules[${i}]`, file)));
  return tools;
}

/**
 * The tools in a configuration's folders: catalogues. One tool that cannot be used is skipped with a warning, so that the
 * others can.
 *
 * @throws ConfigProblems for a folder that is none
 */
export async function loadToolFolders(
  folders: readonly string[],
  file: string,
  warn: (problem: string) => void,
): Promise<readonly AnyTool[]> {
  const problems = folders.flatMap((folder, i): readonly ConfigProblem[] =>
    statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
      ? []
      : [
          {
            source: file,
            key: `tools.folders[${i}]`,
            message: `\`${folder}\` is no folder.`,
            fix: "Name one, relative to the configuration, with a tool in each `NAME/tool.ts`.",
          },
        ],
  );
  if (problems.length > 0) throw new ConfigProblems(problems);
  return (await scanCatalogue(folders, { warn })).map(({ tool }) => tool);
}

async function toolsOf(path: string, key: string, source: string): Promise<readonly (AnyTool | Toolset)[]> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (error) {
    throw new ConfigProblems([
      {
        source,
        key,
        message: `\`${path}\` cannot be loaded: ${messageOf(error)}.`,
        fix: remedyFor(path, error),
      },
    ]);
  }
  const found = new Set(
    Object.values(module).flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value])),
  );
  const tools = [...found].filter((one): one is AnyTool | Toolset => isTool(one) || isToolset(one));
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

/** What loading a module fails at, told apart by Node's own words. */
function remedyFor(path: string, error: unknown): string {
  if (!existsSync(path)) return "Name an existing module, relative to the configuration.";
  const said = messageOf(error);
  if (/is not defined in ES module scope/.test(said)) return "Write it with `import` and `export`: it is an ES module.";
  if (/outside a module|Unexpected token 'export'/.test(said))
    return `Set \`"type": "module"\` in the package.json beside it, or name it \`${moduleNameOf(path)}\`.`;
  const [, missing] = /Cannot find (?:package|module) '([^']+)'/.exec(said) ?? [];
  if (missing !== undefined && !missing.startsWith("/"))
    return `Install what it imports where it lies: \`npm install ${missing}\`.`;
  if (missing !== undefined) return "Mend the import in it: name the file with its extension.";
  return "Mend the module; `node` shows the same when it is given it.";
}

function moduleNameOf(path: string): string {
  return basename(path).replace(/\.([jt])s$/, ".m$1s");
}
