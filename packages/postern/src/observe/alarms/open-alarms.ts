import { isJsonObject, type JsonObject, type Watcher } from "@postern/core";
import type { Broken, LogVerdict, Verification } from "../../audit/log.ts";
import type { SecretNote } from "../../secrets/second-layer.ts";
import type { AlarmRaiser } from "./alarms.ts";
import { ExpiringTokens, type PassingToken } from "./expiring-tokens.ts";
import { AlarmRepository, type AlarmRepositoryOptions } from "./repository.ts";
import { AlarmRules } from "./rules.ts";
import { UnknownOutcomes } from "./unknown-outcomes.ts";

export interface AlarmsOptions extends AlarmRepositoryOptions {
  readonly watch: (watcher: Watcher) => Disposable;
  readonly closing: AsyncDisposableStack;
  /** What the audit log reported while it was opened. */
  readonly auditProblems: readonly string[];
  readonly tokens: () => Promise<readonly PassingToken[]>;
}

/** The stored alarms, and everything that raises one. Closed before the store is. */
export async function openAlarms(options: AlarmsOptions): Promise<AlarmRepository> {
  const { clock, closing, watch, auditProblems } = options;
  const alarms = closing.use(await AlarmRepository.open(options));
  const { storeAlarm } = alarms;
  const rules = closing.use(new AlarmRules({ alarms, clock, raised: alarms.list(), storeAlarm }));
  closing.use(watch(rules.watcher));
  closing.use(watch(closing.use(await UnknownOutcomes.open({ ...options, alarms })).watcher));
  void closing.use(new ExpiringTokens({ ...options, alarms })).look();
  for (const problem of auditProblems) raiseAudit(alarms, problem);
  return alarms;
}

const auditKey = "audit_not_intact";

/** The log does not match what is known about it. */
export function raiseAudit(alarms: AlarmRaiser, summary: string, data: JsonObject = {}): void {
  alarms.raise({ kind: auditKey, key: auditKey, tenant: "default", severity: "critical", summary, data });
}

/** The background check finds the same again and again: it is reported once, until a verification finds the log intact. */
export function onAltered(alarms: AlarmRaiser, found: Broken, log: (problem: string) => void): void {
  if (alarms.isRaised("default", auditKey)) return;
  raiseAudit(alarms, brokenSentence(found), { first_broken: found.firstBroken });
  log(brokenSentence(found));
}

/** After each verification that a person asked for. */
export function onVerified(alarms: AlarmRaiser, found: Verification & Partial<LogVerdict>): void {
  if (!found.intact) {
    if (found.unreadable === "failing") return; // the person got that answer, and may try again
    raiseAudit(alarms, brokenSentence(found), { first_broken: found.firstBroken });
  } else if (found.problems !== undefined) raiseAudit(alarms, found.problems.join(" "));
  else alarms.settle("default", auditKey, "the log was verified and is intact");
}

function brokenSentence({ firstBroken, why, unreadable }: Broken): string {
  if (unreadable !== undefined) return `The audit log cannot be read from entry ${firstBroken} on: ${why}`;
  return `The audit log is not intact from entry ${firstBroken} on: ${why}`;
}

/** Some findings of the secret scanner are alarms; the rest goes to the log only. */
export function secretAlarms(alarms: AlarmRaiser, note: SecretNote): SecretNote {
  return async (type, summary, more) => {
    if (!type.startsWith("alarm.")) return note(type, summary, more);
    const { severity: _severity, dedupe_key, ...data } = isJsonObject(more.data) ? more.data : {};
    const { tenant } = more;
    const kind = type.slice("alarm.".length);
    alarms.raise({ kind, key: String(dedupe_key ?? kind), tenant, severity: "critical", summary, data });
  };
}
