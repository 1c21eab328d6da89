import type { Broken, Verdict, Verification } from "../audit/log.ts";
import { isJsonObject, type JsonObject } from "../calls/json.ts";
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

export function auditProblem(bell: AlarmBell, problem: string, data: JsonObject = {}): void {
  bell.raise({ kind: auditKey, key: auditKey, tenant: "default", severity: "critical", summary: problem, data });
}

/** Found in the background, again and again: told once, until a person or a verification says that it is over. */
export function hearAltered(bell: AlarmBell, found: Broken, log: (problem: string) => void): void {
  if (bell.isRaised("default", auditKey)) return;
  notIntact(bell, found);
  log(notIntactSentence(found));
}

/** Whoever has the log verified, its answer is heard here as well. */
export function hearVerification(bell: AlarmBell, found: Verification & Partial<Verdict>): void {
  if (found.intact && found.problems !== undefined) auditProblem(bell, found.problems.join(" "));
  else if (found.intact) bell.settle("default", auditKey, "the log was verified and is intact");
  else if (found.unreadable !== "failing") notIntact(bell, found); // who asked was told, and may ask again
}

function notIntact(bell: AlarmBell, found: Broken): void {
  auditProblem(bell, notIntactSentence(found), { first_broken: found.firstBroken });
}

function notIntactSentence({ firstBroken, why, unreadable }: Broken): string {
  if (unreadable !== undefined) return `The audit log cannot be read from entry ${firstBroken} on: ${why}`;
  return `The audit log is not intact from entry ${firstBroken} on: ${why}`;
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
