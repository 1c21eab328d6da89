import type { ToolSketch } from "@postern/core/sandbox";

/**
 * The names under which a script in JavaScript finds tools. They are text that the prelude searches, because a script
 * uses few of a thousand names, and a frozen script keeps every object.
 * Each line is `[path, entry]`, or `[path, entry, 1]` for another way to write one. The path follows `tools.`. The
 * entry is the name of a tool or, for a server, its name and the name of the tool that it is itself, or null. A line
 * break is before and after each line.
 */
export function offeredNames(tools: readonly ToolSketch[]): string {
  const lines = new Map<string, string>();
  const add = (path: readonly string[], entry: OfferedName, isAlias = false): void => {
    const key = JSON.stringify(path);
    if (!lines.has(key)) lines.set(key, JSON.stringify(isAlias ? [path, entry, 1] : [path, entry]));
  };
  const alone = new Set(tools.filter(({ server }) => server === undefined).map(({ name }) => name));
  const servers = new Set(tools.flatMap(({ server }) => server ?? []));
  const serverEntry = (server: string): OfferedName => [server, alone.has(server) ? server : null];
  const own: [path: string[], entry: OfferedName][] = [
    ...tools.map(({ name, server, short }): [string[], OfferedName] => {
      if (server !== undefined) return [[server, short], name];
      return [[name], servers.has(name) ? serverEntry(name) : name];
    }),
    ...[...servers].map((server): [string[], OfferedName] => [[server], serverEntry(server)]),
  ];
  for (const [path, entry] of own) add(path, entry);
  for (const [path, entry] of own) add(path.with(-1, identifier(path.at(-1) ?? "")), entry, true);
  const counts = Map.groupBy(tools, ({ short, isAction }) => (isAction === true ? undefined : short));
  for (const { name, short, isAction } of tools) {
    if (isAction === true || counts.get(short)?.length !== 1) continue;
    add([short], name, true);
    add([identifier(short)], name, true);
  }
  for (const { name, server } of tools) if (server !== undefined) add([name], name, true);
  return lines.size === 0 ? "" : `\n${[...lines.values()].join("\n")}\n`;
}

type OfferedName = string | readonly [server: string, itself: string | null];

/** A name that can stand after a dot. */
function identifier(name: string): string {
  return name.replaceAll(/[^\w$]/g, "_");
}
