import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, SystemClock } from "@postern/core";
import type { AnyTool } from "./kinds.ts";
import { toolOf } from "./legacy.ts";
import { type Toolset, takeTools } from "./toolsets/toolset.ts";

/**
 * A tool that was found in a folder. It is not registered.
 *
 * @public
 */
export interface FoundTool {
  /** The folder's name. */
  readonly name: string;
  readonly component: "tool";
  readonly path: string;
  readonly tool: AnyTool;
}

/** @public */
export interface CatalogueOptions {
  /** Called once for each skipped folder and tool, with the reason. By default a process warning. */
  readonly warn?: (message: string) => void;
}

const markers = ["tool.ts", "tool.js", "tool.mjs"] as const;

/**
 * Finds tools at `<root>/<name>/tool.{ts,js,mjs}`: the default export, else the first export that is a tool. A class is
 * constructed without arguments. A tool with the designs' names of members is taken as `legacyTool` takes it, if it states its
 * risk. A tool that cannot be registered is skipped. Sorted by name; of two tools with one name the first wins. Importing runs
 * the module's own code, so trust a root as much as the program itself.
 *
 * @example
 * const found = await scanCatalogue("tools");
 * await using runtime = await createRuntime({ tools: found.map(({ tool }) => tool) });
 *
 * @public
 */
export async function scanCatalogue(
  roots: string | readonly string[],
  { warn = (message) => process.emitWarning(message) }: CatalogueOptions = {},
): Promise<readonly FoundTool[]> {
  return findTools(roots, { skip: (path, why) => warn(`${path} is skipped: ${why}`) });
}

/** Called once for each path that is skipped; with the tool's name if it is the tool that cannot be used. */
type Skip = (path: string, why: string, tool?: string) => void;

/**
 * As `scanCatalogue`, with the skipped paths.
 *
 * @param options.others the other tools that are offered; no tool of a folder may look like one of them
 */
export async function findTools(
  roots: string | readonly string[],
  { skip, others = [] }: { readonly skip: Skip; readonly others?: readonly (AnyTool | Toolset)[] },
): Promise<readonly FoundTool[]> {
  const found = await toolsIn(roots, skip);
  const unusable = await refusalsOf(found, others);
  return found.filter(({ tool, path }) => {
    const why = unusable.get(path);
    if (why !== undefined) skip(path, why, tool.name);
    return why === undefined;
  });
}

/** Why tools cannot be registered, by their paths. */
async function refusalsOf(
  found: readonly FoundTool[],
  others: readonly (AnyTool | Toolset)[],
): Promise<ReadonlyMap<string, string>> {
  if (found.length === 0) return new Map();
  const { Registry } = await import("./registry.ts"); // the libraries of agents load this entry, and few of their users have a catalogue
  await using trial = new Registry({ clock: new SystemClock() });
  const attempt = (register: () => void): string | undefined => {
    try {
      register();
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };
  attempt(() => takeTools(others, (tool) => void trial.register(tool))); // the runtime reports what is wrong with them
  const refused = found.map(({ tool, path }) => [path, attempt(() => void trial.register(tool))] as const);
  await trial.ready().catch(() => undefined); // `schemaProblem` has the reason
  const late = found.map(({ tool, path }) => [path, trial.schemaProblem(tool.name)] as const);
  return new Map([...late, ...refused].flatMap(([path, why]) => (why === undefined ? [] : [[path, why]])));
}

async function toolsIn(roots: string | readonly string[], skip: Skip): Promise<readonly FoundTool[]> {
  const found = new Map<string, FoundTool>();
  const toolNames = new Set<string>();
  for (const root of typeof roots === "string" ? [roots] : roots) {
    for (const { name, path } of await candidates(resolve(root), skip)) {
      if (found.has(name)) continue;
      const tool = await load(path, skip);
      if (tool === undefined) continue;
      if (toolNames.has(tool.name)) skip(path, `a tool named \`${tool.name}\` was found before it.`);
      else found.set(name, { name, component: "tool", path, tool });
      toolNames.add(tool.name);
    }
  }
  return [...found.values()];
}

interface MarkedFolder {
  readonly name: string;
  readonly path: string;
}

async function candidates(root: string, skip: Skip): Promise<readonly MarkedFolder[]> {
  try {
    const entries = await readdir(root, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("_"));
    const names = folders.map(({ name }) => name).sort();
    const files = await Promise.all(names.map((name) => readdir(join(root, name))));
    return names.flatMap((name, i) => {
      const marker = markers.find((one) => files[i]?.includes(one));
      return marker === undefined ? [] : [{ name, path: join(root, name, marker) }];
    });
  } catch (error) {
    skip(root, messageOf(error));
    return [];
  }
}

async function load(path: string, skip: Skip): Promise<AnyTool | undefined> {
  try {
    const module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>; // a module is a record of its exports
    const { default: main, ...others } = module;
    const [tool] = [main, ...Object.values(others)].flatMap(asTool);
    if (tool === undefined) skip(path, "it exports no tool.");
    return tool;
  } catch (error) {
    skip(path, messageOf(error));
    return undefined;
  }
}

function asTool(exported: unknown): readonly AnyTool[] {
  const isClass = typeof exported === "function" && /^class\b/.test(Function.prototype.toString.call(exported));
  const candidate: unknown = isClass ? Reflect.construct(exported, []) : exported;
  const tool = toolOf(candidate);
  return tool === undefined ? [] : [tool];
}
