import { createInterface } from "node:readline";
import type { Terminal } from "./terminal.ts";

/** Asks a person at this process's terminal. Anything but `y` or `yes`, and the end of input, mean no. */
export async function confirm({ aside }: Pick<Terminal, "aside">, question: string): Promise<boolean> {
  aside(`${question} [y/N] `);
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) return /^y(?:es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
