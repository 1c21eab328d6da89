import type { JsonObject } from "../../core/json.ts";
import type { Locks } from "../../core/system/locks.ts";
import type { Suggestion } from "../../policy/policy.ts";
import { visible } from "../../tools/names.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import type { Disk } from "./disk.ts";
import { type Beneath, type Folder, walkBeneath } from "./guard/folder.ts";
import { type FileRejection, rejectionOf } from "./guard/rejection.ts";
import type { PathName } from "./path-name.ts";
import type { FileCaller, FileRoots } from "./roots.ts";
import type { Searches } from "./search/searches.ts";

export interface FileLimits {
  readonly maxFileBytes: number;
  readonly maxMediaBytes: number;
  readonly maxWriteBytes: number;
  readonly maxResults: number;
  readonly searchTimeMs: number;
}

/** What every file tool works with. */
export interface FileKit {
  readonly roots: FileRoots;
  readonly limits: FileLimits;
  /** Some tool may change files: then writable roots are called so. */
  readonly mayWrite: boolean;
  readonly searches: () => Promise<Searches>;
  readonly locks: Locks;
  readonly disk: Disk;
  readonly reach: () => Promise<Beneath>;
}

/** How folders are reached: by the kernel in one call where that can be had, else step by step. Found out once, at the first use. */
export function reachBy(useOpenat2: boolean): () => Promise<Beneath> {
  return atFirstUse(async () => {
    if (!useOpenat2) return walkBeneath;
    const { loadOpenat2 } = await import("./guard/openat2.ts");
    return (await loadOpenat2()) ?? walkBeneath;
  });
}

/** Made once, when somebody first asks. */
export function atFirstUse<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** A path that was parsed, with its root held. */
export interface Reached extends Disposable {
  readonly name: PathName;
  readonly root: Folder;
}

export async function reach(kit: FileKit, name: PathName, caller: FileCaller): Promise<Reached> {
  const root = kit.roots.open(name.root, caller, await kit.reach());
  return { name, root, [Symbol.dispose]: () => root[Symbol.dispose]() };
}

/** The names a change of a path is locked by. */
export function lockOf(kit: FileKit, { root, parts }: PathName, caller: FileCaller): string {
  return `${kit.roots.keyOf(root, caller)}/${parts.join("/")}`;
}

export type FileToolBody<Input> = (input: Input, context: ToolContext) => Promise<ToolAnswer>;

/**
 * A tool's body whose rejections are answers (`isError`, in words and as `{ rejected, path }`) and, where somebody tried
 * what no tool may, announced as `file.rejected`.
 *
 * @param pathsOf the paths as they were given, the first is the one that is spoken of
 */
export function answering<Input>(pathOf: (input: Input) => string, body: FileToolBody<Input>): FileToolBody<Input> {
  return async (input, context) => {
    try {
      return await body(input, context);
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection === undefined) throw error;
      return rejectedAnswer(rejection, pathOf(input), context);
    }
  };
}

function rejectedAnswer(rejection: FileRejection, given: string, context: ToolContext): ToolAnswer {
  const { text, ...structured } = rejected(rejection, given, context);
  return { isError: true, content: [{ type: "text", text }], structured };
}

/** What is said of a rejection, which is announced where somebody tried what no tool may. */
export function rejected(
  rejection: FileRejection,
  given: string,
  context: ToolContext,
): { readonly text: string; readonly rejected: string; readonly path: string } {
  const { reason, isGuard } = rejection;
  const path = given.slice(0, 300).toWellFormed();
  const text = sentenceOf(rejection, given);
  if (isGuard) context.emit("file.rejected", text, { path, reason });
  return { text, rejected: reason, path };
}

export function sentenceOf(rejection: FileRejection, path: string): string {
  return `${path === "" ? "The path" : visible(path)} ${rejection.message}`;
}

/** A preview that cannot be made says why; the call is asked about all the same, and refused for the same reason when it runs. */
export function previewing<Input>(
  pathOf: (input: Input) => string,
  body: (input: Input) => Promise<JsonObject>,
): (input: Input) => Promise<JsonObject> {
  return async (input) => {
    try {
      return await body(input);
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection === undefined) throw error;
      return { supported: false, problem: sentenceOf(rejection, pathOf(input)) };
    }
  };
}

export function announce(
  context: ToolContext,
  type: "file.read" | "file.written",
  data: JsonObject & { readonly path: string },
): void {
  context.emit(type, data.path, data);
}

/** What a call is about, in the one spelling rules and people can go by. It says nothing of risk. */
export function targeting<Input>(kit: FileKit, pathOf: (input: Input) => string): (given: unknown) => Suggestion {
  return (given) => {
    try {
      return { target: kit.roots.parse(pathOf(given as Input)).shown }; // as sent: a path that is none is a rejection
    } catch (error) {
      if (rejectionOf(error) === undefined) throw error;
      return {}; // the call itself will say why
    }
  };
}
