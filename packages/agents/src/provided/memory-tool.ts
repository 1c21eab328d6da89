import type { JsonObject, Principal } from "@postern/core";
import { makeOwnFolder, plainName } from "@postern/core/system";
import type { ToolAnswer, ToolContext } from "postern";
import {
  type FileCaller,
  FileRejection,
  type Files,
  type FileToolOptions,
  openFiles,
  rejectionOf,
} from "postern/builtin";
import type { ProviderDefinedTool } from "postern/tools";
import { Editor, type EditorInput, editorTool, textAnswer } from "./editor.ts";

const root = "memories";
/** A model cannot use a longer memory. */
const maxFileBytes = 100_000;

/** Where memories are stored. Each agent of each tenant has its own folder there. */
export interface MemoryToolOptions extends Pick<FileToolOptions, "openat2" | "notRaceSafe"> {
  /** Made if it is missing. */
  readonly folder: string;
}

/**
 * Anthropic's memory tool (`memory_20250818`): files under `/memories`, kept beneath the file guard. No agent sees the
 * memories of another.
 *
 * @throws RuntimeFault as `fileTools` does
 *
 * @example
 * const runtime = await createRuntime({ tools: [memoryTool({ folder: ".postern/memories" })] });
 *
 * @public
 */
export function memoryTool({ folder, ...options }: MemoryToolOptions): ProviderDefinedTool {
  makeOwnFolder(folder);
  const files = openFiles({
    ...options,
    roots: { [root]: { path: folder, writable: true } },
    ...{ write: true, maxWriteBytes: maxFileBytes },
  });
  const memories = new Memories(files);
  return editorTool({
    name: "memory",
    description: "Keeps what the agent wants to remember between runs, as text files under /memories.",
    permissions: ["memory.write"],
    providerSpecs: { anthropic: { type: "memory_20250818", name: "memory" } },
    commands: ["view", "create", "str_replace", "insert", "delete", "rename"],
    properties: { old_path: { type: "string" }, new_path: { type: "string" } },
    files,
    pathOf,
    classify: (given) => ({ target: pathOf(given as EditorInput) }), // not checked yet
    run: (given, context) => memories.run(given, context),
    preview: (given, caller) => memories.preview(given, caller),
  });
}

function pathOf({ path, old_path = "" }: EditorInput): string {
  return path ?? old_path;
}

class Memories {
  readonly #editor: Editor;
  readonly #files: Files;

  constructor(files: Files) {
    this.#editor = new Editor(files, {
      inRoot,
      shown: (path, caller) => `/${root}${path.slice(ownFolder(caller).length)}`,
    });
    this.#files = files;
  }

  async run(given: EditorInput, context: ToolContext): Promise<ToolAnswer> {
    const { command, path = "", old_path = "", new_path = "" } = given;
    if (command === "delete") {
      await this.#files.remove({ path: notTheRoot(path, context) }, context);
      return textAnswer(`${path} was deleted.`);
    }
    if (command === "rename") {
      await this.#files.move(moveOf(given, context), context);
      return textAnswer(`${old_path} was renamed to ${new_path}.`);
    }
    try {
      return await this.#editor.run(given, context);
    } catch (error) {
      const isNew =
        command === "view" &&
        rejectionOf(error)?.reason === "not_found" &&
        inRoot(path, context) === ownFolder(context);
      if (isNew) return textAnswer("(nothing is remembered yet)");
      throw error;
    }
  }

  async preview(given: EditorInput, caller: FileCaller): Promise<JsonObject> {
    const { command, path = "", old_path = "", new_path = "" } = given;
    if (command === "delete") {
      await this.#files.showRemove({ path: notTheRoot(path, caller) }, caller);
      return { summary: `delete ${path} and what is in it, for good` };
    }
    if (command !== "rename") return (await this.#editor.preview(given, caller)) ?? { summary: `view ${path}` };
    await this.#files.showMove(moveOf(given, caller), caller);
    return { summary: `rename ${old_path} to ${new_path}` };
  }
}

function moveOf({ old_path = "", new_path = "" }: EditorInput, caller: FileCaller): { from: string; to: string } {
  return { from: notTheRoot(old_path, caller), to: notTheRoot(new_path, caller) };
}

/** One folder an agent. A name with other characters than a plain word is replaced by its digest. */
function ownFolder({ principal }: FileCaller): string {
  const { tenant, agent } = principal as Principal; // the principal of a call is whole
  return [root, plainName(tenant), plainName(agent)].join("/");
}

/** A path in the agent's folder. The file guard refuses every part that leads out of it. */
function inRoot(path: string, caller: FileCaller): string {
  if (!/^\/memories(?:\/|$)/.test(path))
    throw new FileRejection("root_unknown", "is not in the memory: a path begins with `/memories`.");
  const rest = path.slice("/memories".length).replace(/\/+$/, "");
  return `${ownFolder(caller)}${rest}`;
}

function notTheRoot(path: string, caller: FileCaller): string {
  const wanted = inRoot(path, caller);
  if (wanted.split("/").every((part) => part !== "..") && /^\/memories[/.]*$/.test(path))
    throw new FileRejection("read_only", "is the root of all memories; name what is in it.");
  return wanted;
}
