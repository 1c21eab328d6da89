/** Projects the audit log again and compares a run's folder with it. */
import { isDeepStrictEqual } from "node:util";
import { endEvents } from "../../packages/core/src/event.ts";
import type { AuditEvent } from "../../packages/postern/src/audit/index.ts";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { makesNoFolder, type Projected, project, runIn } from "../../packages/postern/src/observe/runs/projection.ts";
import type { CallStart } from "../../packages/postern/src/observe/runs/records.ts";
import type { RunFolder } from "./run-folder.ts";

type Line = Readonly<Record<string, unknown>>;

/** Fields that no entry of the log holds, or that only the file has. */
const onlyInFile: ReadonlySet<string> = new Set([
  ...["event_id", "sequence", "run_id", "parent_event_id", "artifacts", "artifacts_of"],
  ...["args_summary", "result_summary", "started_at", "error", "message", "recovered"],
]);
/** How the repeated call ended is not in the log. */
const endOfRepeated: ReadonlySet<string> = new Set(["type", "severity", "summary", "status"]);
const repeated: ReadonlySet<string> = new Set([endEvents.deduped.audit, endEvents.settled.audit]);

/**
 * Every way in which the three files of lines differ from the entries of the run: a missing, repeated or added line, an
 * order that is not the log's, another value, a gap in the sequence.
 *
 * @param since entries before this one need no lines
 */
export async function differences(
  runtime: Runtime,
  run: RunFolder,
  { since = 0, runId = "run_1", tenant = "default" } = {},
): Promise<readonly string[]> {
  await runtime.runs?.flush();
  const entries = (await entriesOf(runtime, { tenant, text: runId })).filter((entry) => runIn(entry) === runId);
  const files: readonly [string, readonly Line[], (projected: Projected) => Line | undefined][] = [
    ["events.jsonl", fromLog(run.events), ({ event }) => flat(event)],
    ["logs/tools.jsonl", run.calls.map((line) => ({ ...line })), ({ record }) => record && { ...record }],
    ["logs/errors.jsonl", run.errors, ({ error }) => error && { ...error }],
  ];
  const projected = projectedAgain(entries);
  return [
    ...(run.isGapless ? [] : ["events.jsonl: the sequence has a gap"]),
    ...files.flatMap(([file, lines, expectedOf]) => {
      const expected = projected.flatMap(({ entry, lines: all }) => {
        const line = expectedOf(all);
        return line === undefined ? [] : [{ entry, line }];
      });
      return compared(lines, expected, since).map((difference) => `${file}: ${difference}`);
    }),
  ];
}

async function entriesOf(runtime: Runtime, where: object): Promise<readonly AuditEvent[]> {
  const found: AuditEvent[] = [];
  for (let after = -1; ; after = found.at(-1)?.seq ?? after) {
    const page = await runtime.audit.query({ ...where, after, limit: 1_000 });
    found.push(...page);
    if (page.length < 1_000) return found;
  }
}

interface Expected<Lines> {
  readonly entry: AuditEvent;
  readonly lines: Lines;
}

function projectedAgain(entries: readonly AuditEvent[]): readonly Expected<Projected>[] {
  const starts = new Map<string, CallStart>();
  return entries.map((entry) => {
    const { type, refs, timestamp, request_hash } = entry;
    const callId = refs.tool_call ?? "";
    const lines = project(entry, starts.get(callId) ?? {}, { redact: (text) => text, summarize: () => "" });
    if (type === "tool_call.attempted")
      starts.set(callId, { at: timestamp, ...(request_hash !== undefined && { digest: request_hash }) });
    return { entry, lines };
  });
}

/** Lines about a call or an approval come from the log, and so do those that name an entry. */
function fromLog(events: RunFolder["events"]): readonly Line[] {
  return events
    .filter(({ type, data }) => data["audit_seq"] !== undefined || /^(?:tool|approval)\./.test(type))
    .map(flat);
}

function flat({ data, ...event }: { readonly data: object }): Line {
  return { ...event, ...data };
}

function compared(
  lines: readonly Line[],
  expected: readonly { readonly entry: AuditEvent; readonly line: Line }[],
  since: number,
): readonly string[] {
  const found: string[] = [];
  const left = new Map(expected.map((one) => [one.entry.seq, one]));
  let before = -1;
  for (const line of lines) {
    const seq = Number(line["audit_seq"]);
    const one = left.get(seq);
    left.delete(seq);
    if (one === undefined) found.push(`no entry has the line ${JSON.stringify(line)}`);
    else if (!isSame(line, one.line, one.entry))
      found.push(`${JSON.stringify(line)} is not ${JSON.stringify(one.line)}`);
    if (seq < before) found.push(`the line of entry ${seq} stands after the line of entry ${before}`);
    before = Math.max(before, seq);
  }
  for (const { entry } of left.values())
    if (entry.seq >= since && !makesNoFolder(entry)) found.push(`entry ${entry.seq} (${entry.type}) has no line`);
  return found;
}

function isSame(line: Line, expected: Line, { type }: AuditEvent): boolean {
  const shown = (all: Line): Line =>
    Object.fromEntries(
      Object.entries(all).filter(([name]) => !onlyInFile.has(name) && !(repeated.has(type) && endOfRepeated.has(name))),
    );
  return isDeepStrictEqual(shown(line), shown(expected));
}
