import { type Json, type JsonObject, maxDepth, messageOf, RuntimeFault, visible } from "@postern/core";
import { preflight, type VettedSchema } from "./preflight.ts";
import type { CompiledCheck } from "./schema-check.ts";
import { SchemaThread, type SchemaThreadOptions } from "./schema-thread.ts";
import type { SchemaResult } from "./schema-worker.ts";

/** Schema parts × value parts that may be checked in process: some 20 ms in the worst case. */
const inProcessBudget = 250_000;
/** The number of compiled schemas that are kept. */
const maxKept = 2_000;

/**
 * Third-party schemas (MCP servers, plain JSON Schema tools). They are vetted at registration. A check runs in process if it
 * cannot take long, else in a worker that is killed at its deadline.
 */
export class JsonSchemas implements AsyncDisposable {
  readonly #guards = new Map<string, SchemaGuard>();
  readonly #thread: SchemaThread;

  constructor(options: SchemaThreadOptions = {}) {
    this.#thread = new SchemaThread(options);
  }

  /**
   * @param whose the tool, for the refusal
   * @param isServers an upstream server's schema: a member with a default is not required
   * @throws RuntimeFault `options_invalid`
   */
  prepare(schema: unknown, whose: string, isServers = false): SchemaGuard {
    const vetted = preflight(schema, whose, { fillsDefaults: isServers });
    const key = `${isServers ? "server" : "own"} ${vetted.digest}`;
    const kept = this.#guards.get(key);
    if (kept !== undefined) return kept;
    const guard = new SchemaGuard(vetted, { thread: this.#thread, whose });
    if (this.#guards.size >= maxKept)
      for (const oldest of [...this.#guards.keys()].slice(0, 1)) this.#guards.delete(oldest);
    this.#guards.set(key, guard);
    return guard;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

interface GuardParts {
  readonly thread: SchemaThread;
  readonly whose: string;
}

/** One schema that checks values. */
export class SchemaGuard {
  readonly vetted: VettedSchema;
  /** Rejects with RuntimeFault `options_invalid` when it turns out to be no valid schema. */
  readonly ready: Promise<void>;
  readonly #parts: GuardParts;
  #compiled: CompiledCheck | undefined;
  #problem: string | undefined;

  constructor(vetted: VettedSchema, parts: GuardParts) {
    this.vetted = vetted;
    this.#parts = parts;
    this.ready = this.#compile();
    this.ready.catch(() => undefined); // `check` and `problem` report it too
  }

  /** Why it cannot be used, once that is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Never rejects. */
  async check(value: JsonObject): Promise<SchemaResult> {
    if (this.#problem !== undefined) return { unusable: this.#problem };
    const { inProcess, weight } = this.vetted;
    const size = sizeOf(value, inProcessBudget / weight);
    if (size === undefined) return { issues: [{ path: [], message: `is nested deeper than ${maxDepth} levels` }] };
    if (!inProcess || size > inProcessBudget / weight) {
      const checked = await this.#parts.thread.check(this.vetted, value);
      return "issues" in checked ? checked : { unusable: this.#refusal(checked.unusable) };
    }
    if (this.#compiled === undefined) await this.ready.catch(() => undefined); // `problem` says why
    if (this.#compiled !== undefined) return { issues: this.#compiled.issues(value) };
    return { unusable: this.#problem ?? this.#refusal("it is not compiled.") };
  }

  #refusal(why: string): string {
    return `The schema of ${visible(this.#parts.whose)} is refused: ${why}`;
  }

  async #compile(): Promise<void> {
    try {
      if (this.vetted.inProcess) {
        const { compileSchema } = await import("./schema-check.ts");
        this.#compiled = await compileSchema(this.vetted);
        return;
      }
      const why = await this.#parts.thread.compile(this.vetted);
      if (why !== undefined) throw new Error(why);
    } catch (error) {
      this.#problem = this.#refusal(messageOf(error));
      throw new RuntimeFault("options_invalid", this.#problem, { cause: error });
    }
  }
}

/** Counts the parts of a value, and 64 characters of a text as one. Stops beyond `enough`. Returns undefined if it is too deep. */
function sizeOf(value: Json, enough: number, depth = 0): number | undefined {
  if (typeof value === "string") return 1 + value.length / 64;
  if (typeof value !== "object" || value === null) return 1;
  if (depth > maxDepth) return undefined;
  let size = 1;
  for (const inner of Object.values(value)) {
    const more = sizeOf(inner, enough - size, depth + 1);
    if (more === undefined) return undefined;
    size += more;
    if (size > enough) return size;
  }
  return size;
}
