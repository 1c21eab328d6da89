import { autonomies } from "../../core/risk.ts";
import type { ControlChangeView, ControlsView } from "../../server/contract/controls.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { actorText, relative, table, visible } from "../text.ts";
import { oneOf } from "./typed.ts";

export interface ControlFlags extends GlobalFlags {
  readonly reason?: string;
}

export function showControls(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return stateAfter(host, flags, ({ operator }) => operator.controls.show());
}

export async function controlHistory(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { changes } = await work.operator.controls.history();
    if (work.json) printJson(work, { changes });
    else work.terminal.out(changes.length === 0 ? "Nothing was changed yet.\n" : historyTable(work, changes));
    return exitCodes.ok;
  });
}

function historyTable({ terminal, paint, now }: Work, changes: readonly ControlChangeView[]): string {
  const rows = changes.map(({ at, by, via, change, value = "", reason = "" }) => [
    relative(Date.parse(at), now()),
    actorText(by, via),
    change,
    value,
    reason,
  ]);
  return table(["WHEN", "BY", "CHANGE", "TO", "REASON"], rows, { terminal, paint });
}

/** All calls of everybody, at once. */
export function switchAll(host: Host, verb: "pause" | "resume", { reason, ...flags }: ControlFlags): Promise<ExitCode> {
  return stateAfter(host, flags, ({ operator }) => operator.controls[verb]({ reason }));
}

export function setAutonomy(host: Host, level: string, { reason, ...flags }: ControlFlags): Promise<ExitCode> {
  const wanted = oneOf(level.toUpperCase(), autonomies, "autonomy");
  return stateAfter(host, flags, ({ operator }) => operator.controls.autonomy({ level: wanted, reason }));
}

export function switchOne(
  host: Host,
  { what, name, to }: { readonly what: "tool" | "server"; readonly name: string; readonly to: string },
  { reason, ...flags }: ControlFlags,
): Promise<ExitCode> {
  const on = oneOf(to, ["on", "off"], `${what} ${name}`) === "on";
  return stateAfter(host, flags, async (work) => {
    const { operator, terminal } = work;
    const state = await operator.controls[what]({ name, enabled: on, reason });
    if (!on && !(await isThere(work, what, name)))
      terminal.aside(`There is no ${what} \`${visible(name)}\` now; it is off should one come. Is the name right?\n`);
    return state;
  });
}

/** A Postern that was started inside has connected nothing, so it cannot tell. */
async function isThere({ operator, running }: Work, what: "tool" | "server", name: string): Promise<boolean> {
  if (!running) return true;
  if (what === "server") return (await operator.health.show()).servers.some((one) => one.name === name);
  return (await operator.tools.list()).tools.some(({ tool }) => tool === name);
}

async function stateAfter(
  host: Host,
  flags: GlobalFlags,
  change: (work: Work) => Promise<ControlsView>,
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const state = await change(work);
    if (work.json) printJson(work, state);
    else work.terminal.out(stateText(work, state));
    return exitCodes.ok;
  });
}

function stateText({ paint, now }: Work, controls: ControlsView): string {
  const { paused, paused_by: by, autonomy, off_tools, off_servers } = controls;
  const line = (label: string, text: string): string => `${paint("dim", label.padEnd(12))} ${text}\n`;
  const off = (names: readonly string[]): string => (names.length === 0 ? "none" : names.map(visible).join(", "));
  return [
    line("calls", paused ? paint("red", "paused") : paint("green", "running")),
    ...(by === undefined
      ? []
      : [
          line("", `by ${visible(actorText(by.by, by.via))}, ${relative(Date.parse(by.at), now())}`),
          ...(by.reason === undefined ? [] : [line("because", visible(by.reason))]),
        ]),
    line("autonomy", autonomy ?? "none: thresholds decide"),
    line("tools off", off(off_tools)),
    line("servers off", off(off_servers)),
  ].join("");
}
