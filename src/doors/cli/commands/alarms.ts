import type { AlarmWire } from "../../wire-alarms.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
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
  const limit = flags.limit === undefined ? {} : { limit: wholeNumber(flags.limit, "--limit") };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const listed = await work.operator.alarms({
      ...limit,
      ...(state !== undefined && state !== "all" && { state }),
    });
    const alarms = state === undefined ? listed.filter((alarm) => alarm.state !== "resolved") : listed;
    if (work.json) printJson(work, { alarms });
    else work.terminal.out(alarms.length === 0 ? "No alarms.\n" : alarmTable(work, alarms));
    return exitCodes.ok;
  });
}

export async function changeAlarm(
  host: Host,
  { verb, id }: { readonly verb: "ack" | "resolve"; readonly id: string },
  flags: GlobalFlags & { readonly reason?: string },
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const alarm = await work.operator.changeAlarm(id, verb, flags.reason);
    if (work.json) printJson(work, alarm);
    else work.terminal.out(`${alarmTable(work, [alarm])}`);
    return exitCodes.ok;
  });
}

function alarmTable({ paint, terminal, now, command }: Work, alarms: readonly AlarmWire[]): string {
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
