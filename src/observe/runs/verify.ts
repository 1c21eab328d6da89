import { constants, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEvent, AuditFilter, AuditLog } from "../../audit/log.ts";
import { momentNames } from "../../core/event.ts";
import { messageOf } from "../../core/fault.ts";
import type { ToolOutcome } from "../../core/outcome.ts";
import { noLink } from "../../core/system/plain-file.ts";
import type { Redact } from "./bounded.ts";
import { makesNoFolder, type Projected, project, runIn, sealType } from "./projection.ts";
import { errorIn, eventIn, recordIn } from "./reading.ts";
import type { CallStart } from "./records.ts";
import { type LineFileName, lineFiles } from "./run-files.ts";
import type { RunEvent, RunProblem, RunVerification, ToolRecord } from "./runs.ts";
import {
  documentProblems,
  type LinesRead,
  type Numbered,
  sealProblems,
  sealsIn,
  summaryProblems,
} from "./verify-files.ts";

export interface VerifyOptions {
  readonly folder: string;
  readonly tenant: string;
  readonly runId: string;
  readonly audit: Pick<AuditLog, "query" | "size">;
  readonly redact: Redact;
  /** Whether an entry of the log must have its lines. */
  readonly covers: (seq: number) => boolean;
  /** How much of each file is read: the archive may add lines meanwhile. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly isLive: boolean;
  /** Whether something came since the last seal. */
  readonly isUnsealed: boolean;
}

const longestLineBytes = 4_096;
const mostProblems = 100;
const page = 1_000;

/** Projects the audit log again and compares. Reports what was edited, cut off, moved, added or left out. */
export async function verifyRun(options: VerifyOptions): Promise<RunVerification> {
  const { folder, tenant, runId, audit, sizes, isLive } = options;
  const problems: RunProblem[] = [];
  const notes: string[] = [];
  const files = new Map<string, LinesRead>();
  for (const name of lineFiles) files.set(name, await readLines(join(folder, name), sizes.get(name)));
  const reading = { files, problems };
  const events = parsed("events.jsonl", eventIn, reading);
  const calls = parsed("logs/tools.jsonl", recordIn, reading);
  const errors = parsed("logs/errors.jsonl", errorIn, reading);
  problems.push(...orderOf(events, runId));
  if (audit.size === 0) notes.push("The audit log is empty, so lines can be compared with nothing.");
  else {
    const { projected, mayMiss } = await projectedAgain(options, calls);
    const lines = { "events.jsonl": events.flatMap(eventLine), "logs/tools.jsonl": calls.map(recordLine) };
    problems.push(
      ...compare({ ...lines, "logs/errors.jsonl": errors.map(recordLine) }, projected, {
        redact: options.redact,
        covers: (seq) => options.covers(seq) && !mayMiss.has(seq),
      }),
    );
  }
  const seals = sealsIn(await entriesOf(audit, { tenant, type: sealType, text: runId }), runId);
  if (seals.length === 0) notes.push("The run was never sealed: texts in its lines can be compared with nothing.");
  problems.push(...sealProblems(seals, files));
  const last = seals.at(-1);
  if (last !== undefined && !options.isUnsealed) problems.push(...(await documentProblems(folder, last, events)));
  problems.push(...(await summaryProblems(folder, events, { isLive, isWhole: problems.length === 0 })));
  return {
    intact: problems.length === 0,
    run_id: runId,
    events: events.length,
    calls: calls.length,
    sealed: last?.events ?? 0,
    problems: problems.slice(0, mostProblems),
    notes,
  };
}

/** Bytes of each file of lines that exists. */
export async function sizesIn(folder: string): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of lineFiles) {
    const found = await lstat(join(folder, name)).catch(() => undefined); // reading it says why
    if (found !== undefined) sizes.set(name, found.size);
  }
  return sizes;
}

async function readLines(path: string, limit: number | undefined): Promise<LinesRead> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | noLink);
    const whole = (await file.stat()).isFile() ? await file.readFile() : Buffer.alloc(0);
    const bytes = limit === undefined ? whole : whole.subarray(0, limit);
    const lines = bytes.toString("utf8").split("\n");
    const rest = lines.pop() ?? "";
    return { lines, bytes, isTorn: rest !== "" };
  } catch (error) {
    return { lines: [], bytes: Buffer.alloc(0), isTorn: false, missing: messageOf(error) };
  }
}

function parsed<T>(
  file: string,
  read: (line: string) => T | undefined,
  { files, problems }: { readonly files: ReadonlyMap<string, LinesRead>; readonly problems: RunProblem[] },
): readonly Numbered<T>[] {
  const { lines = [], isTorn = false, missing } = files.get(file) ?? {};
  if (missing !== undefined) problems.push({ file, why: `it cannot be read: ${missing}` });
  if (isTorn) problems.push({ file, line: lines.length + 1, why: "the last line is cut off" });
  return lines.flatMap((text, i) => {
    const value = read(text);
    if (Buffer.byteLength(text) >= longestLineBytes)
      problems.push({ file, line: i + 1, why: "it is longer than a line of ours can be" });
    if (value !== undefined) return [{ line: i + 1, value }];
    problems.push({ file, line: i + 1, why: "it is no line of ours" });
    return [];
  });
}

function* orderOf(events: readonly Numbered<RunEvent>[], runId: string): Generator<RunProblem> {
  const file = "events.jsonl";
  let expected = 1;
  for (const { line, value } of events) {
    if (value.sequence !== expected) {
      const why = `sequence ${value.sequence} stands where ${expected} was expected: lines were left out, added or moved`;
      yield { file, line, why };
    }
    if (value.run_id !== runId) yield { file, line, why: `it is of another run, \`${value.run_id}\`` };
    expected = value.sequence + 1;
  }
}

/** All entries, old to new. */
async function entriesOf(audit: VerifyOptions["audit"], where: AuditFilter): Promise<readonly AuditEvent[]> {
  const found: AuditEvent[] = [];
  for (let after = -1; ; ) {
    const entries = await audit.query({ ...where, after, limit: page });
    found.push(...entries);
    const last = entries.at(-1);
    if (last === undefined || entries.length < page) return found;
    after = last.seq;
  }
}

interface ProjectedLines {
  readonly projected: ReadonlyMap<number, Projected>;
  /** Entries without a line if the run was not open. */
  readonly mayMiss: ReadonlySet<number>;
}

/** The lines that the log gives, by entry. The end of a replayed or settled call comes from its line, not from the log. */
async function projectedAgain(
  { audit, tenant, runId, redact }: VerifyOptions,
  calls: readonly Numbered<ToolRecord>[],
): Promise<ProjectedLines> {
  const statuses = new Map(calls.map(({ value }) => [value.audit_seq, outcomeStatuses[value.status]]));
  const starts = new Map<string, CallStart>();
  const projected = new Map<number, Projected>();
  const mayMiss = new Set<number>();
  for (const entry of await entriesOf(audit, { tenant, text: runId })) {
    if (runIn(entry) !== runId) continue;
    if (makesNoFolder(entry)) mayMiss.add(entry.seq);
    const { seq, type, request_hash, timestamp, refs } = entry;
    const callId = refs.tool_call ?? "";
    const options = { redact, summarize: () => "", status: statuses.get(seq) };
    projected.set(seq, project(entry, starts.get(callId) ?? {}, options));
    if (type === momentNames.attempted.audit)
      starts.set(callId, { at: timestamp, ...(request_hash !== undefined && { digest: request_hash }) });
  }
  return { projected, mayMiss };
}

const outcomeStatuses: Readonly<Record<ToolRecord["status"], ToolOutcome["status"]>> = {
  started: "pending",
  completed: "ok",
  failed: "error",
  blocked: "denied",
};

type LineFields = Readonly<Record<string, unknown>>;

/** A line that names the entry it comes from. */
interface FromLog {
  readonly line: number;
  readonly seq: number;
  readonly fields: LineFields;
}

function eventLine({ line, value }: Numbered<RunEvent>): readonly FromLog[] {
  const seq = value.data["audit_seq"];
  if (seq === undefined && !/^(?:tool|approval)\./.test(value.type)) return [];
  return [{ line, seq: Number(seq), fields: eventFields(value) }];
}

function recordLine({ line, value }: Numbered<{ readonly audit_seq: number }>): FromLog {
  return { line, seq: value.audit_seq, fields: { ...value } };
}

function eventFields({ data, ...event }: Projected["event"]): LineFields {
  return { ...event, ...data };
}

/** The line of a file that an entry must have. */
const expectedIn: Readonly<Record<LineFileName, (projected: Projected) => LineFields | undefined>> = {
  "events.jsonl": ({ event }) => eventFields(event),
  "logs/tools.jsonl": ({ record }) => record && { ...record },
  "logs/errors.jsonl": ({ error }) => error && { ...error },
};

/** Fields that the log does not have, or that only the file has. */
const notInLog: ReadonlySet<string> = new Set([
  ...["event_id", "sequence", "run_id", "parent_event_id", "artifacts", "artifacts_of"],
  ...["args_summary", "result_summary", "started_at", "error", "message", "recovered"],
]);

function* compare(
  lines: Readonly<Record<LineFileName, readonly FromLog[]>>,
  projected: ReadonlyMap<number, Projected>,
  { covers, redact }: Pick<VerifyOptions, "covers" | "redact">,
): Generator<RunProblem> {
  for (const file of lineFiles) {
    const left = new Map<number, LineFields>();
    for (const [seq, line] of projected) {
      const fields = expectedIn[file](line);
      if (fields !== undefined) left.set(seq, fields);
    }
    let before = -1;
    for (const { line, seq, fields } of lines[file]) {
      const expected = left.get(seq);
      left.delete(seq);
      if (expected === undefined) {
        yield { file, line, why: "no entry of the audit log has this line: it was added or repeated" };
        continue;
      }
      const why = difference(fields, expected, redact);
      if (why !== undefined) yield { file, line, why: `${why} (entry ${seq} of the audit log)` };
      if (seq < before) yield { file, line, why: "it stands after lines of later entries" };
      before = Math.max(before, seq);
    }
    for (const [seq, expected] of left) {
      const { audit, correlation_id, call_id } = expected;
      const what = audit === undefined ? `${call_id ?? "a system event"}` : `${audit}\` of \`${correlation_id}`;
      if (covers(seq)) yield { file, why: `the line for \`${what}\` is missing (entry ${seq} of the audit log)` };
    }
  }
}

/** If a secret was learned after the line was written, the expected text is masked and the line is not. */
function difference(fields: LineFields, expected: LineFields, redact: Redact): string | undefined {
  for (const name of new Set([...Object.keys(fields), ...Object.keys(expected)])) {
    if (notInLog.has(name)) continue;
    const was = JSON.stringify(expected[name]) ?? "missing";
    const is = JSON.stringify(fields[name]) ?? "missing";
    if (is !== was && redact(is) !== was) return `its ${name} is ${shown(is)}; it was ${shown(was)}`;
  }
  return undefined;
}

/** A short value, and a text without its quotes. */
function shown(json: string): string {
  return json.replace(/^"(.*)"$/s, "$1").slice(0, 200);
}
