import { createHash } from "node:crypto";
import { closeSync, type Stats } from "node:fs";
import type { Json } from "../../../calls/json.ts";
import { defineTool } from "../../define.ts";
import type { LocalTool } from "../../kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tool.ts";
import { readFrom } from "./disk.ts";
import type { Folder } from "./guard/folder.ts";
import { Rejection } from "./guard/rejection.ts";
import { announce, answering, type FileKit, reach, targeting } from "./kit.ts";
import { type Reading, type ReadRange, readRange } from "./reading.ts";
import { flag, input, path, wholeNumber } from "./schemas.ts";
import { lookAt } from "./writing.ts";

interface ReadInput extends ReadRange {
  readonly path: string;
}

interface StatInput {
  readonly path: string;
  readonly digest?: boolean;
}

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
  const read = answering(pathOf, readFile(kit));
  const stat = answering(pathOf, statFile(kit));
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

function readFile(kit: FileKit) {
  return async (range: ReadInput, context: ToolContext): Promise<ToolAnswer> => {
    const name = kit.roots.parse(range.path);
    if (name.mustBeFolder || name.parts.length === 0) throw new Rejection("is_a_folder");
    using reached = await reach(kit, name, context);
    const descriptor = reached.root.openFile(name.parts);
    try {
      const read = await readRange(descriptor, range, { ...kit.limits, check: () => context.check() });
      announce(context, "file.read", name.shown, { bytes: read.bytes });
      return answerOf(read, name.parts.at(-1) ?? "");
    } finally {
      closeSync(descriptor);
    }
  };
}

function statFile(kit: FileKit) {
  return async ({ path: asked, digest }: StatInput, context: ToolContext): Promise<ToolAnswer> => {
    const name = kit.roots.parse(asked);
    using reached = await reach(kit, name, context);
    const last = name.parts.at(-1);
    using folder = reached.root.descend(name.parts.slice(0, -1));
    const stats = lookAt({ folder, name: last ?? "." });
    if (stats === undefined) throw new Rejection("not_found");
    if (name.mustBeFolder && !stats.isDirectory()) throw new Rejection("not_a_folder");
    const sha256 = digest === true ? { sha256: await digestOf(reached.root, name.parts, context) } : {};
    return { structured: { path: name.shown, ...described(stats), ...sha256 } };
  };
}

function pathOf(given: { readonly path: string }): string {
  return given.path;
}

function answerOf(read: Reading, name: string): ToolAnswer {
  if (read.kind === "text") {
    const note = read.note === undefined ? [] : [{ type: "text" as const, text: read.note }];
    return { content: [{ type: "text", text: read.text }, ...note] };
  }
  const { mediaType, data } = read;
  const type = mediaType.startsWith("image/") ? "image" : mediaType.startsWith("audio/") ? "audio" : "file";
  return { content: [{ type, mediaType, data: data.toString("base64"), name }] };
}

function described(stats: Stats): Record<string, Json> {
  const type = stats.isFile() ? "file" : stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "other";
  return {
    type,
    ...(type === "file" && { bytes: stats.size }),
    modified: stats.mtime.toISOString(),
    ...(type === "file" && stats.nlink > 1 && { names: stats.nlink }),
  };
}

const chunkBytes = 1024 * 1024;

async function digestOf(root: Folder, parts: readonly string[], context: ToolContext): Promise<string> {
  const descriptor = root.openFile(parts);
  try {
    const hash = createHash("sha256");
    for (let position = 0; ; position += chunkBytes) {
      context.check();
      const chunk = await readFrom(descriptor, position, chunkBytes);
      hash.update(chunk);
      if (chunk.length < chunkBytes) return hash.digest("hex");
    }
  } finally {
    closeSync(descriptor);
  }
}
