/** Runs one script in a process that kills itself at a chosen moment (test/crash/chain-child.ts, timers-child.ts). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Ended {
  readonly moments: number;
  readonly status: string;
  readonly result: { readonly output_text: string };
}

/** Returns undefined when the process was killed. */
export async function runScriptProcess(
  folder: string,
  at: number,
  engine: string,
  child: "chain-child" | "timers-child" = "chain-child",
): Promise<Ended | undefined> {
  const program = join(import.meta.dirname, `../crash/${child}.ts`);
  const living = spawn(process.execPath, [program, folder, String(at), engine], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let wrong = "";
  living.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  living.stderr.on("data", (chunk: Buffer) => {
    wrong += chunk.toString();
  });
  await once(living, "close");
  if (living.signalCode === "SIGKILL") return undefined;
  if (output === "") throw new Error(wrong);
  return JSON.parse(output);
}

/** Returns the effects of the script's tools, in order. */
export function effectsIn(place: string): readonly string[] {
  const path = join(place, "diary");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}
