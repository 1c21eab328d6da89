import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ownFolder } from "./own-folder.ts";

export const hourMs = 3_600_000;
export const writer = { principal: { tenant: "default", agent: "writer", user: "anna", via: "token:agent" } } as const;

const input = {
  type: "object",
  properties: { text: { type: "string" }, n: { type: "integer" } },
} as const;

/** Returns a text too big to be inline, different for each number. */
export const report = (n: number): string => `report ${n} `.repeat(1000);

const execute = async (given: unknown): Promise<string> => {
  const { n, text } = given as { n?: number; text?: string }; // the schema says so
  return n === undefined ? `read ${String(text).length}` : report(n);
};

/** Every caller may call `read`; `publish` asks a person. Both answer `n` with a report, else with the length they read. */
const tools = [
  defineTool({ name: "read", description: "Reads.", risk: "safe", effects: "read", idempotent: true, input, execute }),
  defineTool({
    name: "publish",
    description: "Publishes.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input,
    execute,
  }),
];

/** A runtime over a database file that a test closes and opens again, with the contents of its artifact folder. */
export class ArtifactFixture implements AsyncDisposable {
  readonly clock: FakeClock = new FakeClock();
  readonly folder: string = ownFolder();
  readonly #options: RuntimeOptions;
  #runtime: Runtime | undefined;

  constructor(options: RuntimeOptions = {}) {
    this.#options = options;
  }

  get runtime(): Runtime {
    if (this.#runtime === undefined) throw new Error("the runtime is closed");
    return this.#runtime;
  }

  async open(): Promise<Runtime> {
    this.#runtime = await createRuntime({
      tools,
      clock: this.clock,
      store: `sqlite:${join(this.folder, "postern.db")}`,
      approvals: { patience: "suspend" },
      results: { retentionDays: 1 },
      audit: { recheck: { enabled: false } }, // years pass in a test: no need to verify the log every minute of them
      ...this.#options,
    });
    return this.#runtime;
  }

  async close(): Promise<void> {
    await this.#runtime?.close();
    this.#runtime = undefined;
  }

  /** Opens the runtime, which starts a sweep, and closes it, which waits for the sweep. */
  async swept(): Promise<readonly string[]> {
    await this.close();
    await this.open();
    await this.close();
    await this.open();
    return this.kept();
  }

  /** The digests of all artifacts in the folder. */
  kept(): readonly string[] {
    const folder = join(this.folder, "postern.db-files", "artifacts");
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".json"))
      .map((entry) => basename(entry.parentPath) + entry.name)
      .sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.folder, { recursive: true });
  }
}
