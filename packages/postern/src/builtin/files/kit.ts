import type { JsonObject } from "@postern/core";
import type { Locks } from "@postern/core/system";
import type { Suggestion } from "../../policy/policy.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import type { Disk } from "./disk.ts";
import { type Beneath, type Folder, walkBeneath } from "./guard/folder.ts";
import { type FileRejection, rejectionOf } from "./guard/rejection.ts";
import { asOnDisk } from "./guard/spelling.ts";
import type { PathName } from "./path-name.ts";
import type { FileCaller, FileRoots } from "./roots.ts";
import type { SearchThreads } from "./search/thread.ts";
import type { Spot } from "./writing.ts";

export interface FileLimits {
  readonly maxFileBytes: number;
  readonly maxMediaBytes: number;
  readonly maxWriteBytes: number;
  readonly maxResults: number;
  readonly searchTimeMs: number;
}

/** What every file tool needs. */
export interface FileKit {
  readonly roots: FileRoots;
  readonly limits: FileLimits;
  /** Whether a tool may change files: only then do descriptions call roots writable. */
  readonly mayWrite: boolean;
  readonly searches: SearchThreads;
  readonly locks: Locks;
  readonly disk: Disk;
  readonly reach: () => Promise<Beneath>;
}

/** Folders are reached by the kernel in one call if possible, else step by step. Decided once, at the first use. */
export function folderOpener(useOpenat2: boolean): () => Promise<Beneath> {
  let found: Promise<Beneath> | undefined;
  const find = async (): Promise<Beneath> => {
    if (!useOpenat2) return walkBeneath;
    const { loadOpenat2 } = await import("./guard/openat2.ts");
    return (await loadOpenat2()) ?? walkBeneath;
  };
  return () => {
    found ??= find();
    return found;
  };
}

/** Opens the root of a path. The caller disposes of it. */
export async function openRootOf(kit: FileKit, { root }: PathName, caller: FileCaller): Promise<Folder> {
  return kit.roots.open(root, caller, await kit.reach());
}

/** Opens the folder of a path while `work` runs. */
export async function inFolderOf<T>(
  kit: FileKit,
  { name, caller }: { readonly name: PathName; readonly caller: FileCaller },
  work: (spot: Spot) => T | Promise<T>,
): Promise<T> {
  using root = await openRootOf(kit, name, caller);
  const parts = asOnDisk(root, name.parts);
  using folder = root.descend(parts.slice(0, -1));
  return await work({ folder, name: parts.at(-1) ?? "." }); // awaited here: the folder closes after it
}

/** Changes of a path are locked by this name, in each Unicode form of the path. */
export function lockOf(kit: FileKit, { root, parts }: PathName, caller: FileCaller): string {
  return `${kit.roots.keyOf(root, caller)}/${parts.join("/").normalize("NFC")}`;
}

type FileToolBody<Input> = (input: Input, context: ToolContext) => Promise<ToolAnswer>;

interface FileToolParts<Input> extends Omit<LocalTool, "execute" | "preview" | "classifyRisk"> {
  /** The path that messages name. */
  readonly pathOf: (input: Input) => string;
  /** What rules and people see of a call. */
  readonly classify?: (given: unknown) => Suggestion;
  readonly run: FileToolBody<Input>;
  readonly show?: (input: Input, caller: FileCaller) => Promise<JsonObject>;
}

/** A file tool: rejections of its body are answers, and its preview says why it cannot be made. */
export function fileTool<Input>(
  kit: FileKit,
  { pathOf, classify, run, show, ...facts }: FileToolParts<Input>,
): LocalTool {
  const execute = answering(pathOf, run, kit);
  return Object.freeze({
    ...facts,
    ...(classify !== undefined && { classifyRisk: classify }),
    execute: (given: unknown, context: ToolContext) => execute(given as Input, context), // the schema says so
    ...(show !== undefined && {
      preview: (given: unknown, caller: FileCaller) =>
        previewed(given as Input, pathOf, (input) => show(input, caller)),
    }),
  });
}

/**
 * A tool's body whose rejections are answers (`isError`, in words and as `{ rejected, path }`). An attempt to do what no
 * tool may is announced as `file.rejected`. With a kit, a missing file names the roots that were not looked into.
 */
export function answering<Input>(
  pathOf: (input: Input) => string,
  body: FileToolBody<Input>,
  kit?: { readonly roots: Pick<FileRoots, "elsewhere"> },
): FileToolBody<Input> {
  return async (input, context) => {
    try {
      return await body(input, context);
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection === undefined) throw error;
      const path = pathOf(input);
      const { text, ...structured } = rejected(rejection, path, context);
      const elsewhere = rejection.reason === "not_found" ? kit?.roots.elsewhere(path) : undefined;
      return { isError: true, content: [text, elsewhere].filter((part) => part !== undefined).join(" "), structured };
    }
  };
}

/** What an answer says of a rejection. A rejection by the guard is announced. */
export function rejected(
  rejection: FileRejection,
  given: string,
  context: ToolContext,
): { readonly text: string; readonly rejected: FileRejection["reason"]; readonly path: string } {
  const { reason, isGuard } = rejection;
  const path = given.slice(0, 300).toWellFormed();
  const text = rejection.sentence(given);
  if (isGuard) context.emit("file.rejected", text, { path, reason });
  return { text, rejected: reason, path };
}

/** A preview that cannot be made says why. The approver is still asked, and the call is refused for the same reason. */
export async function previewed<Input>(
  input: Input,
  pathOf: (input: Input) => string,
  body: (input: Input) => Promise<JsonObject | null>,
): Promise<JsonObject | null> {
  try {
    return await body(input);
  } catch (error) {
    const rejection = rejectionOf(error);
    if (rejection === undefined) throw error;
    return { supported: false, problem: rejection.sentence(pathOf(input)) };
  }
}

export function announce(
  context: ToolContext,
  type: "file.read" | "file.written",
  data: JsonObject & { readonly path: string },
): void {
  context.emit(type, data.path, data);
}

/** The path of a call in the one form that rules and people can compare. It says nothing about the risk. */
export function targeting<Input>(kit: FileKit, pathOf: (input: Input) => string): (given: unknown) => Suggestion {
  return (given) => {
    try {
      return { target: kit.roots.parse(pathOf(given as Input)).shown }; // not checked yet: a wrong path is rejected
    } catch (error) {
      if (rejectionOf(error) === undefined) throw error;
      return {}; // the call itself says why
    }
  };
}

export function pathOf({ path = "" }: { readonly path?: string }): string {
  return path;
}

/** The parts of input schemas. */
export const path: JsonObject = { type: "string", description: "Path of the file, from its root." };

export const encoding: JsonObject = {
  type: "string",
  description: "Of the file, if it is neither UTF-8 nor UTF-16 with a byte order mark: windows-1252, shift_jis, …",
};

export function wholeNumber(minimum: number, maximum: number, description: string): JsonObject {
  return { type: "integer", minimum, maximum, description };
}

export function text(description: string): JsonObject {
  return { type: "string", description };
}

export function flag(description: string): JsonObject {
  return { type: "boolean", description };
}

export function inputSchema(properties: Readonly<Record<string, JsonObject>>, required: readonly string[]): JsonObject {
  return { type: "object", properties, required: [...required], additionalProperties: false };
}
