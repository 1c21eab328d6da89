import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Attacker {
  /** Ends the process and returns the number of its swaps. */
  stop(): Promise<number>;
}

/** Starts a process that swaps two names all the time: in C if a compiler exists, otherwise in JavaScript. */
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

/** Compiles once for each process, which removes the file at its end. */
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
