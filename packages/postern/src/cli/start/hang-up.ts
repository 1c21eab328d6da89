import { messageOf } from "@postern/core";
import type { PolicyReader } from "../../server/policy-reader.ts";
import { restartText } from "../commands/policy-text.ts";
import type { Log } from "./log.ts";

const signal = "SIGHUP";
const author = { by: "operator", via: "signal" } as const;

/**
 * SIGHUP puts the policy of the file in force. It is caught from the beginning, so that a signal during the start is not
 * lost and does not end the process.
 */
export class HangUp implements Disposable {
  readonly #log: Log;
  readonly #act = (): void => void this.#reload();
  #file: PolicyReader["file"];
  #cameEarly = false;

  constructor(log: Log) {
    this.#log = log;
    process.on(signal, this.#act);
  }

  /** From now on there is a policy to replace. */
  begin({ file }: PolicyReader): void {
    this.#file = file;
    if (this.#cameEarly) this.#act();
  }

  [Symbol.dispose](): void {
    process.off(signal, this.#act);
  }

  async #reload(): Promise<void> {
    if (this.#file === undefined) {
      this.#cameEarly = true;
      return;
    }
    try {
      const reloaded = await this.#file.reload({ by: author, reason: signal });
      if (!reloaded.reloaded) return this.#log.problem(`${signal}: ${reloaded.message}`);
      const { name, after, changes, restart } = reloaded;
      this.#log.info(`${signal}: \`${name}\` is in force, policy ${after}. ${changes.join(" ")}`.trimEnd());
      if (restart.length > 0) this.#log.problem(`${signal}: ${restartText(restart)}`);
    } catch (error) {
      this.#log.problem(`${signal}: the policy in force has not changed. ${messageOf(error)}`);
    }
  }
}
