import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerConfig } from "../../packages/postern/src/index.ts";
import { ownFolder } from "./own-folder.ts";

/** A tool as `changing-server.ts` lists it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string | null;
  readonly inputSchema: object;
  readonly outputSchema?: object | null;
  readonly annotations?: object | null;
  readonly icons?: readonly object[] | null;
  readonly _meta?: object | null;
}

export const read: ListedTool = {
  name: "read",
  description: "Reads a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
};

/** A folder with a server whose definitions a test changes, while it runs and between its starts. */
export class Changing implements Disposable {
  readonly folder: string = ownFolder();
  readonly #file: string = join(this.folder, "tools.json");

  constructor(...tools: readonly ListedTool[]) {
    this.define(...tools);
  }

  define(...tools: readonly ListedTool[]): void {
    writeFileSync(this.#file, JSON.stringify(tools));
  }

  /** What stands in its list beside the tools. */
  list(members: object): void {
    writeFileSync(join(this.folder, "list"), JSON.stringify(members));
  }

  /** What its tools answer, by their names. */
  answers(results: Readonly<Record<string, object>>): void {
    writeFileSync(join(this.folder, "answers"), JSON.stringify(results));
  }

  /** What its resources are read as, by their addresses. */
  resources(contents: Readonly<Record<string, object>>): void {
    writeFileSync(join(this.folder, "resources"), JSON.stringify(contents));
  }

  /** While it is held, it answers nothing. */
  hold(isHeld: boolean): void {
    const path = join(this.folder, "held");
    if (isHeld) writeFileSync(path, "");
    else rmSync(path);
  }

  /** Its process ends by itself. */
  die(): void {
    process.kill(Number(this.#lines("started").at(-1)), "SIGKILL");
  }

  /** What its tools were called with, in order. */
  get given(): readonly unknown[] {
    return this.#lines("arguments").map((line): unknown => JSON.parse(line));
  }

  /** As a server of a configuration. */
  config(more: Partial<ServerConfig> = {}): ServerConfig {
    return { command: process.execPath, args: [join(import.meta.dirname, "changing-server.ts"), this.#file], ...more };
  }

  /** Tools that were run, in order. */
  get ran(): readonly string[] {
    return this.#lines("ran");
  }

  /** How many processes there were. */
  get starts(): number {
    return this.#lines("started").length;
  }

  #lines(name: string): readonly string[] {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
