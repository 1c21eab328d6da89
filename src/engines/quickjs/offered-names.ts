import type { ToolSketch } from "../sandbox.ts";

/**
 * Under which names a script finds tools in JavaScript, as text that the engine searches: of a thousand names a script writes
 * a few, and whatever else were made of them would be put away with each script that waits.
 *
 * A line is `[path, told]`: the path is what stands after `tools.`, told is the name of a tool, or of a server its name and
 * the tool that it is itself, if it is one. Every line begins with the line break that ends the one before.
 */
export interface OfferedNames {
  /** Each tool once, as they are offered, and then each server. */
  readonly names: string;
  /** Other ways to write the same. */
  readonly aliases: string;
}

type OfferedName = string | readonly [server: string, itself: string | null];

export function offeredNames(tools: readonly ToolSketch[]): OfferedNames {
  const alone = new Map<string, OfferedName>();
  const behind = new Map<string, Map<string, string>>();
  for (const { name, server, short } of tools) {
    if (server === undefined) alone.set(name, name);
    else addTo(behind.get(server) ?? groupIn(behind, server), short, name);
  }
  for (const server of behind.keys()) alone.set(server, [server, alone.has(server) ? server : null]);
  const inOrder = tools.map(({ name, server, short }) =>
    server === undefined ? lineOf([name], alone.get(name)) : lineOf([server, short], behind.get(server)?.get(short)),
  );
  const names = [...new Set([...inOrder, ...[...behind.keys()].map((server) => lineOf([server], alone.get(server)))])];
  const aliases = [
    ...lines([], aliasesOf(alone, tools)),
    ...[...behind].flatMap(([server, group]) => lines([server], spelledOtherwise(group))),
  ];
  return { names: textOf(names), aliases: textOf(aliases) };
}

function groupIn(behind: Map<string, Map<string, string>>, server: string): Map<string, string> {
  const group = new Map<string, string>();
  behind.set(server, group);
  return group;
}

/** What was there first stays. */
function addTo<T>(map: Map<string, T>, name: string, told: T): void {
  if (!map.has(name)) map.set(name, told);
}

/** A short name that only one tool has, and the whole name of what is behind a server. */
function aliasesOf(
  alone: ReadonlyMap<string, OfferedName>,
  tools: readonly ToolSketch[],
): ReadonlyMap<string, OfferedName> {
  const aliases = new Map(spelledOtherwise(alone));
  const add = (name: string, tool: string): void => void (alone.has(name) || addTo(aliases, name, tool));
  const acting = tools.filter(({ isAction }) => isAction !== true);
  const counts = new Map<string, number>();
  for (const { short } of acting) counts.set(short, (counts.get(short) ?? 0) + 1);
  for (const { name, short } of acting) {
    if (counts.get(short) !== 1) continue;
    add(short, name);
    add(spelled(short), name);
  }
  for (const { name, server } of tools) if (server !== undefined) add(name, name);
  return aliases;
}

function spelledOtherwise<T>(names: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  const others = new Map<string, T>();
  for (const [name, told] of names) if (!names.has(spelled(name))) addTo(others, spelled(name), told);
  return others;
}

/** As it can stand after a dot. */
function spelled(name: string): string {
  return name.replaceAll(/[^\w$]/g, "_");
}

function lines(path: readonly string[], names: ReadonlyMap<string, OfferedName>): readonly string[] {
  return [...names].map(([name, told]) => lineOf([...path, name], told));
}

function lineOf(path: readonly string[], told: OfferedName | undefined): string {
  return JSON.stringify([path, told]);
}

function textOf(all: readonly string[]): string {
  return all.length === 0 ? "" : `\n${all.join("\n")}\n`;
}
