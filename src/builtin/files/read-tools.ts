import { defineTool } from "../../tools/define.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import { answering, type FileKit, targeting } from "./kit.ts";
import type { FileReads, ReadInput, StatInput } from "./reads.ts";
import { flag, input, path, wholeNumber } from "./schemas.ts";

/** What all tools that only read have in common. */
export const onlyReads = {
  risk: "safe",
  effects: "read",
  idempotent: true,
  concurrencySafe: true,
  permissions: ["filesystem.read"],
} as const;
const most = Number.MAX_SAFE_INTEGER;

/** `read_file` and `stat_file` (SPEC 15.1). */
export function readTools(kit: FileKit): readonly LocalTool[] {
  const where = kit.roots.describe(kit.mayWrite);
  const read = answering<ReadInput>(pathOf, async (given, context) => (await readsOf(kit)).read(given, context));
  const stat = answering<StatInput>(pathOf, async (given, context) => (await readsOf(kit)).stat(given, context));
  return [
    defineTool({
      ...onlyReads,
      name: "read_file",
      classifyRisk: targeting(kit, pathOf),
      description: `Reads a file: text as text (at most ${kit.limits.maxFileBytes} bytes a call, then it says how to go on), other files as media. ${where}`,
      input: input(
        {
          path,
          first_line: wholeNumber(1, most, "From this line on, counted from 1."),
          lines: wholeNumber(1, most, "So many lines."),
          first_byte: wholeNumber(0, most, "From this byte on, counted from 0."),
          bytes: wholeNumber(1, most, "So many bytes."),
        },
        ["path"],
      ),
      execute: (given, context) => read(given as unknown as ReadInput, context), // the schema says so
    }),
    defineTool({
      ...onlyReads,
      name: "stat_file",
      description: `What a file or folder is: type, bytes, last change; with \`digest\`, the SHA-256 of a file. ${where}`,
      input: input({ path, digest: flag("The file's SHA-256 as well.") }, ["path"]),
      execute: (given, context) => stat(given as unknown as StatInput, context), // the schema says so
    }),
  ];
}

/** Loaded by the first call, as what the other tools do is. */
async function readsOf(kit: FileKit): Promise<FileReads> {
  const reads = await import("./reads.ts");
  return new reads.FileReads(kit);
}

function pathOf(given: { readonly path: string }): string {
  return given.path;
}
