import { messageOf, RuntimeFault } from "../../core/fault.ts";
import { type Json, type JsonObject, maxDepth } from "../../core/json.ts";
import { visible } from "../names.ts";
import { preflight, type VettedSchema } from "./preflight.ts";
import type { CompiledCheck } from "./schema-check.ts";
import { SchemaThread, type SchemaThreadOptions } from "./schema-thread.ts";
import type { SchemaResult } from "./schema-worker.ts";

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
   * @param isServers the schema is an upstream server's, whose rules are its own: what has a default is not required,
   * and null stands for an optional member that is not given
   * @throws RuntimeFault `schema_refused`
   */
  prepare(schema: unknown, whose: string, isServers = false): SchemaGuard {
    const vetted = preflight(schema, whose, { fillsDefaults: isServers });
    const key = `${isServers ? "server" : "own"} ${vetted.digest}`;
    const kept = this.#guards.get(key);
    if (kept !== undefined) return kept;
    const guard = new SchemaGuard(vetted, { thread: this.#thread, whose, nullIsAbsent: isServers });
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

const fitting: SchemaResult = { issues: [] };

interface GuardParts {
  readonly thread: SchemaThread;
  readonly whose: string;
  /** Null stands for an optional member that is not given. */
  readonly nullIsAbsent: boolean;
}

/** One schema, ready to be asked. */
export class SchemaGuard {
  readonly vetted: VettedSchema;
  /** Rejects with RuntimeFault `schema_refused` when it turns out to be no valid schema. */
  readonly ready: Promise<void>;
  readonly #parts: GuardParts;
  #compiled: CompiledCheck | undefined;
  #problem: string | undefined;

  constructor(vetted: VettedSchema, parts: GuardParts) {
    this.vetted = vetted;
    this.#parts = parts;
    this.ready = this.#compile();
    this.ready.catch(() => undefined); // nobody has to wait for it: `check` and `problem` tell it too
  }

  /** Why it cannot be used, once that is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** A promise only before the schema is compiled, and where the worker is asked. Never throws or rejects. */
  check(value: JsonObject): SchemaResult | Promise<SchemaResult> {
    const checked = this.#checkAsIs(value);
    if (!this.#parts.nullIsAbsent) return checked;
    return checked instanceof Promise
      ? checked.then((late) => this.#orWithoutNulls(value, late))
      : this.#orWithoutNulls(value, checked);
  }

  #orWithoutNulls(value: JsonObject, checked: SchemaResult): SchemaResult | Promise<SchemaResult> {
    if ("unusable" in checked || checked.issues.length === 0) return checked;
    const given = withoutNulls(value);
    if (given === value) return checked;
    const fits = (again: SchemaResult): SchemaResult =>
      "issues" in again && again.issues.length === 0 ? again : checked;
    const again = this.#checkAsIs(given as JsonObject); // an object stays one
    return again instanceof Promise ? again.then(fits) : fits(again);
  }

  #checkAsIs(value: JsonObject): SchemaResult | Promise<SchemaResult> {
    if (this.#problem !== undefined) return { unusable: this.#problem };
    const { inProcess, weight } = this.vetted;
    const size = sizeOf(value, inProcessBudget / weight);
    if (size === undefined) return { issues: [{ path: [], message: `is nested deeper than ${maxDepth} levels` }] };
    if (!inProcess || size > inProcessBudget / weight)
      return this.#parts.thread.check(this.vetted, value).then((checked) => this.#named(checked));
    return this.#compiled === undefined ? this.#later(value) : this.#issues(this.#compiled, value);
  }

  async #later(value: JsonObject): Promise<SchemaResult> {
    await this.ready.catch(() => undefined); // `problem` says it
    if (this.#compiled !== undefined) return this.#issues(this.#compiled, value);
    return { unusable: this.#problem ?? this.#refusal("it is not compiled.") };
  }

  #issues(compiled: CompiledCheck, value: JsonObject): SchemaResult {
    const issues = compiled.issues(value);
    return issues.length === 0 ? fitting : { issues };
  }

  #named(checked: SchemaResult): SchemaResult {
    return "issues" in checked ? checked : { unusable: this.#refusal(checked.unusable) };
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
      throw new RuntimeFault("schema_refused", this.#problem, { cause: error });
    }
  }
}

/** The same value when no member of it is null. Elements of lists stay: they are data. */
function withoutNulls(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => withoutNulls(item));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== null)
    .map(([name, inner]) => [name, withoutNulls(inner)] as const);
  const isSame =
    entries.length === Object.keys(value).length &&
    entries.every(([name, inner]) => inner === (value as JsonObject)[name]);
  return isSame ? value : Object.fromEntries(entries);
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
