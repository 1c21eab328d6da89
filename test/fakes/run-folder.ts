import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RunEvent, ToolRecord } from "../../packages/postern/src/observe/index.ts";
import { ownFolder } from "./own-folder.ts";

/** Makes a folder of runs for one test. */
export function runsFolder(): string {
  return ownFolder();
}

/** Reads a run's folder strictly, with no code of ours. */
export class RunFolder {
  readonly path: string;

  constructor(base: string, name: string) {
    this.path = join(base, name);
  }

  get events(): readonly RunEvent[] {
    return this.#lines("events.jsonl").map((line) => JSON.parse(line));
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  get calls(): readonly ToolRecord[] {
    return this.#lines("logs/tools.jsonl").map((line) => JSON.parse(line));
  }

  get errors(): readonly Readonly<Record<string, unknown>>[] {
    return this.#lines("logs/errors.jsonl").map((line) => JSON.parse(line));
  }

  file(name: string): string {
    return join(this.path, name);
  }

  text(name: string): string {
    return readFileSync(this.file(name), "utf8");
  }

  json(name: string): Readonly<Record<string, unknown>> {
    return JSON.parse(this.text(name));
  }

  /** Returns the bytes of a file's longest line. */
  longest(name: string): number {
    return Math.max(...this.#lines(name).map((line) => Buffer.byteLength(line) + 1));
  }

  /** Whether the sequence numbers have no gaps from 1 on, and the last line is complete. */
  get isGapless(): boolean {
    return this.events.every(({ sequence }, i) => sequence === i + 1);
  }

  #lines(name: string): readonly string[] {
    if (!existsSync(this.file(name))) return [];
    const text = this.text(name);
    if (text !== "" && !text.endsWith("\n")) throw new Error(`${name} ends with a torn line`);
    return text.split("\n").slice(0, -1);
  }
}
