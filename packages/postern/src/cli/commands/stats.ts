import { counted } from "@postern/core";
import { audit, type ObservedToolView } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { flagsOf, ofTool, pastTime } from "../flags.ts";
import { type Columns, printAnswer, tableOf } from "../output/print.ts";

/** Reads the audit log, so the counts do not end with the process that made the calls. */
export function commands(group: CommandGroup): void {
  group.own("", {
    flags: flagsOf(audit.observed.query, {
      since: pastTime(group.now, "ISO time, date, or age: 15m, 2h, 7d; seven days without it"),
      until: pastTime(group.now, "as for --since"),
      server: { value: "name", help: "only tools of this server" },
      tool: ofTool,
    }),
    run: ({ host, flags, sent }) =>
      printAnswer(
        { host, flags, sent },
        {
          ask: ({ operator }, range) => operator.audit.observed(range),
          text: ({ tools, calls, asked, denied, blocked, previewed, since }, work) =>
            calls === 0
              ? `No call ran in mode \`observe\` since ${since}.\n`
              : `${tableOf(tools, columns, work)}${counted(calls, "call")} ran in mode \`observe\` since ${since}. \`enforce\` would ask about ${asked}, deny ${denied}, block ${blocked} and preview ${previewed}.\n`,
        },
      ),
  });
}

const columns: Columns<ObservedToolView> = {
  SERVER: ({ server }) => server,
  TOOL: ({ tool, action }) => (action === undefined ? tool : `${tool}.${action}`),
  RAN: ({ calls }) => String(calls),
  "WOULD ASK": ({ asked }) => String(asked),
  DENY: ({ denied }) => String(denied),
  BLOCK: ({ blocked }) => String(blocked),
  PREVIEW: ({ previewed }) => String(previewed),
};
