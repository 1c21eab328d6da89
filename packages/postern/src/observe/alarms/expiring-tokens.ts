import { type Clock, messageOf } from "@postern/core";
import type { AlarmRaiser } from "./alarms.ts";

/** What of an API token says how long it lasts. */
export interface PassingToken {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly tenant: string;
  /** Wall clock, milliseconds. */
  readonly expiresAt: number;
  readonly revokedAt?: number;
}

export interface ExpiringOptions {
  readonly alarms: AlarmRaiser;
  readonly clock: Clock;
  readonly tokens: () => Promise<readonly PassingToken[]>;
  readonly log: (problem: string) => void;
}

const lookEveryMs = 3_600_000;
const soonMs = 3 * 86_400_000;

/** Looks every hour for API tokens that expire within three days. No event tells of that. */
export class ExpiringTokens implements Disposable {
  readonly #options: ExpiringOptions;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(options: ExpiringOptions) {
    this.#options = options;
  }

  async look(): Promise<void> {
    const { clock, tokens, log } = this.#options;
    this.#cancel = clock.in(lookEveryMs, () => void this.look(), false);
    try {
      for (const token of await tokens()) if (!this.#isClosed) this.#check(token);
    } catch (error) {
      log(`Tokens that expire could not be looked for: ${messageOf(error)}`);
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #check({ id, name, owner, tenant, expiresAt, revokedAt }: PassingToken): void {
    const { alarms, clock } = this.#options;
    const kind = "token_expiring";
    const key = `${kind}/${id}`;
    const isRaised = alarms.isRaised(tenant, key);
    const isOver = revokedAt !== undefined || expiresAt <= clock.now();
    const isSoon = !isOver && expiresAt - clock.now() <= soonMs;
    if (isRaised && !isSoon) alarms.settle(tenant, key, isOver ? "it is over" : "it lasts longer now");
    if (isRaised || !isSoon) return;
    const until = new Date(expiresAt).toISOString();
    const summary = `The API token \`${name}\` of ${owner} expires at ${until}; make another before that.`;
    alarms.raise({ kind, key, tenant, severity: "warning", summary, data: { token: id, owner, until } });
  }
}
