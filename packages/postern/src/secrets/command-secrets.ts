import { type Clock, RuntimeFault, SystemClock } from "@postern/core";
import { type Backend, storeOf } from "./backend.ts";
import { maxValueBytes, secretValue } from "./secret-name.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** @public */
export interface CommandSecretsOptions {
  /** Program and arguments; `{connector}` and `{key}` in the arguments become the names. There is no shell. */
  readonly command: readonly string[];
  /** Default 10 s. */
  readonly timeoutMs?: number | undefined;
  readonly redactor?: Redactor | undefined;
  /** The program's environment. Default: the process's own, without names that begin with `POSTERN_`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
}

/**
 * Secrets from another program: `op read op://Private/{connector}/{key}`, `vault kv get -field={key} kv/{connector}`.
 * It runs once for each call that asks, and values are not kept beyond the call.
 *
 * @throws RuntimeFault `options_invalid` for a command without program or without the names in it
 *
 * @public
 */
export function commandSecrets(options: CommandSecretsOptions): SecretStore {
  return storeOf([commandBackend(options)], options.redactor);
}

export function commandBackend(options: CommandSecretsOptions): Backend {
  const { command, timeoutMs = 10_000, environment = process.env, clock = new SystemClock() } = options;
  const [program = "", ...template] = command;
  const named = template.join(" ");
  if (program === "" || program.includes("{") || !named.includes("{key}"))
    throw new RuntimeFault(
      "options_invalid",
      `\`${JSON.stringify(command)}\` is not a command for secrets: write a program and its arguments, with \`{key}\` (and \`{connector}\`) in them.`,
    );
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("POSTERN_")));
  return {
    async find(connector, key) {
      const words = template.map((word) =>
        word.replace(/\{(connector|key)\}/g, (_, which: string) => (which === "key" ? key : connector)),
      );
      const name = `${connector}/${key}`;
      return secretValue(await output({ program, words, env, name, timeoutMs, clock }), name);
    },
    remedy: () => `see what \`${program}\` has`, // the command fails when it has no such secret
  };
}

interface Order {
  readonly program: string;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly name: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** The program's standard output. Its standard error may hold anything and is never shown. */
async function output({ program, words, env, name, timeoutMs, clock }: Order): Promise<Uint8Array> {
  const { spawn } = await import("node:child_process"); // loaded only when a command is configured
  const failed = (why: string, cause?: unknown): RuntimeFault =>
    new RuntimeFault(
      "secrets_command_failed",
      `The command \`${program}\` for the secret \`${name}\` ${why}. Run it yourself to see why; its output is not shown here.`,
      { cause },
    );
  return new Promise((resolve, reject) => {
    // In a process group of its own, so that its children end with it.
    const child = spawn(program, words, {
      env,
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
      windowsHide: true,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (problem: RuntimeFault): void => {
      reject(problem);
      child.stdout.destroy();
      kill(child.pid);
    };
    const cancelTimeout = clock.in(timeoutMs, () => end(failed(`gave nothing within ${timeoutMs} ms`)));
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxValueBytes + 2) end(failed(`gave more than ${maxValueBytes} bytes`));
    });
    child.once("error", (cause) => {
      cancelTimeout();
      reject(failed("could not be started", cause));
    });
    child.once("close", (code, signal) => {
      cancelTimeout();
      if (code === 0) resolve(Buffer.concat(chunks));
      else reject(failed(`ended with ${code ?? signal}`));
    });
  });
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}
