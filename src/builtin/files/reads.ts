import { createHash } from "node:crypto";
import { closeSync, type Stats } from "node:fs";
import type { Json } from "../../core/json.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { readFrom } from "./disk.ts";
import type { Folder } from "./guard/folder.ts";
import { FileRejection } from "./guard/rejection.ts";
import { announce, type FileKit, reach } from "./kit.ts";
import { type FileReading, type ReadRange, readRange } from "./reading.ts";
import { lookAt } from "./writing.ts";

export interface ReadInput extends ReadRange {
  readonly path: string;
}

export interface StatInput {
  readonly path: string;
  readonly digest?: boolean;
}

/** What `read_file` and `stat_file` do. All of them throw Rejections. */
export class FileReads {
  readonly #kit: FileKit;

  constructor(kit: FileKit) {
    this.#kit = kit;
  }

  async read(range: ReadInput, context: ToolContext): Promise<ToolAnswer> {
    const kit = this.#kit;
    const name = kit.roots.parse(range.path);
    if (name.mustBeFolder || name.parts.length === 0) throw new FileRejection("is_a_folder");
    using reached = await reach(kit, name, context);
    const descriptor = reached.root.openFile(name.parts);
    try {
      const read = await readRange(descriptor, range, { ...kit.limits, check: () => context.check() });
      announce(context, "file.read", { path: name.shown, bytes: read.bytes });
      return answerOf(read, name.parts.at(-1) ?? "");
    } finally {
      closeSync(descriptor);
    }
  }

  async stat({ path, digest }: StatInput, context: ToolContext): Promise<ToolAnswer> {
    const name = this.#kit.roots.parse(path);
    using reached = await reach(this.#kit, name, context);
    const last = name.parts.at(-1);
    using folder = reached.root.descend(name.parts.slice(0, -1));
    const stats = lookAt({ folder, name: last ?? "." });
    if (stats === undefined) throw new FileRejection("not_found");
    if (name.mustBeFolder && !stats.isDirectory()) throw new FileRejection("not_a_folder");
    const sha256 = digest === true ? { sha256: await digestOf(reached.root, name.parts, context) } : {};
    return { structured: { path: name.shown, ...described(stats), ...sha256 } };
  }
}

export function answerOf(read: FileReading, name: string): ToolAnswer {
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
