import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { counted } from "../../core/shown.ts";
import type { RunEventView, RunVerificationView, RunView } from "../../server/contract/runs.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { makeNamed } from "../named-files.ts";
import { tellOfMore, upTo } from "../pages.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import type { Paint } from "../terminal.ts";
import { labelled, relative, table, visible, whose } from "../text.ts";
import { wholeNumber } from "./typed.ts";

export interface RunListFlags extends GlobalFlags {
  readonly agent?: string;
  readonly limit?: string;
}

export async function listRuns(host: Host, flags: RunListFlags): Promise<ExitCode> {
  const limit = wholeNumber(flags.limit ?? "20", "--limit");
  const where = flags.agent === undefined ? {} : { agent: flags.agent };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { rows: runs, next } = await upTo(limit, async (most, from?: string) => {
      const page = await work.operator.runs.list({
        ...where,
        limit: most,
        ...(from !== undefined && { after: from }),
      });
      return { rows: page.runs, next: page.next_after };
    });
    if (work.json) printJson(work, { runs, next_after: next });
    else work.terminal.out(runs.length === 0 ? "No runs.\n" : runTable(work, runs));
    tellOfMore(work, next !== undefined);
    return exitCodes.ok;
  });
}

function runTable({ paint, terminal, now }: Work, runs: readonly RunView[]): string {
  const rows = runs.map(({ run_id, state, governance, counts, last_event_at, principal }) => [
    run_id,
    state,
    { text: governance.result, paint: (text: string) => paintResult(paint, governance.result, text) },
    String(counts.started),
    String(counts.failed),
    String(counts.blocked),
    relative(Date.parse(last_event_at), now()),
    calledBy(principal),
  ]);
  const headings = ["RUN", "STATE", "RESULT", "CALLS", "FAILED", "BLOCKED", "LAST", "AGENT"];
  return table(headings, rows, { terminal, paint });
}

function calledBy(principal: RunView["principal"]): string {
  return principal === undefined ? "nobody yet" : whose(principal);
}

function paintResult(paint: Paint, result: RunView["governance"]["result"], text: string): string {
  return paint(result === "passed" ? "green" : result === "incomplete" ? "yellow" : "red", text);
}

export interface RunShowFlags extends GlobalFlags {
  readonly type?: string;
  readonly after?: string;
  readonly limit?: string;
}

export async function showRun(host: Host, id: string, flags: RunShowFlags): Promise<ExitCode> {
  const limit = wholeNumber(flags.limit ?? "20", "--limit");
  const after = flags.after === undefined ? undefined : wholeNumber(flags.after, "--after");
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const run = await work.operator.runs.show({ id });
    const asked = { type: flags.type, limit };
    const isLatest = after === undefined;
    const events = isLatest ? await latestEvents(work, run, asked) : await eventsAfter(work, id, { ...asked, after });
    if (work.json) printJson(work, { run, events });
    else work.terminal.out(runText(work, run) + eventTable(work, events));
    return exitCodes.ok;
  });
}

/** Sequences have no gaps, so where the latest ones begin is known, unless only some are wanted. */
async function latestEvents(
  work: Work,
  { run_id: id, counts }: RunView,
  { type, limit }: Pick<EventsAsked, "limit" | "type">,
): Promise<readonly RunEventView[]> {
  if (limit === 0) return [];
  let after = type === undefined ? Math.max(0, counts.events - limit) : 0;
  let kept: readonly RunEventView[] = [];
  for (;;) {
    const page = await eventsOf(work, id, { type, after, limit: 1_000 });
    kept = [...kept, ...page.events].slice(-limit);
    if (page.next_after === undefined) return kept;
    after = page.next_after;
  }
}

async function eventsAfter(
  work: Work,
  id: string,
  { type, after, limit }: EventsAsked,
): Promise<readonly RunEventView[]> {
  if (limit === 0) return [];
  const { rows } = await upTo(limit, async (most, from?: number) => {
    const page = await eventsOf(work, id, { type, after: from ?? after, limit: most });
    return { rows: page.events, next: page.next_after };
  });
  return rows;
}

interface EventsAsked {
  readonly type: string | undefined;
  readonly after: number;
  readonly limit: number;
}

function eventsOf(
  { operator }: Work,
  id: string,
  { type, after, limit }: EventsAsked,
): Promise<{ readonly events: readonly RunEventView[]; readonly next_after?: number }> {
  return operator.runs.events({ id, after, limit, ...(type !== undefined && { type }) });
}

export function runText({ paint, now, command }: Work, run: RunView): string {
  const { governance, counts, deliverables, principal } = run;
  const line = labelled(paint, 12);
  const { missing } = deliverables;
  return [
    `${paint("bold", visible(run.run_id))}   ${run.state}, ${paintResult(paint, governance.result, governance.result)}\n`,
    line("agent", calledBy(principal)),
    line("task", run.task_id),
    line("began", relative(Date.parse(run.created_at), now())),
    line("last event", relative(Date.parse(run.last_event_at), now())),
    line("reason", run.reason),
    line("calls", callsText(counts)),
    line("deliverables", deliverables.expected.join(", ")),
    line("missing", missing?.join(", ")),
    ...governance.reasons.map(({ result, message }) =>
      line(result, asTypedHere(message, command)).replace(result, paintResult(paint, result, result)),
    ),
    "\n",
  ].join("");
}

/** What ran and how it ended, then the arrivals of which nothing ran. */
function callsText({ started, completed, failed, blocked, previewed, waiting, replayed }: RunView["counts"]): string {
  const ran = `${started} ran: ${completed} completed, ${failed} failed; ${blocked} blocked, ${waiting} waiting`;
  const shown = previewed > 0 ? `${ran}, ${previewed} previewed` : ran;
  return replayed > 0 ? `${shown}, ${replayed} sent again and not run again` : shown;
}

function eventTable({ terminal, paint, now }: Work, events: readonly RunEventView[]): string {
  if (events.length === 0) return "No events.\n";
  const rows = events.map(({ sequence, timestamp, type, actor, summary }) => [
    String(sequence),
    relative(Date.parse(timestamp), now()),
    type,
    actor,
    summary,
  ]);
  return table(["SEQ", "WHEN", "EVENT", "BY", "WHAT HAPPENED"], rows, { terminal, paint });
}

export async function verifyRun(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const found = await work.operator.runs.verify({ id });
    if (work.json) printJson(work, found);
    else work.terminal.out(verificationText(work.paint, found));
    return found.intact ? exitCodes.ok : exitCodes.failed;
  });
}

function verificationText(
  paint: Paint,
  { intact, events, calls, sealed, problems, notes }: RunVerificationView,
): string {
  const head = intact
    ? `${counted(events, "event")}, ${counted(calls, "ended call")}: the folder is ${paint("green", "intact")} and says what the audit log says.`
    : `${paint("red", "CHANGED")}: the folder does not say what the audit log says.`;
  return [
    `${head} Sealed up to event ${sealed}.\n`,
    ...problems.map(({ file, line, why }) => `  ${file}${line === undefined ? "" : `:${line}`}: ${visible(why)}\n`),
    ...notes.map((note) => `  ${visible(note)}\n`),
  ].join("");
}

/** To a file that is not there yet; half of one is removed. */
export async function exportRun(
  host: Host,
  { id, file = `${id}.tar.gz` }: { readonly id: string; readonly file: string | undefined },
  flags: GlobalFlags,
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    await work.operator.runs.show({ id }); // a run that is not there leaves no file behind
    await (await makeNamed(file)).close();
    try {
      const bytes = Readable.from(work.operator.runs.export({ id }));
      const to = createWriteStream(file, { flags: "w", mode: 0o600 });
      if (/\.t?gz$/.test(file)) await pipeline(bytes, createGzip(), to);
      else await pipeline(bytes, to);
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
    if (work.json) printJson(work, { file });
    else work.terminal.out(`Exported to ${file}.\n`);
    return exitCodes.ok;
  });
}
