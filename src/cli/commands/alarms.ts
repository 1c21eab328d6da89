import type { Command } from "commander";
import { type AlarmView, alarms } from "../../server/contract/alarms.ts";
import type { Act } from "../act.ts";
import { asTypedHere } from "../command-name.ts";
import { flagsOf, rowLimit } from "../flags.ts";
import type { Host } from "../host.ts";
import { ago, type Columns, inState, printAnswer, printList, tableOf } from "../print.ts";

export function alarmCommands(group: Command, host: Host, act: Act): void {
  const filters = flagsOf(alarms.list.query, {
    state: { all: true, help: "only these; without it, what is not over" },
    limit: rowLimit(200),
    after: "none",
  });
  const list = group.command("list", { isDefault: true }).description("alarms that are open or acknowledged");
  act(filters.addTo(list), (flags) => {
    const { state, limit } = filters.read(flags);
    return printList(
      { host, flags },
      {
        rows: "alarms",
        limit,
        ask: async ({ operator }, page) => {
          if (state !== undefined) return operator.alarms.list({ ...inState(state), ...page });
          const { alarms: found, ...more } = await operator.alarms.list(page);
          const live = found.filter((alarm) => alarm.state !== "resolved");
          return live.length < found.length ? { alarms: live } : { alarms: live, ...more }; // those that are over come last
        },
        columns,
        empty: "No alarms.",
      },
    );
  });
  for (const [verb, description] of [
    ["ack", "you know of it"],
    ["resolve", "it is over; it opens again when its cause comes again"],
  ] as const) {
    const reasons = flagsOf(alarms[verb].body, {});
    act(reasons.addTo(group.command(verb).description(description).argument("<id>")), (flags, [id = ""]) => {
      const reason = reasons.read(flags);
      return printAnswer(
        { host, flags },
        {
          ask: ({ operator }) => operator.alarms[verb]({ id, ...reason }),
          text: (alarm, work) => tableOf([alarm], columns, work),
        },
      );
    });
  }
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
