import { createHash } from "node:crypto";
import { closeSync, type Stats } from "node:fs";
import type { Json } from "@postern/core";
import { withReadOn } from "../../results/raw-result.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { readFrom } from "./disk.ts";
import { FileRejection } from "./guard/rejection.ts";
import { asOnDisk } from "./guard/spelling.ts";
import {
  announce,
  encoding,
  type FileKit,
  fileTool,
  flag,
  inFolderOf,
  inputSchema,
  openRootOf,
  path,
  pathOf,
  targeting,
  wholeNumber,
} from "./kit.ts";
import type { PathName } from "./path-name.ts";
import { type FileReading, type ReadRange, readRange } from "./reading.ts";
import { lookAt } from "./writing.ts";

/** All tools that only read have these. */
export const onlyReads = {
  risk: "safe",
  effects: "read",
  idempotent: true,
  concurrencySafe: true,
  permissions: ["filesystem.read"],
} as const;
const most = Number.MAX_SAFE_INTEGER;

type ReadInput = ReadRange & { readonly path: string };
type StatInput = { readonly path: string; readonly digest?: boolean };

/** `read_file` and `stat_file`. */
export function readTools(kit: FileKit): readonly LocalTool[] {
  const where = kit.roots.describe(kit.mayWrite);
  return [
    fileTool<ReadInput>(kit, {
      ...onlyReads,
      name: "read_file",
      description: `Reads a file: text as text (at most ${kit.limits.maxFileBytes} bytes a call, then it says how to go on), other files as media. ${where}`,
      input: inputSchema(
        {
          path,
          first_line: wholeNumber(1, most, "From this line on, counted from 1."),
          lines: wholeNumber(1, most, "So many lines."),
          first_byte: wholeNumber(0, most, "From this byte on, counted from 0."),
          bytes: wholeNumber(1, most, "So many bytes."),
          encoding,
        },
        ["path"],
      ),
      pathOf,
      classify: targeting(kit, pathOf),
      run: async (range, context) => {
        const name = kit.roots.parse(range.path);
        if (name.mustBeFolder || name.parts.length === 0) throw new FileRejection("is_a_folder");
        return answerOf(await readPart(kit, { name, range }, context), name);
      },
    }),
    fileTool<StatInput>(kit, {
      ...onlyReads,
      name: "stat_file",
      description: `What a file or folder is: type, bytes, last change; with \`digest\`, the SHA-256 of a file. ${where}`,
      input: inputSchema({ path, digest: flag("The file's SHA-256 as well.") }, ["path"]),
      pathOf,
      run: (given, context) => stat(kit, given, context),
    }),
  ];
}

/** Reads a part of a file and announces it. */
export async function readPart(
  kit: FileKit,
  { name, range }: { readonly name: PathName; readonly range: ReadRange },
  context: ToolContext,
): Promise<FileReading> {
  using root = await openRootOf(kit, name, context);
  const descriptor = root.openFile(asOnDisk(root, name.parts));
  try {
    const read = await readRange(descriptor, range, { ...kit.limits, check: () => context.check() });
    announce(context, "file.read", { path: name.shown, bytes: read.bytes });
    return read;
  } finally {
    closeSync(descriptor);
  }
}

export function answerOf(read: FileReading, name: PathName): ToolAnswer {
  if (read.kind === "text") {
    const note = read.note === undefined ? [] : [{ type: "text" as const, text: read.note }];
    const answer = { content: [{ type: "text" as const, text: read.text }, ...note] };
    return read.readOn === undefined ? answer : withReadOn(answer, read.readOn);
  }
  const { mediaType, data } = read;
  const type = mediaType.startsWith("image/") ? "image" : mediaType.startsWith("audio/") ? "audio" : "file";
  return { content: [{ type, mediaType, data: data.toString("base64"), name: name.parts.at(-1) ?? "" }] };
}

async function stat(kit: FileKit, { path: given, digest }: StatInput, context: ToolContext): Promise<ToolAnswer> {
  const name = kit.roots.parse(given);
  const stats = await inFolderOf(kit, { name, caller: context }, lookAt);
  if (stats === undefined) throw new FileRejection("not_found");
  if (name.mustBeFolder && !stats.isDirectory()) throw new FileRejection("not_a_folder");
  const sha256 = digest === true ? { sha256: await digestOf(kit, name, context) } : {};
  return { structured: { path: name.shown, ...described(stats), ...sha256 } };
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

async function digestOf(kit: FileKit, name: PathName, context: ToolContext): Promise<string> {
  using root = await openRootOf(kit, name, context);
  const descriptor = root.openFile(asOnDisk(root, name.parts));
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
