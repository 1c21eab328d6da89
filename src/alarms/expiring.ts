import type { Clock } from "../calls/clock.ts";
import { messageOf } from "../calls/fault.ts";
import type { AlarmBell } from "./alarms.ts";

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
  readonly bell: AlarmBell;
  readonly clock: Clock;
  readonly tokens: () => Promise<readonly PassingToken[]>;
  readonly log: (problem: string) => void;
}

const lookEveryMs = 3_600_000;
const soonMs = 3 * 86_400_000;

/** Looks every hour for API tokens that are over in three days: whoever uses one still has time to make another. */
export class ExpiringTokens implements Disposable {
  readonly #options: ExpiringOptions;
  #cancel: (() => void) | undefined;
  #over = false;

  constructor(options: ExpiringOptions) {
    this.#options = options;
  }

  async look(): Promise<void> {
    const { bell, clock, tokens, log } = this.#options;
    this.#cancel = clock.in(lookEveryMs, () => void this.look(), false);
    try {
      const all = await tokens();
      if (this.#over) return;
      for (const token of all) tell(token, bell, clock.now());
    } catch (error) {
      log(`Tokens that expire could not be looked for: ${messageOf(error)}`);
    }
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#cancel?.();
  }
}

function tell({ id, name, owner, tenant, expiresAt, revokedAt }: PassingToken, bell: AlarmBell, now: number): void {
  const key = `token_expiring/${id}`;
  const isOver = revokedAt !== undefined || expiresAt <= now;
  if (isOver || expiresAt - now > soonMs) {
    if (bell.isRaised(tenant, key)) bell.settle(tenant, key, isOver ? "it is over" : "it lasts longer now");
  } else if (!bell.isRaised(tenant, key)) {
    const until = new Date(expiresAt).toISOString();
    const summary = `The API token \`${name}\` of ${owner} is over at ${until}; make another before that.`;
    bell.raise({
      kind: "token_expiring",
      key,
      tenant,
      severity: "warning",
      summary,
      data: { token: id, owner, until },
    });
  }
}
