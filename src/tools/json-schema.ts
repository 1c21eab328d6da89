import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { type Json, type JsonObject, maxDepth } from "../calls/json.ts";
import { visible } from "./names.ts";
import { preflight, type VettedSchema } from "./preflight.ts";
import type { CompiledCheck } from "./schema-check.ts";
import { SchemaThread, type SchemaThreadOptions } from "./schema-thread.ts";
import type { Issue } from "./tool.ts";

/** Schema parts × value parts that may be looked at without leaving the event loop: some 20 ms in the worst case. */
const inProcessBudget = 250_000;
/** Compiled schemas that are kept; beyond it the oldest is compiled anew when it is registered again. */
const maxKept = 2_000;

/**
 * The schemas of strangers (MCP servers, plain JSON Schema tools): vetted at registration, then checked in process where
 * that cannot take long, else in a worker that is killed at its deadline.
 */
export class JsonSchemas implements AsyncDisposable {
  readonly #guards = new Map<string, SchemaGuard>();
  readonly #thread: SchemaThread;

  constructor(options: SchemaThreadOptions = {}) {
    this.#thread = new SchemaThread(options);
  }

  /**
   * @param whose the tool, for the refusal
   * @throws RuntimeFault `schema_refused`
   */
  prepare(schema: unknown, whose: string): SchemaGuard {
    const vetted = preflight(schema, whose);
    const kept = this.#guards.get(vetted.digest);
    if (kept !== undefined) return kept;
    const guard = new SchemaGuard(vetted, this.#thread, whose);
    if (this.#guards.size >= maxKept)
      for (const oldest of [...this.#guards.keys()].slice(0, 1)) this.#guards.delete(oldest);
    this.#guards.set(vetted.digest, guard);
    return guard;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** One schema, ready to be asked. */
export class SchemaGuard {
  readonly vetted: VettedSchema;
  /** Rejects with RuntimeFault `schema_refused` when it turns out to be no valid schema. What is checked in the worker is compiled there, at first use. */
  readonly ready: Promise<void>;
  readonly #thread: SchemaThread;
  #compiled: CompiledCheck | undefined;
  #problem: string | undefined;

  constructor(vetted: VettedSchema, thread: SchemaThread, whose: string) {
    this.vetted = vetted;
    this.#thread = thread;
    this.ready = vetted.inProcess ? this.#compile(whose) : Promise.resolve();
    this.ready.catch(() => undefined); // nobody has to wait for it: `check` and `problem` tell it too
  }

  /** Why it cannot be used, once that is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Empty: the value fits. A promise only before the schema is compiled, and where the worker is asked. */
  check(value: JsonObject): readonly Issue[] | Promise<readonly Issue[]> {
    const { inProcess, weight } = this.vetted;
    const size = sizeOf(value, inProcessBudget / weight);
    if (size === undefined) return [{ path: [], message: `is nested deeper than ${maxDepth} levels` }];
    if (!inProcess || size > inProcessBudget / weight) return this.#thread.check(this.vetted, value);
    return this.#compiled?.issues(value) ?? this.#later(value);
  }

  async #later(value: JsonObject): Promise<readonly Issue[]> {
    try {
      await this.ready;
    } catch (error) {
      return [{ path: [], message: messageOf(error) }];
    }
    return this.#compiled?.issues(value) ?? [{ path: [], message: "cannot be checked: the schema is not compiled" }];
  }

  async #compile(whose: string): Promise<void> {
    try {
      const { compileSchema } = await import("./schema-check.ts");
      this.#compiled = await compileSchema(this.vetted);
    } catch (error) {
      this.#problem = `The schema of ${visible(whose)} is refused: ${messageOf(error)}`;
      throw new RuntimeFault("schema_refused", this.#problem, { cause: error });
    }
  }
}

/** How many parts a value has, long texts counted by the line; stops counting beyond `enough`. Undefined: too deep. */
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
