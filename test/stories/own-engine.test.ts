/** An engine that Postern does not know, over a library for QuickJS, written only with what a stranger can import. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Json } from "@postern/core";
import type {
  AskedCall,
  Printed,
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  ScriptProgram,
  ScriptStep,
  SettledCall,
} from "@postern/core/sandbox";
import { engineContract } from "@postern/core/testing";
import { createRuntime, defineTool } from "postern";
import { QuickJS } from "quickjs-wasi";
import { expect, it } from "vitest";

const wasm = readFileSync(createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm"));

/** Defines `tools`, `console` and `sleep` inside, and the two functions through which the host speaks. */
const prelude = `(() => {
  const asked = [], printed = [], waiting = new Map();
  let place = 0, left = LEFT, end;
  const ask = (tool) => (given = {}) => new Promise((resolve, reject) => {
    waiting.set(place, { resolve, reject });
    asked.push({ place: place++, tool, arguments: given });
  });
  globalThis.tools = new Proxy({}, { get: (_, name) => ask(name) });
  globalThis.console = { log: (...words) => {
    const text = words.join(" ").slice(0, left);
    left -= text.length;
    if (text !== "") printed.push({ stream: "out", text });
  } };
  globalThis.sleep = () => new Promise(() => {});
  globalThis.settle = (json) => {
    for (const { place, status, value, message } of JSON.parse(json)) {
      status === "ok" ? waiting.get(place).resolve(value) : waiting.get(place).reject(new Error(message));
      waiting.delete(place);
    }
  };
  globalThis.drain = () => JSON.stringify({ asked: asked.splice(0), printed: printed.splice(0), open: waiting.size, end });
  globalThis.run = (script) => script().then(
    (value) => { end = { step: "done", value }; },
    (error) => { end = { step: "failed", why: "script", message: String(error), line: Number(/script:(\\d+)/.exec(error.stack)?.[1]) - 1 }; },
  );
})()`;

interface Drained {
  readonly asked: readonly AskedCall[];
  readonly printed: readonly Printed[];
  /** How many calls are not settled. */
  readonly open: number;
  readonly end?: ScriptStep;
}

/** One script. It is replayed after a wait, so it has no image. */
class Session implements SandboxSession {
  readonly #program: ScriptProgram;
  readonly #limits: SandboxLimits;
  #machine: QuickJS | undefined;
  #over = 0;

  constructor(program: ScriptProgram, limits: SandboxLimits) {
    this.#program = program;
    this.#limits = limits;
  }

  async next(): Promise<ScriptStep> {
    this.#over = performance.now() + this.#limits.cpuMs;
    try {
      this.#machine ??= await this.#started();
      this.#machine.executePendingJobs();
      const { asked, printed, open, end } = JSON.parse(this.#evaluate("drain()")) as Drained; // the prelude writes it
      if (performance.now() > this.#over) return { step: "failed", why: "cpu", message: "The script took too long." };
      if (end !== undefined) return { ...end, printed };
      if (open > 0) return { step: "calls", calls: asked, printed };
      return { step: "failed", why: "unsupported", message: "This engine has no timers." };
    } catch (error) {
      const why = performance.now() > this.#over ? "cpu" : "script";
      return { step: "failed", why, message: error instanceof Error ? error.message : String(error) };
    }
  }

  settle(results: readonly SettledCall[]): void {
    this.#evaluate(`settle(${JSON.stringify(JSON.stringify(results))})`);
  }

  freeze(): Promise<Uint8Array> {
    return Promise.reject(new Error("This engine has no images."));
  }

  kill(): void {
    this.#over = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#machine?.dispose();
    this.#machine = undefined;
  }

  async #started(): Promise<QuickJS> {
    const { memoryBytes, outputBytes } = this.#limits;
    const machine = await QuickJS.create({
      wasm,
      memoryLimit: memoryBytes,
      interruptHandler: () => performance.now() > this.#over,
    });
    machine.evalCode(prelude.replace("LEFT", String(outputBytes))).dispose();
    machine.evalCode(`run(async () => {\n${this.#program.source}\n})`, "script").dispose();
    return machine;
  }

  #evaluate(code: string): string {
    if (this.#machine === undefined) throw new Error("The script is over.");
    return this.#machine.evalCode(code).consume((value) => value.toString());
  }
}

function tinyEngine(): SandboxDriver {
  return {
    name: "tiny",
    engine: "tiny 1",
    capabilities: { language: "javascript", durability: "replay", isolation: "wasm", parallel: true },
    unavailable: async () => undefined,
    start: async (program, limits) => new Session(program, limits),
    restore: () => Promise.reject(new Error("This engine has no images.")),
  };
}

engineContract("a stranger's engine", tinyEngine);

it("calls a tool behind an approval, and goes on when a person has decided", async () => {
  const sent: Json[] = [];
  const send = defineTool({
    ...({ name: "send", description: "Sends.", risk: "high", effects: "write", idempotent: false } as const),
    inputSchema: { type: "object" },
    execute: (given) => `sent ${sent.push(given as Json)}`,
  });
  await using runtime = await createRuntime({
    tools: [send],
    approvals: { patience: "suspend" },
    chains: { drivers: [tinyEngine()], engines: ["tiny"] },
  });
  const script = {
    code: 'const { text } = await tools.send({ to: "ada" }); return text;',
    language: "javascript",
  } as const;
  const waiting = await runtime.runChain(script);
  expect(waiting.status).toBe("pending");
  const [request] = await runtime.approvals.list({ state: "pending" });
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  const ended = await runtime.runChain(script);
  expect([ended.status, ended.text]).toEqual(["ok", expect.stringContaining("sent 1")]);
  expect(sent).toEqual([{ to: "ada" }]);
});
