/** `apply_patch`: OpenAI's items with one file each, and Codex's text with several files. */
import { type Json, type JsonObject, visible } from "@postern/core";
import type { ToolAnswer, ToolContext } from "postern";
import {
  type FileCaller,
  FileRejection,
  type Files,
  type FileToolOptions,
  openFiles,
  rejectionOf,
  type SeenFile,
} from "postern/builtin";
import type { Suggestion } from "postern/policy";
import type { ProviderDefinedTool } from "postern/tools";
import { rootedPath } from "./editor.ts";
import { operationStep, type PatchStep, parsePatch, patched } from "./v4a.ts";

interface PatchInput {
  readonly operation?: Parameters<typeof operationStep>[0];
  readonly input?: string;
}

/** The change of one file. All are planned before any is written. */
type PlannedStep = NamedFile & { readonly verb: string } & (NewFile | RemovedFile);

interface NamedFile {
  readonly path: string;
  /** In the one form that rules and people compare. */
  readonly shown: string;
}

interface NewFile {
  /** Undefined if no file is there yet. */
  readonly seen: SeenFile | undefined;
  readonly after: Buffer;
}

interface RemovedFile {
  readonly seen: SeenFile;
  readonly after: undefined;
}

const inputSchema: JsonObject = {
  type: "object",
  properties: {
    operation: {
      type: "object",
      properties: {
        type: { enum: ["create_file", "update_file", "delete_file"] },
        path: { type: "string", description: "Path of the file, from its root." },
        diff: { type: "string", description: "Its hunks; of a new file, each line with `+` before it." },
      },
      required: ["type", "path"],
    },
    input: { type: "string", description: "A whole patch, from `*** Begin Patch` to `*** End Patch`." },
  },
  anyOf: [{ required: ["operation"] }, { required: ["input"] }],
};

/** The roots and limits of `fileTools`. `delete`: a patch may delete files. */
export interface ApplyPatchOptions extends Omit<FileToolOptions, "write"> {
  /** How the tool is declared to OpenAI: as its own tool, or as the custom tool that takes Codex's text. Default: `apply_patch`. */
  readonly declare?: "apply_patch" | "custom" | undefined;
}

/**
 * OpenAI's `apply_patch`, run beneath the file guard. A patch that does not match changes no file.
 *
 * @throws RuntimeFault as `fileTools` does
 *
 * @example
 * const runtime = await createRuntime({ tools: [applyPatchTool({ roots: { src: { path: "src", writable: true } } })] });
 *
 * @public
 */
export function applyPatchTool({ declare = "apply_patch", ...options }: ApplyPatchOptions): ProviderDefinedTool {
  const files = openFiles({ ...options, write: true });
  const patches = new FilePatches(files, options.delete === true);
  const description = `Changes files by a patch; when one hunk does not match, no file is changed. ${files.description}`;
  return Object.freeze({
    ...({
      name: "apply_patch",
      description,
      risk: "medium",
      effects: "write",
      openWorld: false,
      idempotent: false,
    } as const),
    permissions: ["filesystem.write", ...(options.delete === true ? ["filesystem.delete"] : [])],
    providerSpecs: {
      openai: declare === "custom" ? { type: "custom", name: "apply_patch", description } : { type: "apply_patch" },
    },
    callTypes: ["apply_patch_call"],
    input: inputSchema,
    classifyRisk: (given: unknown) => patches.classify(given as PatchInput),
    preview: (given: unknown, caller: FileCaller) => patches.preview(given as PatchInput, caller), // the schema says so
    handleCall: (call: { readonly arguments: JsonObject }, context: ToolContext) =>
      patches.apply(call.arguments as PatchInput, context),
  });
}

interface PatchProblem {
  readonly path: string;
  readonly rejection: FileRejection;
}

type PatchPlan =
  | { readonly steps: readonly PlannedStep[]; readonly problems?: never }
  | { readonly problems: readonly PatchProblem[]; readonly steps?: never };

class FilePatches {
  readonly #files: Files;
  readonly #mayDelete: boolean;

  constructor(files: Files, mayDelete: boolean) {
    this.#files = files;
    this.#mayDelete = mayDelete;
  }

  /** Deleting is critical. Rules and people see which files a patch changes. */
  classify(given: PatchInput): Suggestion {
    const steps = orRejection(() => stepsOf(given));
    if (steps instanceof FileRejection) return {}; // the call itself says why
    const paths = orRejection(() => steps.flatMap((step) => pathsOf(step).map((path) => this.#named(path).shown)));
    if (paths instanceof FileRejection) return {};
    const deletes = this.#mayDelete && steps.some(({ kind }) => kind === "delete");
    return { target: paths.join(", "), affected: paths.length, ...(deletes && { risk: "critical" as const }) };
  }

  async preview(given: PatchInput, caller: FileCaller): Promise<JsonObject> {
    const { steps, problems } = await this.#plan(given, caller);
    if (steps === undefined)
      return { supported: false, problem: problems.map(({ path, rejection }) => sentence(rejection, path)).join("\n") };
    const shown = await Promise.all(
      steps.map(({ shown: path, seen, after = Buffer.alloc(0), verb }) =>
        this.#files.showChange(verb, { path, before: seen?.bytes, after }),
      ),
    );
    return {
      summary: shown.map(({ summary }) => summary as string).join("; "),
      diff: shown.map(({ diff }) => diff as string).join("\n"),
      details: shown.map(({ details }) => details as Json),
    };
  }

  async apply(given: PatchInput, context: ToolContext): Promise<ToolAnswer> {
    const paths = orRejection(() =>
      stepsOf(given).flatMap((step) => pathsOf(step).map((path) => this.#named(path).path)),
    );
    return this.#files.together(paths instanceof FileRejection ? [] : paths, context, async () => {
      const { steps, problems } = await this.#plan(given, context);
      if (steps === undefined) return this.#refused(problems, context);
      const done: string[] = [];
      for (const step of steps) {
        try {
          await this.#carryOut(step, context);
        } catch (error) {
          const rejection = rejectionOf(error);
          if (rejection === undefined) throw error;
          return stopped(sentence(rejection, step.shown), done);
        }
        done.push(`${step.verb} ${step.shown}`);
      }
      return { content: [{ type: "text", text: `Done: ${done.join("; ")}.` }] };
    });
  }

  #carryOut(step: PlannedStep, context: ToolContext): Promise<void> {
    if (step.after === undefined) return this.#files.deleteSeen(step.path, step.seen, context);
    return this.#files.put(step.path, { bytes: step.after, seen: step.seen }, context);
  }

  /** Reads every file and makes every change in memory. Reports all problems at once. */
  async #plan(given: PatchInput, caller: FileCaller): Promise<PatchPlan> {
    const steps = orRejection(() => stepsOf(given));
    if (steps instanceof FileRejection) return { problems: [{ path: "", rejection: steps }] };
    const planned: PlannedStep[] = [];
    const problems: PatchProblem[] = [];
    const seen = new Set<string>();
    for (const step of steps) {
      try {
        for (const path of pathsOf(step)) this.#once(path, seen);
        planned.push(...(await this.#planned(step, caller)));
      } catch (error) {
        const rejection = rejectionOf(error);
        if (rejection === undefined) throw error;
        problems.push({ path: step.path, rejection });
      }
    }
    return problems.length > 0 ? { problems } : { steps: planned };
  }

  #once(path: string, seen: Set<string>): void {
    const { shown } = this.#named(path);
    if (seen.has(shown))
      throw new FileRejection("patch_invalid", "is named twice in the patch; put its hunks together.");
    seen.add(shown);
  }

  async #planned(step: PatchStep, caller: FileCaller): Promise<readonly PlannedStep[]> {
    const name = this.#named(step.path);
    const seen = await this.#files.look(name.path, caller);
    if (step.kind === "create") return [{ ...this.#fresh(name, seen, Buffer.from(step.text)), verb: "add" }];
    if (seen === undefined) throw new FileRejection("not_found");
    if (step.kind === "delete") {
      if (!this.#mayDelete) throw new FileRejection("read_only", "was not deleted: patches may not delete files here.");
      return [{ ...name, seen, after: undefined, verb: "delete" }];
    }
    const after =
      step.hunks.length === 0
        ? this.#files.checkSize(seen.bytes)
        : this.#files.revision(seen, (text) => patched(text, step.hunks));
    if (step.to === undefined) return [{ ...name, seen, after, verb: "update" }];
    const to = this.#named(step.to);
    const moved = { ...this.#fresh(to, await this.#files.look(to.path, caller), after), verb: `move ${name.shown} to` };
    return [moved, { ...name, seen, after: undefined, verb: "remove" }];
  }

  #fresh(name: NamedFile, seen: SeenFile | undefined, after: Buffer): NamedFile & NewFile {
    if (seen !== undefined) throw new FileRejection("exists", `cannot be made: ${visible(name.shown)} exists already.`);
    return { ...name, seen, after: this.#files.checkSize(after) };
  }

  #named(given: string): NamedFile {
    const path = rootedPath(this.#files, given);
    return { path, shown: this.#files.pathToChange(path) };
  }

  #refused(problems: readonly PatchProblem[], context: ToolContext): ToolAnswer {
    const all = problems.map(({ path, rejection }) => ({
      ...this.#files.rejected(rejection, path, context),
      text: sentence(rejection, path),
    }));
    const text = ["Nothing was changed.", ...all.map((one) => one.text)].join("\n");
    return {
      isError: true,
      content: [{ type: "text", text }],
      structured: { rejected: all.map(({ rejected: reason, path }) => ({ reason, path })) },
    };
  }
}

function stepsOf({ operation, input = "" }: PatchInput): readonly PatchStep[] {
  return operation === undefined ? parsePatch(input) : [operationStep(operation)];
}

function orRejection<T>(make: () => T): T | FileRejection {
  try {
    return make();
  } catch (error) {
    const rejection = rejectionOf(error);
    if (rejection === undefined) throw error;
    return rejection;
  }
}

function pathsOf(step: PatchStep): readonly string[] {
  return step.kind === "update" && step.to !== undefined ? [step.path, step.to] : [step.path];
}

/** If the patch cannot be read, the message names no path. */
function sentence(rejection: FileRejection, path: string): string {
  return path === "" && rejection.reason === "patch_invalid"
    ? `The patch ${rejection.message}`
    : rejection.sentence(path);
}

function stopped(why: string, written: readonly string[]): ToolAnswer {
  const done = written.length === 0 ? "Nothing was changed." : `This was done before: ${written.join("; ")}.`;
  return { isError: true, content: [{ type: "text", text: `${why}\n${done}` }], structured: { done: [...written] } };
}
