import { Readable } from "node:stream";
import { createHost, runCommand } from "../../packages/postern/src/cli/command-host.ts";
import { type Ended, PosternProcess } from "./postern-process.ts";

/**
 * Runs commands in this process, because a process for each takes much longer. `start` and killed commands still run as
 * processes.
 */
export class CommandLine extends PosternProcess {
  readonly #home = process.cwd();

  /** Runs one command that reads `input` instead of a pipe. */
  async given(input: string | Uint8Array, ...words: readonly string[]): Promise<Ended> {
    const stdin = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
    Object.defineProperty(process, "stdin", { configurable: true, value: Readable.from([Buffer.from(input)]) });
    try {
      return await this.run(...words);
    } finally {
      Object.defineProperty(process, "stdin", stdin);
    }
  }

  /** Runs one command as a person does who types one line. Returns everything that was written. */
  async atTerminal(cwd: string, line: string, ...words: readonly string[]): Promise<string> {
    const stdin = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
    Object.defineProperty(process, "stdin", { configurable: true, value: Readable.from([Buffer.from(`${line}\n`)]) });
    let text = "";
    const write = (part: string | Uint8Array): void => {
      text += String(part);
    };
    const terminal = { out: write, aside: write, colour: false, columns: 120, interactive: true, screen: true };
    process.chdir(cwd);
    try {
      await runCommand(createHost(terminal, onlyAsProcess), words);
      return text;
    } finally {
      Object.defineProperty(process, "stdin", stdin);
    }
  }

  /** Runs the command as a real process. */
  asProcess(...words: readonly string[]): Promise<Ended> {
    return super.runIn(this.folder, ...words);
  }

  override async runIn(cwd: string, ...words: readonly string[]): Promise<Ended> {
    if (words.includes("start")) return super.runIn(cwd, ...words);
    let out = "";
    let err = "";
    const terminal = {
      out: (text: string) => {
        out += text;
      },
      aside: (text: string) => {
        err += text;
      },
      ...{ colour: false, columns: 120, interactive: false, screen: false },
    };
    const host = createHost(terminal, onlyAsProcess);
    process.chdir(cwd); // a command knows its folder by this alone
    const code = await runCommand(host, words);
    return { code, out, err };
  }

  override [Symbol.dispose](): void {
    process.chdir(this.#home);
    super[Symbol.dispose]();
  }
}

function onlyAsProcess(): Promise<never> {
  return Promise.reject(new Error("`start` is a process of its own."));
}
