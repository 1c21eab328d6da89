import { type AlarmView, alarms } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { flagsOf, rowLimit } from "../flags.ts";
import { ago, type Columns, inState, tableOf } from "../output/print.ts";

export function commands(group: CommandGroup): void {
  group.list("list", "alarms that are open or acknowledged", {
    isDefault: true,
    flags: flagsOf(alarms.list.query, {
      state: { all: true, help: "only these; without it, what is not over" },
      limit: rowLimit(200),
      after: "page",
    }),
    rows: "alarms",
    ask: async ({ operator }, { state, ...page }) => {
      if (state !== undefined) return operator.alarms.list({ ...inState(state), ...page });
      const { alarms: found, ...more } = await operator.alarms.list(page);
      const live = found.filter((alarm) => alarm.state !== "resolved");
      return live.length < found.length ? { alarms: live } : { alarms: live, ...more }; // those that are over come last
    },
    columns,
    empty: "No alarms.",
  });
  for (const [verb, help] of [
    ["ack", "you know of it"],
    ["resolve", "it is over; it opens again when its cause comes again"],
  ] as const)
    group.answer(`${verb} <id>`, help, {
      flags: flagsOf(alarms[verb].body, {}),
      ask: ({ operator }, sent) => operator.alarms[verb](sent),
      text: (alarm, work) => tableOf([alarm], columns, work),
    });
}

const columns: Columns<AlarmView> = {
  ALARM: ({ alarm_id }) => alarm_id,
  STATE: ({ state }) => state,
  SEVERITY: ({ severity }, { paint }) => ({
    text: severity,
    paint: (text) => paint(severity === "critical" ? "red" : "yellow", text),
  }),
  TIMES: ({ count }) => String(count),
  LAST: ({ last_seen }, work) => ago(last_seen, work),
  WHAT: ({ summary }, { command }) => asTypedHere(summary, command),
};
