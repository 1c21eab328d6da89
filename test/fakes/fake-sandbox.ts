import type { Json, JsonObject } from "../../packages/core/src/json.ts";
import type {
  AskedCall,
  Printed,
  SandboxDriver,
  SandboxSession,
  ScriptProgram,
  ScriptStep,
  SettledCall,
} from "../../packages/core/src/sandbox/sandbox.ts";

export interface FakeDriverOptions {
  readonly name?: string;
  readonly language?: "javascript" | "python";
  readonly durability?: "snapshot" | "replay";
  readonly engine?: string;
  readonly unavailable?: string;
  readonly check?: NonNullable<SandboxDriver["check"]>;
  /** Changes or replaces the engine's answer. */
  readonly step?: (step: ScriptStep) => ScriptStep | Promise<ScriptStep>;
  readonly started?: (how: "start" | "restore", program: ScriptProgram) => void;
}

type Ask = (tool: string, given?: JsonObject, kind?: AskedCall["kind"]) => Promise<Json>;
type Body = (ask: Ask, print: (text: string) => void) => Promise<Json | undefined>;
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (...parts: string[]) => Body; // what a function body is made of

/** A refused or failed call, as a script sees it. */
export class FakeToolError extends Error {
  readonly code: string | undefined;
  constructor({ message, code }: SettledCall) {
    super(message);
    this.code = code;
  }
}

/**
 * A driver that runs scripts in this process, to test the loop around engines. It does not isolate them. A script is the
 * body of an async function with `call(tool, arguments)`, `host(kind, arguments)` and `print(text)`. Its image is its answers.
 */
export function fakeDriver(options: FakeDriverOptions = {}): SandboxDriver {
  const { name = "fake", language = "javascript", durability = "snapshot", engine = "fake 1" } = options;
  return {
    name,
    engine,
    capabilities: { language, durability, isolation: "process", parallel: true },
    unavailable: async () => options.unavailable,
    ...(options.check !== undefined && { check: options.check }),
    start: async (program) => {
      options.started?.("start", program);
      return new FakeSession(program, [], options);
    },
    restore: async (image) => {
      const { program, history }: { program: ScriptProgram; history: SettledCall[] } = JSON.parse(
        Buffer.from(image).toString(),
      );
      options.started?.("restore", program);
      const session = new FakeSession(program, history, options);
      await session.next();
      return session;
    },
  };
}

class FakeSession implements SandboxSession {
  readonly #program: ScriptProgram;
  readonly #history: SettledCall[];
  readonly #options: FakeDriverOptions;
  readonly #waiting = new Map<number, (settled: SettledCall) => void>();
  readonly #printed: Printed[] = [];
  #asked: AskedCall[] = [];
  #place = 0;
  #end: ScriptStep | undefined;
  #killed = false;

  constructor(program: ScriptProgram, history: readonly SettledCall[], options: FakeDriverOptions) {
    this.#program = program;
    this.#history = [...history];
    this.#options = options;
    const body = new AsyncFunction("call", "host", "print", program.source);
    const host = (kind: AskedCall["kind"], given?: JsonObject): Promise<Json> => this.#ask("", given, kind);
    const run = body as unknown as (...given: unknown[]) => Promise<Json | undefined>; // its parameters are the three names above
    run(this.#ask, host, (text: string) => this.#printed.push({ stream: "out", text })).then(
      (value) => {
        this.#end = { step: "done", value };
      },
      (error: unknown) => {
        this.#end = { step: "failed", why: "script", message: error instanceof Error ? error.message : String(error) };
      },
    );
  }

  readonly #ask = (tool: string, given: JsonObject = {}, kind: AskedCall["kind"] = "call"): Promise<Json> => {
    const place = this.#place++;
    const known = this.#history.find((settled) => settled.place === place);
    return new Promise((resolve, reject) => {
      const settle = (settled: SettledCall): void =>
        settled.status === "ok" ? resolve(settled.value) : reject(new FakeToolError(settled));
      if (known !== undefined) return settle(known);
      this.#waiting.set(place, settle);
      this.#asked.push({ place, tool, arguments: given, line: place + 1, kind });
    });
  };

  async next(): Promise<ScriptStep> {
    for (let turn = 0; turn < 20 && this.#end === undefined; turn += 1)
      await new Promise<void>((resolve) => setImmediate(resolve));
    const printed = this.#printed.splice(0);
    if (this.#killed) return new Promise(() => {});
    const calls = this.#asked.splice(0);
    if (this.#end === undefined && calls.length === 0 && this.#waiting.size === 0) return new Promise(() => {}); // it waits for something else: only a kill ends it
    const step: ScriptStep = this.#end === undefined ? { step: "calls", calls, printed } : { ...this.#end, printed };
    return (await this.#options.step?.(step)) ?? step;
  }

  settle(results: readonly SettledCall[]): void {
    for (const settled of results) {
      this.#history.push(settled);
      this.#waiting.get(settled.place)?.(settled);
      this.#waiting.delete(settled.place);
    }
  }

  async freeze(): Promise<Uint8Array> {
    return Buffer.from(JSON.stringify({ program: this.#program, history: this.#history }));
  }

  kill(): void {
    this.#killed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
  }
}
