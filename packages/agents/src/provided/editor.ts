/** The commands that Anthropic's text editor and memory tools share, over the guard of the file tools. */
import type { JsonObject } from "@postern/core";
import type { ToolAnswer, ToolContext } from "postern";
import {
  type FileCaller,
  FileRejection,
  type Files,
  type FileToolOptions,
  openFiles,
  textEdits,
} from "postern/builtin";
import type { Suggestion } from "postern/policy";
import { withReadOn } from "postern/results";
import type { ProviderDefinedTool } from "postern/tools";

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

/** What a command needs beside `command`. Without an entry, `path`. */
const needed: Readonly<Record<string, readonly (keyof EditorInput)[]>> = {
  create: ["path", "file_text"],
  str_replace: ["path", "old_str"],
  insert: ["path", "insert_line", "insert_text"],
  rename: ["old_path", "new_path"],
};

function editorSchema(commands: readonly EditorInput["command"][], properties: JsonObject): JsonObject {
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
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: [...(needed[command] ?? ["path"])] },
    })),
  };
}

/** Lines that are shown before and after a change. */
const around = 4;
const listingDepth = 2;

export interface EditorOptions {
  /** The path beneath a root. @throws FileRejection */
  readonly inRoot: (path: string, caller: FileCaller) => string;
  /** The path that the model knows for it. */
  readonly shown: (path: string, caller: FileCaller) => string;
}

export class Editor {
  readonly #files: Files;
  readonly #options: EditorOptions;

  constructor(files: Files, options: EditorOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** @throws FileRejection */
  async run(given: EditorInput, context: ToolContext): Promise<ToolAnswer> {
    const { path = "" } = given;
    const inRoot = this.#options.inRoot(path, context);
    if (given.command === "view") return this.#view(inRoot, given, context);
    if (given.command === "create") {
      await this.#files.create({ path: inRoot, content: given.file_text ?? "" }, context);
      return textAnswer(`${path} was created.`);
    }
    const change = revisionOf(given);
    let [before, after] = ["", ""];
    const revised = (text: string): string => {
      before = text;
      after = change(text);
      return after;
    };
    await this.#files.revise({ path: inRoot }, revised, context);
    return textAnswer(`${path} was edited. It holds there now:\n${excerpt(before, after)}`);
  }

  /** Returns null for a command that only reads. */
  async preview(given: EditorInput, caller: FileCaller): Promise<JsonObject | null> {
    if (given.command === "view") return null;
    const inRoot = this.#options.inRoot(given.path ?? "", caller);
    if (given.command !== "create") return this.#files.showRevised({ path: inRoot }, revisionOf(given), caller);
    return this.#files.showWrite({ path: inRoot, content: given.file_text ?? "" }, caller);
  }

  async #view(path: string, { view_range: range }: EditorInput, context: ToolContext): Promise<ToolAnswer> {
    if (await this.#files.isFolder(path, context)) {
      if (range !== undefined) throw new FileRejection("range_invalid", "is a folder: leave `view_range` out.");
      return this.#list(path, context);
    }
    const lines = linesWanted(range);
    const read = await this.#files.read(path, lines, context);
    if (read.kind === "media") return read.answer;
    const shown = read.text.replace(/\r?\n$/, "").split(/\r?\n/);
    const first = lines.first_line ?? 1;
    const isCut = read.note?.includes("go on with") === true && lines.lines === undefined;
    const rest = isCut ? `\n[The file goes on: view_range [${first + shown.length}, -1].]` : "";
    if (read.text === "") return textAnswer("(nothing: it ends before)");
    const text = `${textEdits.numbered(shown, first)}${rest}`;
    return withReadOn({ content: [{ type: "text" as const, text }] }, (part) => {
      const next = first + Math.min(part.split("\n").length, shown.length) - 1;
      return `send the same call with \`view_range: [${next}, -1]\``;
    });
  }

  async #list(path: string, context: ToolContext): Promise<ToolAnswer> {
    const { entries, truncated } = await this.#files.list(path, listingDepth, context);
    const lines = entries
      .filter((entry) => !/(?:^|\/)(?:\.|node_modules(?:\/|$))/.test(entry.path))
      .map((entry) => {
        const shown = this.#options.shown(entry.path, context);
        return entry.type === "file" ? `${entry.bytes ?? 0}\t${shown}` : `${entry.type}\t${shown}`;
      });
    const more = truncated === undefined ? [] : ["[There is more: view one of the folders.]"];
    return textAnswer([...(lines.length === 0 ? ["(an empty folder)"] : lines), ...more].join("\n"));
  }
}

export function textAnswer(text: string): ToolAnswer {
  return { content: [{ type: "text", text }] };
}

function revisionOf(given: EditorInput): (text: string) => string {
  const { command, old_str: old_text = "", new_str = "", insert_line: line = 0, insert_text: new_text = "" } = given;
  if (command === "insert") return (text) => textEdits.inserted(text, { line, new_text });
  return (text) => textEdits.replaced(text, { old_text, new_text: new_str });
}

/** `[first, last]` counted from 1; -1 means the end. */
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
  return textEdits.numbered(now.slice(from, Math.min(now.length - same + around, from + 60)), from + 1);
}

interface EditorToolParts
  extends Pick<ProviderDefinedTool, "name" | "description" | "permissions" | "providerSpecs">,
    Pick<Editor, "run" | "preview"> {
  readonly commands: readonly EditorInput["command"][];
  /** More properties of the input. */
  readonly properties?: JsonObject;
  readonly pathOf: (given: EditorInput) => string;
  readonly classify: (given: unknown) => Suggestion;
  readonly files: Files;
}

/** A provider-defined tool with these commands. Viewing is `safe`. */
export function editorTool(parts: EditorToolParts): ProviderDefinedTool {
  const { commands, properties = {}, pathOf, classify, run, preview, files, ...facts } = parts;
  return Object.freeze({
    ...facts,
    ...({ risk: "medium", effects: "write", openWorld: false, idempotent: false } as const),
    callTypes: [],
    input: editorSchema(commands, properties),
    classifyRisk: (given: unknown) => ({
      ...classify(given),
      ...((given as EditorInput).command === "view" && { risk: "safe" as const }), // not checked yet
    }),
    preview: (given: unknown, caller: FileCaller) => {
      const input = given as EditorInput; // the schema says so
      return files.preview(pathOf(input), () => preview(input, caller));
    },
    handleCall: (call: { readonly arguments: JsonObject }, context: ToolContext) => {
      const input = call.arguments as unknown as EditorInput; // the schema says so
      return files.answer(pathOf(input), context, () => run(input, context));
    },
  });
}

/** Models that think in whole paths name a root as `/workspace/…`, as the shell tool shows it. It is the same file. */
export function rootedPath(files: Files, path: string): string {
  const [, first = ""] = /^\/([^/]+)(?:\/|$)/.exec(path) ?? [];
  return files.hasRoot(first) ? path.slice(1) : path;
}

/**
 * Anthropic's text editor (`text_editor_20250728`), run beneath the file guard. Viewing a file is `safe`.
 *
 * @throws RuntimeFault as `fileTools` does
 *
 * @example
 * const runtime = await createRuntime({ tools: [textEditorTool({ roots: { src: { path: "src", writable: true } } })] });
 *
 * @public
 */
export function textEditorTool(options: Omit<FileToolOptions, "write" | "delete">): ProviderDefinedTool {
  const files = openFiles({ ...options, write: true });
  const pathOf = ({ path = "" }: EditorInput): string => rootedPath(files, path);
  const editor = new Editor(files, { inRoot: (path) => rootedPath(files, path), shown: (path) => path });
  const name = "str_replace_based_edit_tool";
  return editorTool({
    name,
    description: `Shows files and folders, creates files, replaces a text that stands there once, inserts lines. ${files.description}`,
    permissions: ["filesystem.write"],
    providerSpecs: { anthropic: { type: "text_editor_20250728", name } },
    files,
    commands: ["view", "create", "str_replace", "insert"],
    pathOf,
    classify: (given) => files.target(pathOf(given as EditorInput)), // not checked yet
    run: (given, context) => editor.run(given, context),
    preview: (given, caller) => editor.preview(given, caller),
  });
}
