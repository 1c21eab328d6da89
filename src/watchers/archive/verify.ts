import { constants, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEvent, AuditLog } from "../../audit/log.ts";
import { messageOf } from "../../calls/fault.ts";
import { isJsonObject, type Json, sha256 } from "../../calls/json.ts";
import { counted } from "../../calls/shown.ts";
import { noLink } from "../../system/plain-file.ts";
import { compareCalls, compareEvents, type Numbered } from "./compare.ts";
import { auditEvents } from "./from-audit.ts";
import { errorIn, eventIn, recordIn, summaryIn } from "./kept.ts";
import { deliverablesIn } from "./manifest.ts";
import { sealType } from "./open-runs.ts";
import { sealedPapers } from "./papers.ts";
import { lineFiles } from "./run-files.ts";
import type { RunEvent, RunProblem, RunSummary, RunVerification, ToolRecord } from "./runs.ts";
import type { ErrorRecord } from "./tool-record.ts";
import { readWholeFile } from "./whole-file.ts";

export interface VerifyOptions {
  readonly folder: string;
  readonly tenant: string;
  readonly runId: string;
  readonly audit: Pick<AuditLog, "query" | "size">;
  /** Whether an entry of the log must have its lines. */
  readonly covers: (seq: number) => boolean;
  /** How many entries need none: the archive was off. */
  readonly leftOut: number;
  /** How much of each file is read: somebody may write on meanwhile. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly isLive: boolean;
  /** Whether something came since the last seal. */
  readonly isUnsealed: boolean;
}

const longestLineBytes = 4_096;
const mostProblems = 100;

/** The folder held against the audit log: what was edited, cut off, put in another order, added or left out is named. */
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
  problems.push(...orderOf(events, runId), ...errorsOf(calls, errors));
  const logged: AuditEvent[] = [];
  for await (const event of auditEvents(audit, { tenant, runId })) logged.push(event);
  if (audit.size === 0) notes.push("There is no audit log to compare with.");
  else {
    problems.push(...compareEvents(events, logged, options.covers), ...compareCalls(calls, logged, options.covers));
  }
  if (options.leftOut > 0)
    notes.push(
      `${options.leftOut === 1 ? "1 entry of the audit log has no line" : `${options.leftOut} entries of the audit log have no lines`} here, because the archive was off.`,
    );
  const seals = await sealsOf(options);
  if (seals.length === 0) notes.push("The run was never sealed: texts in its lines can be compared with nothing.");
  problems.push(...sealProblems(seals, files));
  const last = seals.at(-1);
  if (last !== undefined && !options.isUnsealed) problems.push(...(await paperProblems(folder, last, events)));
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

/** Bytes of each file of lines that is there. */
export async function sizesIn(folder: string): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of lineFiles) {
    const found = await lstat(join(folder, name)).catch(() => undefined); // reading it says why
    if (found !== undefined) sizes.set(name, found.size);
  }
  return sizes;
}

interface LinesRead {
  readonly lines: readonly string[];
  readonly bytes: Buffer;
  readonly isTorn: boolean;
  readonly missing?: string;
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
  let expected = 1;
  for (const { line, value } of events) {
    if (value.sequence !== expected)
      yield {
        file: "events.jsonl",
        line,
        why: `sequence ${value.sequence} stands where ${expected} was expected: lines were left out, added or moved`,
      };
    if (value.run_id !== runId) yield { file: "events.jsonl", line, why: `it is of another run, \`${value.run_id}\`` };
    expected = value.sequence + 1;
  }
}

/** What failed or was refused has a line in both files. */
function* errorsOf(
  calls: readonly Numbered<ToolRecord>[],
  errors: readonly Numbered<ErrorRecord>[],
): Generator<RunProblem> {
  const left = new Map<string, number>();
  for (const { line, value } of errors) left.set(`${value.call_id} ${value.timestamp}`, line);
  for (const { line, value } of calls) {
    if (value.status !== "failed" && value.status !== "blocked") continue;
    if (left.delete(`${value.call_id} ${value.completed_at}`)) continue;
    yield {
      file: "logs/errors.jsonl",
      why: `the line of \`${value.call_id}\` is missing; \`logs/tools.jsonl\` has it as ${value.status} in line ${line}`,
    };
  }
  for (const [name, line] of left)
    yield {
      file: "logs/errors.jsonl",
      line,
      why: `\`${name.split(" ", 1)[0]}\` did not fail: \`logs/tools.jsonl\` says nothing of it`,
    };
}

interface Seal {
  readonly at: string;
  readonly events: number;
  readonly files: ReadonlyMap<string, { readonly bytes: number; readonly sha256: string }>;
}

async function sealsOf({ audit, tenant, runId }: VerifyOptions): Promise<readonly Seal[]> {
  const seals: Seal[] = [];
  for await (const { data, timestamp } of auditEvents(audit, { tenant, type: sealType })) {
    if (data === undefined || !isJsonObject(data) || data["run_id"] !== runId) continue;
    const { files, events } = data;
    if (files === undefined || !isJsonObject(files)) continue;
    const extents = Object.entries(files).flatMap(([name, value]) => extentIn(name, value));
    seals.push({ at: timestamp, events: typeof events === "number" ? events : 0, files: new Map(extents) });
  }
  return seals;
}

function extentIn(name: string, value: Json): readonly [string, { readonly bytes: number; readonly sha256: string }][] {
  if (!isJsonObject(value)) return [];
  const { bytes, sha256 } = value;
  return typeof bytes === "number" && typeof sha256 === "string" ? [[name, { bytes, sha256 }]] : [];
}

/** Lines only grow, so every seal holds for ever: for the beginning of the file. */
function* sealProblems(seals: readonly Seal[], files: ReadonlyMap<string, LinesRead>): Generator<RunProblem> {
  for (const file of lineFiles) {
    const bytes = files.get(file)?.bytes ?? Buffer.alloc(0);
    const broken = seals.find((seal) => {
      const extent = seal.files.get(file);
      return extent !== undefined && sha256(bytes.subarray(0, extent.bytes)) !== extent.sha256;
    });
    const extent = broken?.files.get(file);
    if (broken === undefined || extent === undefined) continue;
    yield {
      file,
      why:
        bytes.length < extent.bytes
          ? `it has ${bytes.length} bytes; ${extent.bytes} were sealed at ${broken.at}: it was cut or edited`
          : `its first ${extent.bytes} bytes are not the ones that were sealed at ${broken.at}: it was edited`,
    };
  }
}

/** What the last seal vouches for as a whole; a text that was written since then has its event. */
async function paperProblems(
  folder: string,
  seal: Seal,
  events: readonly Numbered<RunEvent>[],
): Promise<readonly RunProblem[]> {
  const problems: RunProblem[] = [];
  for (const file of sealedPapers) {
    const extent = seal.files.get(file);
    if (extent === undefined) continue;
    const text = await readWholeFile(join(folder, file)).catch(() => "");
    if (text === undefined) {
      problems.push({ file, why: "it is missing" });
      continue;
    }
    const sealed = file === "transcript.md" ? Buffer.from(text).subarray(0, extent.bytes) : text; // it only grows
    if (sha256(sealed) === extent.sha256) continue;
    const rendered = events.findLast(({ value }) => value.type === "prompt.rendered" && value.data["file"] === file);
    if (rendered?.value.data["sha256"] !== sha256(text))
      problems.push({ file, why: `it is not what was sealed at ${seal.at}` });
  }
  return problems;
}

async function summaryProblems(
  folder: string,
  events: readonly Numbered<RunEvent>[],
  { isLive, isWhole }: { readonly isLive: boolean; readonly isWhole: boolean },
): Promise<readonly RunProblem[]> {
  const file = "run.json";
  const text = await readWholeFile(join(folder, file)).catch(() => "");
  const summary = text === undefined ? undefined : summaryIn(text);
  if (summary === undefined) return [{ file, why: text === undefined ? "it is missing" : "it is no summary of ours" }];
  const problems: RunProblem[] = [];
  if (!isLive && isWhole && summary.counts.events !== events.length)
    problems.push({ file, why: `it counts ${counted(summary.counts.events, "event")}; there are ${events.length}` });
  const end = events.findLast(({ value }) => value.type === "run.completed" || value.type === "run.failed");
  const said = end === undefined ? undefined : end.value.type.slice("run.".length);
  const isOver = summary.state === "completed" || summary.state === "failed";
  if (isOver ? summary.state !== said : said !== undefined)
    problems.push({ file, why: `it says ${summary.state}; the events say ${said ?? "that the run has not ended"}` });
  return isOver ? [...problems, ...(await deliverableProblems(folder, summary))] : problems;
}

async function deliverableProblems(folder: string, { deliverables }: RunSummary): Promise<readonly RunProblem[]> {
  const text = await readWholeFile(join(folder, "artifact-manifest.json")).catch(() => undefined);
  const listed = text === undefined ? undefined : manifestIn(text);
  if (listed === undefined) return [{ file: "artifact-manifest.json", why: "it is missing or no manifest of ours" }];
  const found = new Map((await deliverablesIn(folder)).deliverables.map(({ path, sha256 }) => [path, sha256]));
  const problems: RunProblem[] = [];
  for (const [path, sha256] of listed) {
    const file = `deliverables/${path}`;
    const now = found.get(path);
    if (now === undefined) problems.push({ file, why: "the manifest lists it; it is missing" });
    else if (now !== sha256) problems.push({ file, why: "it is not what the manifest lists: it was changed" });
  }
  for (const path of found.keys())
    if (!listed.has(path)) problems.push({ file: `deliverables/${path}`, why: "the manifest does not list it" });
  const missing = new Set(deliverables.missing);
  for (const path of deliverables.expected)
    if (!path.endsWith("/") && missing.has(path) === listed.has(path))
      problems.push({
        file: "run.json",
        why: `what it says of \`deliverables/${path}\` is not what the manifest says`,
      });
  return problems;
}

function manifestIn(text: string): ReadonlyMap<string, string> | undefined {
  try {
    const { deliverables }: { readonly deliverables?: unknown } = JSON.parse(text);
    if (!Array.isArray(deliverables)) return undefined;
    return new Map(deliverables.map(({ path, sha256 }) => [String(path), String(sha256)]));
  } catch {
    return undefined; // the caller says what that means
  }
}
