import type { Alarm } from "../../contract/alarms.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { tellOfMore, upTo } from "../pages.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { relative, table } from "../text.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface AlarmListFlags extends GlobalFlags {
  readonly state?: string;
  readonly limit?: string;
}

const states = ["open", "acked", "resolved", "all"] as const;

/** Without `--state`: what is not over. */
export async function listAlarms(host: Host, flags: AlarmListFlags): Promise<ExitCode> {
  const state = flags.state === undefined ? undefined : oneOf(flags.state, states, "--state");
  const limit = wholeNumber(flags.limit ?? "200", "--limit");
  const where = state === undefined || state === "all" ? {} : { state };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { rows, next } = await upTo(limit, async (most, from?: string) => {
      const page = await work.operator.api.alarms.list({
        ...where,
        limit: most,
        ...(from !== undefined && { after: from }),
      });
      return { rows: page.alarms, next: page.next_after };
    });
    const alarms = state === undefined ? rows.filter((alarm) => alarm.state !== "resolved") : rows;
    const after = alarms.length < rows.length ? undefined : next; // those that are over come last
    if (work.json) printJson(work, { alarms, next_after: after });
    else work.terminal.out(alarms.length === 0 ? "No alarms.\n" : alarmTable(work, alarms));
    tellOfMore(work, after !== undefined);
    return exitCodes.ok;
  });
}

export async function changeAlarm(
  host: Host,
  { verb, id }: { readonly verb: "ack" | "resolve"; readonly id: string },
  flags: GlobalFlags & { readonly reason?: string },
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const alarm = await work.operator.api.alarms[verb]({ id, reason: flags.reason });
    if (work.json) printJson(work, alarm);
    else work.terminal.out(`${alarmTable(work, [alarm])}`);
    return exitCodes.ok;
  });
}

function alarmTable({ paint, terminal, now, command }: Work, alarms: readonly Alarm[]): string {
  const rows = alarms.map(({ alarm_id, state, severity, count, last_seen, summary }) => [
    alarm_id,
    state,
    { text: severity, paint: (text: string) => paint(severity === "critical" ? "red" : "yellow", text) },
    String(count),
    relative(Date.parse(last_seen), now()),
    asTypedHere(summary, command),
  ]);
  return table(["ALARM", "STATE", "SEVERITY", "TIMES", "LAST", "WHAT"], rows, { terminal, paint });
}
