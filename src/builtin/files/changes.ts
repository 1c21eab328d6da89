import { hash } from "node:crypto";
import { closeSync } from "node:fs";
import type { JsonObject } from "../../core/json.ts";
import { codeOf } from "../../core/system/error-code.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { edited, type TextEdit } from "./editing.ts";
import { FileRejection } from "./guard/rejection.ts";
import { announce, type FileKit, lockOf, reach } from "./kit.ts";
import type { PathName } from "./path-name.ts";
import { previewOf } from "./preview.ts";
import { readWhole } from "./reading.ts";
import type { FileCaller } from "./roots.ts";
import { wholeText } from "./text.ts";
import { appendTo, type Before, type Content, folderFor, plainAt, type Spot, writeWhole } from "./writing.ts";

export interface WriteInput {
  readonly path: string;
  readonly content: string;
  readonly encoding?: "utf8" | "base64";
}

export interface EditInput extends TextEdit {
  readonly path: string;
}

/** A plain file as it was when it was looked at. */
export interface SeenFile {
  readonly before: NonNullable<Before>;
  readonly bytes: Buffer;
}

/** What `write_file`, `edit_file` and `append_file` do, and what they show before. All of them throw Rejections. */
export class FileChanges {
  readonly #kit: FileKit;

  constructor(kit: FileKit) {
    this.#kit = kit;
  }

  async write(given: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    const bytes = this.#bytesOf(given);
    return this.#change(given.path, context, async (spot, name) => {
      const before = plainAt(spot);
      await writeWhole(spot, { bytes }, this.#kit.disk);
      return written({ name, bytes, created: before === undefined }, context);
    });
  }

  /** Writes a file that must not be there yet. */
  async create(given: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    const bytes = this.#bytesOf(given);
    return this.#change(given.path, context, async (spot, name) => {
      if (plainAt(spot) !== undefined) throw new FileRejection("exists", existsAlready);
      await writeWhole(spot, { bytes, from: { before: undefined } }, this.#kit.disk);
      return written({ name, bytes, created: true }, context);
    });
  }

  async edit(given: EditInput, context: ToolContext): Promise<ToolAnswer> {
    return this.revise(given.path, (text) => edited(text, given), context);
  }

  /** Makes a file's text another one. */
  async revise(path: string, revised: (text: string) => string, context: ToolContext): Promise<ToolAnswer> {
    return this.#change(path, context, async (spot, name) => {
      const before = plainAt(spot);
      const bytes = this.sized(Buffer.from(revised(textOf(await this.#bytesAt(spot)))));
      await writeWhole(spot, { bytes, from: { before } }, this.#kit.disk);
      return written({ name, bytes, created: false }, context);
    });
  }

  async append(given: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    const bytes = this.#bytesOf(given);
    return this.#change(given.path, context, async (spot, name) => {
      const before = plainAt(spot);
      const isNew = before === undefined;
      if (isNew) await writeWhole(spot, { bytes, from: { before } }, this.#kit.disk);
      const size = isNew ? bytes.length : await appendTo(spot, bytes, this.#kit.disk);
      announce(context, "file.written", { path: name.shown, bytes: bytes.length, created: isNew });
      return { structured: { path: name.shown, appended: bytes.length, bytes: size, created: isNew } };
    });
  }

  async showWrite(given: WriteInput, caller: FileCaller): Promise<JsonObject> {
    const name = this.fileName(given.path);
    const after = this.#bytesOf(given);
    return previewOf("write", { path: name.shown, before: await this.#bytesNow(name, caller), after });
  }

  async showEdit(given: EditInput, caller: FileCaller): Promise<JsonObject> {
    return this.showRevised(given.path, (text) => edited(text, given), caller);
  }

  async showRevised(path: string, revised: (text: string) => string, caller: FileCaller): Promise<JsonObject> {
    const name = this.fileName(path);
    const before = await this.#bytesNow(name, caller);
    if (before === undefined) throw new FileRejection("not_found");
    return previewOf("edit", { path: name.shown, before, after: Buffer.from(revised(textOf(before))) });
  }

  /** What stands at a name and what it is at the moment; undefined: nothing. */
  async look(name: PathName, caller: FileCaller): Promise<SeenFile | undefined> {
    try {
      using reached = await reach(this.#kit, name, caller);
      using folder = reached.root.descend(name.parts.slice(0, -1));
      const spot = { folder, name: name.parts.at(-1) ?? "" };
      const before = plainAt(spot);
      return before === undefined ? undefined : { before, bytes: await this.#bytesAt(spot) };
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Writes a file that has not changed since it was looked at. The caller holds its lock. */
  async put(name: PathName, content: Content, context: ToolContext): Promise<void> {
    using reached = await reach(this.#kit, name, context);
    using folder = await folderFor(reached.root, name.parts.slice(0, -1), this.#kit.disk);
    await writeWhole({ folder, name: name.parts.at(-1) ?? "" }, content, this.#kit.disk);
    const created = content.from?.before === undefined;
    announce(context, "file.written", { path: name.shown, bytes: content.bytes.length, created });
  }

  async showAppend(given: WriteInput, caller: FileCaller): Promise<JsonObject> {
    const name = this.fileName(given.path);
    const before = await this.#bytesNow(name, caller);
    const after = Buffer.concat([before ?? Buffer.alloc(0), this.#bytesOf(given)]);
    return previewOf("append to", { path: name.shown, before, after });
  }

  /** With the folder held and the name locked: nobody else of ours changes it meanwhile. */
  async #change(
    given: string,
    context: ToolContext,
    change: (spot: Spot, name: PathName) => Promise<ToolAnswer>,
  ): Promise<ToolAnswer> {
    const kit = this.#kit;
    const name = this.fileName(given);
    return kit.locks.with([lockOf(kit, name, context)], async () => {
      context.check(); // it may have waited for another change
      using reached = await reach(kit, name, context);
      using folder = await folderFor(reached.root, name.parts.slice(0, -1), kit.disk);
      return await change({ folder, name: name.parts.at(-1) ?? "" }, name); // awaited here: the folder is let go after it
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

  /** What a preview is made from; undefined: nothing is there. */
  async #bytesNow(name: PathName, caller: FileCaller): Promise<Buffer | undefined> {
    return (await this.look(name, caller))?.bytes;
  }

  #bytesOf({ content, encoding = "utf8" }: WriteInput): Buffer {
    const bytes = Buffer.from(content, encoding);
    const isWhole = encoding === "utf8" || bytes.toString("base64").replace(/=+$/, "") === content.replace(/=+$/, "");
    if (!isWhole) throw new FileRejection("content_invalid");
    return this.sized(bytes);
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

/** @throws Rejection when they are no text */
export function textOf(bytes: Buffer): string {
  const text = wholeText(bytes);
  if (text === undefined) throw new FileRejection("not_text");
  return text;
}

function written(
  { name, bytes, created }: { readonly name: PathName; readonly bytes: Uint8Array; readonly created: boolean },
  context: ToolContext,
): ToolAnswer {
  const said = { path: name.shown, bytes: bytes.length, created };
  announce(context, "file.written", said);
  return { structured: { ...said, sha256: hash("sha256", bytes, "hex") } };
}
