import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "packages/postern/bin/postern.js");

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The real command in its own folder, with a few tools and no servers. */
export class PosternProcess implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "postern-cli-"));
  /** Of all commands, beside that of this process. */
  readonly environment: Record<string, string> = {};
  readonly #ran = join(this.folder, "ran");

  constructor() {
    this.dataFolder(".postern");
    writeFileSync(join(this.folder, "tools.ts"), toolsModule(this.#ran));
    writeFileSync(join(this.folder, "postern.yaml"), "tools:\n  modules: [./tools.ts]\nlisten:\n  port: 0\n");
  }

  /** Makes an empty data folder, as an operator does before the first start; commands make none. */
  dataFolder(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path, { mode: 0o700, recursive: true });
    return path;
  }

  /** The effects of the tools, in order. */
  get runs(): readonly string[] {
    return existsSync(this.#ran) ? readFileSync(this.#ran, "utf8").trim().split("\n") : [];
  }

  /** With an open standard input, for the protocol over pipes. */
  open(
    words: readonly string[],
    cwd: string = this.folder,
  ): { readonly child: ChildProcess; readonly end: Promise<Ended> } {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTERN_"));
    const child = spawn(process.execPath, [bin, ...words], {
      cwd,
      env: { ...Object.fromEntries(own), ...this.environment },
      stdio: ["pipe", "pipe", "pipe"],
    });
    return { child, end: ended(child) };
  }

  /** Runs one command to its end, without a terminal. */
  run(...words: readonly string[]): Promise<Ended> {
    return this.runIn(this.folder, ...words);
  }

  runIn(cwd: string, ...words: readonly string[]): Promise<Ended> {
    const { child, end } = this.open(words, cwd);
    child.stdin?.end();
    return end;
  }

  /** Runs `postern start` and waits until it serves. */
  async start(
    data: string,
    ...more: readonly string[]
  ): Promise<{ readonly child: ChildProcess; readonly end: Promise<Ended> }> {
    const { child, end } = this.open(["start", "--data", data, ...more]);
    await new Promise<void>((resolve, reject) => {
      let text = "";
      child.stdout?.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes("Try next")) resolve();
      });
      void end.then(({ err }) => reject(new Error(err)));
    });
    return { child, end };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function ended(child: ChildProcess): Promise<Ended> {
  let out = "";
  let err = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  await once(child, "close");
  return { code: child.exitCode, out, err };
}

function toolsModule(ran: string): string {
  return `import { appendFileSync, existsSync } from "node:fs";
import { defineTool } from ${JSON.stringify(join(root, "packages/postern/src/tools/define.ts"))};
const note = (line) => appendFileSync(${JSON.stringify(ran)}, line + "\\n");
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false };
const any = { type: "object" };
export const echo = defineTool({ name: "echo", description: "Says it again.", risk: "safe", idempotent: true, inputSchema: text, execute: ({ text }) => text });
export const send = defineTool({ name: "send", description: "Sends it.", risk: "high", idempotent: false, inputSchema: text,
  preview: ({ text }) => ({ summary: "would send " + text }), execute: ({ text }) => { note(text); return "sent " + text; } });
export const slow = defineTool({ name: "slow", description: "Takes its time.", risk: "safe", effects: "write", idempotent: false, inputSchema: any,
  execute: async ({ seconds }) => { note("slow"); await new Promise((done) => setTimeout(done, seconds * 1000)); return "done"; } });
export const held = defineTool({ name: "held", description: "Ends when the file exists.", risk: "safe", effects: "write", idempotent: false, inputSchema: any,
  execute: async ({ until }) => { note("held"); while (!existsSync(until)) await new Promise((done) => setTimeout(done, 10)); return "done"; } });
export const wipe = defineTool({ name: "wipe", description: "Wipes.", risk: "critical", idempotent: false, inputSchema: any, execute: () => "wiped" });
export const fail = defineTool({ name: "fail", description: "Fails.", risk: "safe", idempotent: true, inputSchema: any, execute: () => { throw new Error("no luck"); } });
`;
}
