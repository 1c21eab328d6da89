import { type ControlChangeView, type ControlsView, controls, type PauseView } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { flagsOf, oneOf, readField } from "../flags.ts";
import { ago, type Columns, type Work } from "../output/print.ts";
import { actorText, visible } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

export function commands(group: CommandGroup): void {
  group.answer("show", "the switches as they are", {
    isDefault: true,
    ask: ({ operator }) => operator.controls.show(),
    text: stateText,
  });
  for (const verb of ["pause", "resume"] as const)
    group.answer(verb, `${verb} all calls, or those of one agent, run or tool`, {
      flags: flagsOf(controls.pauseOne.body, {
        run_id: { name: "run", value: "id" },
        agent: { value: "name" },
        paused: "none",
      }),
      options: { "--tool <name>": "only this tool" },
      prepare: ({ sent, options: { tool } }) => {
        const named = [sent.agent, sent.run_id, tool].filter((one) => one !== undefined);
        if (named.length > 1) throw new UsageProblem("Name one of `--agent`, `--run` and `--tool`.");
        return { ...sent, tool, isOne: named.length > 0 };
      },
      ask: async ({ operator, terminal }, { tool, isOne, ...sent }) => {
        const { reason } = sent;
        const name = sent.agent ?? sent.run_id ?? tool;
        if (verb === "resume" && name !== undefined) {
          const { pauses } = await operator.controls.show();
          if (!pauses.some((one) => one.name === name))
            terminal.aside(`\`${visible(name)}\` was not paused, so nothing changes. Is the name right?\n`);
        }
        if (tool !== undefined) return operator.controls.tool({ name: tool, enabled: verb === "resume", reason });
        return isOne
          ? operator.controls.pauseOne({ ...sent, paused: verb === "pause" })
          : operator.controls[verb]({ reason });
      },
      text: stateText,
    });
  const { level } = controls.autonomy.body.shape;
  group.answer("autonomy <level>", "what agents may do unasked", {
    words: { "<level>": "A0 to A4" },
    flags: flagsOf(controls.pause.body, {}),
    prepare: ({ sent }) => ({ ...sent, level: readField(level, sent.level, "autonomy") }),
    ask: ({ operator }, sent) => operator.controls.autonomy(sent),
    text: stateText,
  });
  switchCommand(group, "tool", "one tool off, or on again");
  switchCommand(group, "server", "every tool of a server off, or on again");
  group.list("history", "who changed what, and when", {
    rows: "changes",
    ask: ({ operator }) => operator.controls.history(),
    columns,
    empty: "Nothing was changed yet.",
  });
}

function switchCommand(group: CommandGroup, what: "tool" | "server", help: string): void {
  group.answer(`${what} <name> <on|off>`, help, {
    flags: flagsOf(controls.pause.body, {}),
    prepare: ({ sent: { name, "on|off": to, reason } }) => {
      return { name, enabled: oneOf(to, ["on", "off"], `${what} ${name}`) === "on", reason };
    },
    ask: async (work, sent) => {
      const { name, enabled } = sent;
      const state = await work.operator.controls[what](sent);
      if (!enabled && !(await isOffered(work, what, name)))
        work.terminal.aside(
          `There is no ${what} \`${visible(name)}\` now; it is off if one comes. Is the name right?\n`,
        );
      return state;
    },
    text: stateText,
  });
}

/** A Postern that was started inside has connected nothing, so it cannot tell. */
async function isOffered({ operator, running }: Work, what: "tool" | "server", name: string): Promise<boolean> {
  if (!running) return true;
  if (what === "server") return (await operator.health.show()).servers.some((one) => one.name === name);
  return (await operator.tools.list()).tools.some(({ tool }) => tool === name);
}

const columns: Columns<ControlChangeView> = {
  WHEN: ({ at }, work) => ago(at, work),
  BY: ({ by, via }) => actorText(by, via),
  CHANGE: ({ change }) => change,
  TO: ({ value }) => value,
  REASON: ({ reason }) => reason,
};

function stateText(state: ControlsView, work: Work): string {
  const { paused, paused_by: by, autonomy, off_tools, off_servers, pauses } = state;
  const { paint } = work;
  const line = (label: string, text: string): string => `${paint("dim", label.padEnd(12))} ${text}\n`;
  const off = (names: readonly string[]): string => (names.length === 0 ? "none" : names.map(visible).join(", "));
  const pauseLine = ({ kind, name, by: person, via, at, reason }: PauseView): string => {
    const who = `by ${visible(actorText(person, via))}, ${ago(at, work)}`;
    return line(kind, `${paint("red", visible(name))} ${who}${reason === undefined ? "" : `: ${visible(reason)}`}`);
  };
  return [
    line("calls", paused ? paint("red", "paused") : paint("green", "running")),
    by === undefined ? "" : line("", `by ${visible(actorText(by.by, by.via))}, ${ago(by.at, work)}`),
    by?.reason === undefined ? "" : line("because", visible(by.reason)),
    line("autonomy", autonomy ?? "none: thresholds decide"),
    line("tools off", off(off_tools)),
    line("servers off", off(off_servers)),
    ...pauses.map(pauseLine),
  ].join("");
}
