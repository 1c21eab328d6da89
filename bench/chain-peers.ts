/** What others do with a script of fifty calls. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { median, timed } from "./harness.ts";

export interface PeerFigures {
  readonly who: string;
  readonly fiftyCallsMs?: number;
  readonly coldMs?: number;
  readonly oneCallMs?: number;
  readonly callMicroseconds?: number;
  readonly problem?: string;
}

export async function others(rounds: number): Promise<readonly PeerFigures[]> {
  const times = Math.min(rounds, 5);
  return [
    await scriptProcess("deno, a process a script", denoPath(), ["run", "--no-prompt", "-"], times),
    await scriptProcess("node --permission, a process a script", process.execPath, ["--permission", "-"], times),
    await scriptProcess("CPython, a process a script", "python3", ["-"], times),
    await cloudflare(rounds),
  ];
}

/** A new process for every script, fifty lines over its pipe and back. */
async function scriptProcess(
  who: string,
  command: string | undefined,
  args: readonly string[],
  rounds: number,
): Promise<PeerFigures> {
  if (command === undefined) return { who, problem: "not here" };
  const program = command.includes("python")
    ? "import sys\nfor i in range(50):\n  print(i, flush=True)\n  sys.stdin.readline()\n"
    : `const lines = (async function* () { let text = ""; for await (const chunk of globalThis.Deno ? Deno.stdin.readable : process.stdin) { text += new TextDecoder().decode(chunk); for (let at; (at = text.indexOf("\\n")) >= 0; text = text.slice(at + 1)) yield text.slice(0, at) } })();
const write = globalThis.Deno ? (t) => Deno.stdout.writeSync(new TextEncoder().encode(t)) : (t) => process.stdout.write(t);
for (let i = 0; i < 50; i++) { write(i + "\\n"); await lines.next() } (globalThis.Deno ?? process).exit(0)`;
  const times: number[] = [];
  try {
    for (let i = 0; i < rounds; i++)
      times.push(await timed(() => conversation(command, withProgram(command, args, program))));
  } catch (error) {
    return { who, problem: String(error).slice(0, 100) };
  }
  return { who, fiftyCallsMs: median(times) };
}

/** Cloudflare's executor where it is installed: its own server is warm, and each script gets a fresh isolate in it. */
async function cloudflare(rounds: number): Promise<PeerFigures> {
  const who = "@cloudflare/codemode in workerd, an isolate a script";
  try {
    const { codemode } = await import("./peers/codemode-row.mjs");
    const { startMs, none, one, fifty, many } = await codemode(rounds);
    const request = median(none);
    return {
      who,
      coldMs: startMs,
      oneCallMs: median(one) - request,
      fiftyCallsMs: median(fifty) - request,
      callMicroseconds: ((median(many) - median(fifty)) / 1_950) * 1_000,
    };
  } catch (error) {
    return { who, problem: String(error).slice(0, 100) };
  }
}

/** Standard input is the bridge, so the program comes as an argument. */
function withProgram(command: string, args: readonly string[], program: string): readonly string[] {
  const flags = args.filter((arg) => arg !== "-");
  if (command.includes("python")) return [...flags, "-c", program];
  if (command.includes("deno")) return ["eval", program];
  return [...flags, "--no-warnings", "--input-type=module", "-e", program];
}

function conversation(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { HOME: "/tmp", NO_COLOR: "1" },
    });
    let seen = 0;
    child.stdin.on("error", () => undefined); // it leaves without reading the last answer
    child.stdout.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) child.stdin.write(`${seen++}\n`);
    });
    child.once("error", reject);
    child.once("close", () => (seen >= 50 ? resolve() : reject(new Error(`It stopped after ${seen} calls.`))));
  });
}

function denoPath(): string | undefined {
  const path = "node_modules/deno/deno";
  if (!existsSync(path)) return undefined;
  execFileSync(path, ["--version"], { stdio: "ignore" });
  return path;
}
