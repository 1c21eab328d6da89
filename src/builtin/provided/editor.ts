/** The commands that Anthropic's text editor and memory tools have in common, over the functions of the file tools. */
import { closeSync } from "node:fs";
import type { JsonObject } from "../../core/json.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { FileChanges } from "../files/changes.ts";
import { edited, inserted } from "../files/editing.ts";
import { FileRejection, rejectionOf } from "../files/guard/rejection.ts";
import { announce, type FileKit, reach } from "../files/kit.ts";
import type { PathName } from "../files/path-name.ts";
import { readRange } from "../files/reading.ts";
import { answerOf } from "../files/reads.ts";
import type { FileCaller } from "../files/roots.ts";
import { search } from "../files/search-tools.ts";
import { lookAt } from "../files/writing.ts";
import { numbered } from "./v4a.ts";

export interface EditorInput {
  readonly command: "view" | "create" | "str_replace" | "insert" | "delete" | "rename";
  readonly path?: string;
  readonly view_range?: readonly number[];
  readonly file_text?: string;
  readonly old_str?: string;
  readonly new_str?: string;
  readonly insert_line?: number;
  readonly insert_text?: string;
  readonly old_path?: string;
  readonly new_path?: string;
}

/** What a command needs beside `command` and a path. */
const needed: Readonly<Record<string, readonly (keyof EditorInput)[]>> = {
  create: ["path", "file_text"],
  str_replace: ["path", "old_str"],
  insert: ["path", "insert_line", "insert_text"],
  rename: ["old_path", "new_path"],
};

/** The schema of a tool that has these commands. */
export function editorSchema(commands: readonly EditorInput["command"][], properties: JsonObject): JsonObject {
  const text = { type: "string" };
  return {
    type: "object",
    properties: {
      command: { enum: [...commands] },
      path: text,
      view_range: { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 },
      ...{ file_text: text, old_str: text, new_str: text, insert_text: text },
      insert_line: { type: "integer", minimum: 0 },
      ...properties,
    },
    required: ["command"],
    allOf: commands.map((command) => ({
      if: { properties: { command: { const: command } } },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: { required: [...(needed[command] ?? ["path"])] },
    })),
  };
}

/** Lines that are shown before and behind a change. */
const around = 4;
const listingDepth = 2;

export interface EditorOptions {
  /** The path in the file kit. @throws Rejection */
  readonly inKit: (path: string, caller: FileCaller) => string;
  /** How the model calls what the kit calls so. */
  readonly shown: (path: string, caller: FileCaller) => string;
}

export class Editor {
  readonly #kit: FileKit;
  readonly #changes: FileChanges;
  readonly #options: EditorOptions;

  constructor(kit: FileKit, options: EditorOptions) {
    this.#kit = kit;
    this.#changes = new FileChanges(kit);
    this.#options = options;
  }

  /** @throws Rejection */
  async run(given: EditorInput, context: ToolContext): Promise<ToolAnswer> {
    const { path = "" } = given;
    const inKit = this.#options.inKit(path, context);
    if (given.command === "view") return this.#view(inKit, given, context);
    if (given.command === "create") {
      await this.#changes.create({ path: inKit, content: given.file_text ?? "" }, context);
      return textAnswer(`${path} was created.`);
    }
    const change = revisionOf(given);
    let [before, after] = ["", ""];
    const revised = (text: string): string => {
      before = text;
      after = change(text);
      return after;
    };
    await this.#changes.revise(inKit, revised, context);
    return textAnswer(`${path} was edited. It holds there now:\n${excerpt(before, after)}`);
  }

  /** What the command would change; undefined: it only looks. */
  async preview(given: EditorInput, caller: FileCaller): Promise<JsonObject | null> {
    if (given.command === "view") return null;
    const inKit = this.#options.inKit(given.path ?? "", caller);
    if (given.command !== "create") return this.#changes.showRevised(inKit, revisionOf(given), caller);
    return this.#changes.showWrite({ path: inKit, content: given.file_text ?? "" }, caller);
  }

  async #view(path: string, { view_range: range }: EditorInput, context: ToolContext): Promise<ToolAnswer> {
    const name = this.#kit.roots.parse(path);
    if (await this.#isFolder(name, context)) {
      if (range !== undefined) throw new FileRejection("range_invalid", "is a folder: leave `view_range` out.");
      return this.#list(path, context);
    }
    using reached = await reach(this.#kit, name, context);
    const descriptor = reached.root.openFile(name.parts);
    try {
      const lines = linesWanted(range);
      const read = await readRange(descriptor, lines, { ...this.#kit.limits, check: () => context.check() });
      announce(context, "file.read", { path: name.shown, bytes: read.bytes });
      if (read.kind === "media") return answerOf(read, name.parts.at(-1) ?? "");
      const shown = read.text.replace(/\r?\n$/, "").split(/\r?\n/);
      const first = lines.first_line ?? 1;
      const isCut = read.note?.includes("go on with") === true && lines.lines === undefined;
      const rest = isCut ? `\n[The file goes on: view_range [${first + shown.length}, -1].]` : "";
      return textAnswer(read.text === "" ? "(nothing: it ends before)" : `${numbered(shown, first)}${rest}`);
    } finally {
      closeSync(descriptor);
    }
  }

  async #list(path: string, context: ToolContext): Promise<ToolAnswer> {
    const task = { kind: "list", depth: listingDepth } as const;
    const { entries, truncated } = await search(this.#kit, { given: { path }, task }, context);
    const lines = entries
      .filter((entry) => !/(?:^|\/)(?:\.|node_modules(?:\/|$))/.test(entry.path))
      .map((entry) => {
        const shown = this.#options.shown(entry.path, context);
        return entry.type === "file" ? `${entry.bytes ?? 0}\t${shown}` : `${entry.type}\t${shown}`;
      });
    const more = truncated === undefined ? [] : ["[There is more: view one of the folders.]"];
    return textAnswer([...(lines.length === 0 ? ["(an empty folder)"] : lines), ...more].join("\n"));
  }

  async #isFolder(name: PathName, context: ToolContext): Promise<boolean> {
    if (name.parts.length === 0) return true;
    using reached = await reach(this.#kit, name, context);
    using folder = reached.root.descend(name.parts.slice(0, -1));
    return lookAt({ folder, name: name.parts.at(-1) ?? "" })?.isDirectory() === true;
  }
}

export function textAnswer(text: string): ToolAnswer {
  return { content: [{ type: "text", text }] };
}

function revisionOf(given: EditorInput): (text: string) => string {
  const { command, old_str: old_text = "", new_str = "", insert_line: line = 0, insert_text: new_text = "" } = given;
  if (command === "insert") return (text) => inserted(text, { line, new_text });
  return (text) => edited(text, { old_text, new_text: new_str });
}

/** `[first, last]` counted from 1; -1: to the end. */
function linesWanted(range: readonly number[] | undefined): { readonly first_line?: number; readonly lines?: number } {
  const [first, last] = range ?? [];
  if (first === undefined || last === undefined) return { first_line: 1 };
  if (first < 1 || (last !== -1 && last < first))
    throw new FileRejection(
      "range_invalid",
      `cannot be shown from line ${first} to ${last}: \`view_range\` is [first, last], counted from 1; -1 is the end.`,
    );
  return { first_line: first, ...(last !== -1 && { lines: last - first + 1 }) };
}

/** The lines that differ, with some around them. */
function excerpt(before: string, after: string): string {
  const [old, now] = [before, after].map((text) => text.split(/\r\n|\n|\r/));
  if (old === undefined || now === undefined) return "";
  let first = 0;
  while (first < now.length && old[first] === now[first]) first += 1;
  let same = 0;
  while (same < now.length - first && old.at(-1 - same) === now.at(-1 - same)) same += 1;
  const from = Math.max(0, first - around);
  return numbered(now.slice(from, Math.min(now.length - same + around, from + 60)), from + 1);
}

/** Whether a rejection says that nothing is there. */
export function isMissing(error: unknown): boolean {
  return rejectionOf(error)?.reason === "not_found";
}
