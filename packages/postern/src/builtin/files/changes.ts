import { hash } from "node:crypto";
import { closeSync } from "node:fs";
import type { JsonObject } from "@postern/core";
import { codeOf } from "@postern/core/system";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { readFrom } from "./disk.ts";
import { edited, type TextEdit } from "./editing.ts";
import { contentBytes, type Encoding, encodingNamed, revised } from "./encoding.ts";
import { FileRejection } from "./guard/rejection.ts";
import { asOnDisk } from "./guard/spelling.ts";
import {
  announce,
  encoding,
  type FileKit,
  fileTool,
  inFolderOf,
  inputSchema,
  lockOf,
  openRootOf,
  path,
  pathOf,
  targeting,
  text,
  wholeNumber,
} from "./kit.ts";
import type { PathName } from "./path-name.ts";
import { previewOf } from "./preview.ts";
import { readWhole } from "./reading.ts";
import type { FileCaller } from "./roots.ts";
import { appendTo, type Before, type Content, folderFor, plainAt, type Spot, writeWhole } from "./writing.ts";

/** The content of a file that is written. */
export interface WriteInput {
  readonly path: string;
  readonly content: string;
  /** `base64`, or the encoding that the content is written in. */
  readonly encoding?: string;
}

/** A file that is changed. Its encoding is stated if it is neither UTF-8 nor UTF-16 with its mark. */
export type EditedFile = Pick<WriteInput, "path" | "encoding">;

export type EditInput = TextEdit & EditedFile;

/**
 * A plain file as it was when it was read.
 *
 * @public
 */
export interface SeenFile {
  /** By it, a change of the file is noticed. */
  readonly before: NonNullable<Before>;
  readonly bytes: Buffer;
}

/** How much of a file shows its encoding. */
const headBytes = 65_536;

/** All tools that change files have these. Their previews bind: if a file changes after its preview, the approval is void. */
export const changesFiles = {
  risk: "medium",
  effects: "write",
  permissions: ["filesystem.write"],
} as const;

const contentEncoding: JsonObject = {
  type: "string",
  description:
    "How the content is written: utf8, windows-1252, …; `base64`: it is given as bytes. Left out: UTF-8, or UTF-16 if the file there is UTF-16 with a byte order mark.",
};

/** `write_file`, `edit_file` and `append_file`: one change of a file at a time. */
export function writeTools(kit: FileKit): readonly LocalTool[] {
  const where = kit.roots.describe(kit.mayWrite);
  const changes = new FileChanges(kit);
  const shared = { ...changesFiles, pathOf, classify: targeting(kit, pathOf) };
  const input = inputSchema({ path, content: text("The content."), encoding: contentEncoding }, ["path", "content"]);
  return [
    fileTool<WriteInput>(kit, {
      ...shared,
      name: "write_file",
      idempotent: true,
      description: `Writes a whole file, in the place of one that is there; missing folders are made. ${where}`,
      input,
      run: (given, context) => changes.write(given, context),
      show: (given, caller) => changes.showWrite(given, caller),
    }),
    fileTool<EditInput>(kit, {
      ...shared,
      name: "edit_file",
      idempotent: false,
      description: `Replaces a text in a file by another, exactly; it must be there once, or \`count\` times. ${where}`,
      input: inputSchema(
        {
          path,
          old_text: { type: "string", minLength: 1, description: "What is there now, with its line breaks." },
          new_text: text("The text that replaces it."),
          count: wholeNumber(1, 10_000, "How often it is there; all of them are replaced. Once when left out."),
          encoding,
        },
        ["path", "old_text", "new_text"],
      ),
      run: (given, context) => changes.revise(given, (now) => edited(now, given), context),
      show: (given, caller) => changes.showRevised(given, (now) => edited(now, given), caller),
    }),
    fileTool<WriteInput>(kit, {
      ...shared,
      name: "append_file",
      idempotent: false,
      description: `Adds to the end of a file; one that is not there is made. ${where}`,
      input,
      run: (given, context) => changes.append(given, context),
      show: (given, caller) => changes.showAppend(given, caller),
    }),
  ];
}

/** Changes of one file, and their previews. All methods throw rejections. */
export class FileChanges {
  readonly #kit: FileKit;

  constructor(kit: FileKit) {
    this.#kit = kit;
  }

  async write(given: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    const make = this.#bytesOf(given);
    return this.#change(given.path, context, async (spot, name) => {
      const before = plainAt(spot);
      const bytes = make(before && (await this.#headAt(spot)));
      await writeWhole(spot, { bytes }, this.#kit.disk);
      return written({ name, bytes, created: before === undefined }, context);
    });
  }

  /** Writes a file that must not exist yet. */
  async create(given: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    const bytes = this.#bytesOf(given)(undefined);
    return this.#change(given.path, context, async (spot, name) => {
      if (plainAt(spot) !== undefined) throw new FileRejection("exists", existsAlready);
      await writeWhole(spot, { bytes, from: { before: undefined } }, this.#kit.disk);
      return written({ name, bytes, created: true }, context);
    });
  }

  /** Replaces the text of a file by what `change` makes of it. The encoding of the file stays. */
  async revise(given: EditedFile, change: (text: string) => string, context: ToolContext): Promise<ToolAnswer> {
    const stated = statedIn(given);
    return this.#change(given.path, context, async (spot, name) => {
      const before = plainAt(spot);
      const bytes = this.sized(revised(await this.#bytesAt(spot), change, stated));
      await writeWhole(spot, { bytes, from: { before } }, this.#kit.disk);
      return written({ name, bytes, created: false }, context);
    });
  }

  async append(given: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    const make = this.#bytesOf(given, true);
    return this.#change(given.path, context, async (spot, name) => {
      const before = plainAt(spot);
      const isNew = before === undefined;
      const bytes = make(isNew ? undefined : await this.#headAt(spot));
      if (isNew) await writeWhole(spot, { bytes, from: { before } }, this.#kit.disk);
      const size = isNew ? bytes.length : await appendTo(spot, bytes, this.#kit.disk);
      announce(context, "file.written", { path: name.shown, bytes: bytes.length, created: isNew });
      return { structured: { path: name.shown, appended: bytes.length, bytes: size, created: isNew } };
    });
  }

  async showWrite(given: WriteInput, caller: FileCaller): Promise<JsonObject> {
    const name = this.fileName(given.path);
    const make = this.#bytesOf(given);
    const before = (await this.look(name, caller))?.bytes;
    return previewOf("write", { path: name.shown, before, after: make(before), encoding: contentEncodingOf(given) });
  }

  async showRevised(given: EditedFile, change: (text: string) => string, caller: FileCaller): Promise<JsonObject> {
    const name = this.fileName(given.path);
    const stated = statedIn(given);
    const before = (await this.look(name, caller))?.bytes;
    if (before === undefined) throw new FileRejection("not_found");
    const after = revised(before, change, stated);
    return previewOf("edit", { path: name.shown, before, after, encoding: stated });
  }

  async showAppend(given: WriteInput, caller: FileCaller): Promise<JsonObject> {
    const name = this.fileName(given.path);
    const make = this.#bytesOf(given, true);
    const before = (await this.look(name, caller))?.bytes;
    const after = Buffer.concat([before ?? Buffer.alloc(0), make(before)]);
    return previewOf("append to", { path: name.shown, before, after, encoding: contentEncodingOf(given) });
  }

  /** The file as it is now. Returns undefined if there is none. */
  async look(name: PathName, caller: FileCaller): Promise<SeenFile | undefined> {
    try {
      return await inFolderOf(this.#kit, { name, caller }, async (spot) => {
        const before = plainAt(spot);
        return before === undefined ? undefined : { before, bytes: await this.#bytesAt(spot) };
      });
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Writes a file that has not changed since it was read. The caller holds its lock. */
  async put(name: PathName, content: Content, context: ToolContext): Promise<void> {
    using root = await openRootOf(this.#kit, name, context);
    const parts = asOnDisk(root, name.parts);
    using folder = await folderFor(root, parts.slice(0, -1), this.#kit.disk);
    await writeWhole({ folder, name: parts.at(-1) ?? "" }, content, this.#kit.disk);
    const created = content.from?.before === undefined;
    announce(context, "file.written", { path: name.shown, bytes: content.bytes.length, created });
  }

  /** The folder is open and the name is locked: no other tool of this process changes it meanwhile. */
  async #change(
    given: string,
    context: ToolContext,
    change: (spot: Spot, name: PathName) => Promise<ToolAnswer>,
  ): Promise<ToolAnswer> {
    const kit = this.#kit;
    const name = this.fileName(given);
    return kit.locks.with([lockOf(kit, name, context)], async () => {
      context.check(); // it may have waited for another change
      using root = await openRootOf(kit, name, context);
      const parts = asOnDisk(root, name.parts);
      using folder = await folderFor(root, parts.slice(0, -1), kit.disk);
      return await change({ folder, name: parts.at(-1) ?? "" }, name); // awaited here: the folder closes after it
    });
  }

  fileName(given: string): PathName {
    const name = this.#kit.roots.parseForWriting(given);
    if (name.mustBeFolder || name.parts.length === 0) throw new FileRejection("is_a_folder");
    return name;
  }

  async #bytesAt({ folder, name }: Spot): Promise<Buffer> {
    const descriptor = folder.openFile([name]);
    try {
      return await readWhole(descriptor, this.#kit.limits.maxWriteBytes);
    } finally {
      closeSync(descriptor);
    }
  }

  /** The beginning of a file that will be replaced or grow: it shows the encoding. */
  async #headAt({ folder, name }: Spot): Promise<Buffer> {
    const descriptor = folder.openFile([name]);
    try {
      return await readFrom(descriptor, 0, headBytes);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Returns a function that encodes the content as the existing file is encoded. Content that no file can take is refused now. */
  #bytesOf(given: WriteInput, isAppended = false): (there: Buffer | undefined) => Buffer {
    const { content } = given;
    if (given.encoding === "base64") {
      const bytes = this.sized(fromBase64(content));
      return () => bytes;
    }
    const stated = contentEncodingOf(given);
    const fresh = this.sized(contentBytes(content, { stated, there: undefined, isAppended }));
    return (there) => (there === undefined ? fresh : this.sized(contentBytes(content, { stated, there, isAppended })));
  }

  sized(bytes: Buffer): Buffer {
    const { maxWriteBytes } = this.#kit.limits;
    if (bytes.length <= maxWriteBytes) return bytes;
    throw new FileRejection(
      "too_large",
      `was not written: ${bytes.length} bytes are more than the ${maxWriteBytes} that are allowed.`,
    );
  }
}

const existsAlready = "exists already; nothing was written. Edit it, or choose another name.";

/** @throws FileRejection `encoding_unknown` */
function statedIn({ encoding: label }: EditedFile): Encoding | undefined {
  return label === undefined ? undefined : encodingNamed(label);
}

/** Of a content, whose `base64` is no encoding of text. */
function contentEncodingOf(given: WriteInput): Encoding | undefined {
  return given.encoding === "base64" ? undefined : statedIn(given);
}

function fromBase64(content: string): Buffer {
  const bytes = Buffer.from(content, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") === content.replace(/=+$/, "")) return bytes;
  throw new FileRejection("content_invalid");
}

function written(
  { name, bytes, created }: { readonly name: PathName; readonly bytes: Uint8Array; readonly created: boolean },
  context: ToolContext,
): ToolAnswer {
  const facts = { path: name.shown, bytes: bytes.length, created };
  announce(context, "file.written", facts);
  return { structured: { ...facts, sha256: hash("sha256", bytes, "hex") } };
}
