/** A process that runs one script and can be killed at any of its moments (test/crash/chain-child.ts). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const child = join(import.meta.dirname, "../crash/chain-child.ts");

export interface Ended {
  readonly moments: number;
  readonly status: string;
  readonly result: { readonly output_text: string };
}

/** @returns undefined when it was killed */
export async function runScriptProcess(folder: string, at: number, engine: string): Promise<Ended | undefined> {
  const living = spawn(process.execPath, [child, folder, String(at), engine], {
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

/** What its tools have done, in order. */
export function effectsIn(place: string): readonly string[] {
  const path = join(place, "diary");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}
