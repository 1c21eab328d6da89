import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Attacker {
  /** Ends it. How many swaps it made. */
  stop(): Promise<number>;
}

/** A process of its own that swaps two names all the time: in C where a compiler is at hand, else in JavaScript. */
export function startAttacker(one: string, other: string): Attacker {
  const program = compiled();
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child: ChildProcess =
    program === undefined
      ? spawn(process.execPath, [join(import.meta.dirname, "swapper.mjs"), one, other], { stdio: [...stdio, "ipc"] })
      : spawn(program, [one, other], { stdio: [...stdio] });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  return {
    stop: async () => {
      const closed = once(child, "close");
      child.kill("SIGTERM");
      await closed;
      return Number(output.trim());
    },
  };
}

let built: { readonly program: string | undefined } | undefined;

/** Once a process, gone with it. */
function compiled(): string | undefined {
  built ??= { program: compile() };
  return built.program;
}

function compile(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "postern-swapper-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, "swapper");
  try {
    execFileSync("cc", ["-O2", "-o", program, join(import.meta.dirname, "swapper.c")], { stdio: "ignore" });
    return program;
  } catch {
    return undefined; // no compiler: the slower attacker will do
  }
}
