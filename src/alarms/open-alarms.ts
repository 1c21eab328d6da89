import type { Verification } from "../audit/log.ts";
import { isJsonObject } from "../calls/json.ts";
import type { SecretNote } from "../secrets/suspicions.ts";
import type { Watcher } from "../watchers/watcher.ts";
import { type AlarmBook, type AlarmBookOptions, openAlarms } from "./alarm-book.ts";
import type { AlarmBell } from "./alarms.ts";
import { Causes } from "./causes.ts";
import { ExpiringTokens, type PassingToken } from "./expiring.ts";

export interface AlarmHouse extends AlarmBookOptions {
  readonly watch: (watcher: Watcher) => Disposable;
  readonly closing: AsyncDisposableStack;
  /** What the audit log had to complain of while it was opened. */
  readonly auditProblems: readonly string[];
  readonly tokens: () => Promise<readonly PassingToken[]>;
}

/** The alarms as they were kept, and everything that raises one. Closed before the store is. */
export async function openAlarmHouse(house: AlarmHouse): Promise<AlarmBook> {
  const book = house.closing.use(await openAlarms(house));
  const causes = new Causes({ bell: book, clock: house.clock, raised: book.list(), ofStore: book.ofStore });
  house.closing.use(causes);
  house.closing.use(house.watch(causes.watcher));
  void house.closing.use(new ExpiringTokens({ ...house, bell: book })).look();
  for (const problem of house.auditProblems) auditProblem(book, problem);
  return book;
}

const auditKey = "audit_not_intact";

export function auditProblem(bell: AlarmBell, problem: string): void {
  bell.raise({ kind: auditKey, key: auditKey, tenant: "default", severity: "critical", summary: problem });
}

/** Whoever has the log verified, its answer is heard here as well. */
export function hearVerification(bell: AlarmBell, found: Verification): void {
  if (found.intact) bell.settle("default", auditKey, "the log was verified and is intact");
  else auditProblem(bell, `The audit log is not intact from entry ${found.firstBroken} on: ${found.why}`);
}

/** What looks for secrets says some of it as alarms: those are kept here, the rest is only noted. */
export function secretAlarms(bell: AlarmBell, note: SecretNote): SecretNote {
  return async (type, summary, more) => {
    if (!type.startsWith("alarm.")) return note(type, summary, more);
    const { severity: _severity, dedupe_key, ...data } = isJsonObject(more.data) ? more.data : {};
    const { tenant } = more;
    const kind = type.slice("alarm.".length);
    bell.raise({ kind, key: String(dedupe_key ?? kind), tenant, severity: "critical", summary, data });
  };
}
