/** The files of a run folder against its seals in the audit log, its events and its manifest. */
import { join } from "node:path";
import type { AuditEvent } from "../../audit/log.ts";
import { isJsonObject, type Json, sha256 } from "../../core/json.ts";
import { counted } from "../../core/shown.ts";
import { sealedDocuments } from "./documents.ts";
import { deliverablesIn } from "./manifest.ts";
import { summaryIn } from "./reading.ts";
import { lineFiles } from "./run-files.ts";
import type { RunEvent, RunProblem, RunSummary } from "./runs.ts";
import { readWholeFile } from "./whole-file.ts";

/** What a line file holds. */
export interface LinesRead {
  readonly lines: readonly string[];
  readonly bytes: Buffer;
  readonly isTorn: boolean;
  readonly missing?: string;
}

/** A line of a file, and what it says. */
export interface Numbered<T> {
  readonly line: number;
  readonly value: T;
}

interface Seal {
  readonly at: string;
  readonly events: number;
  readonly files: ReadonlyMap<string, { readonly bytes: number; readonly sha256: string }>;
}

/** @param entries of the audit log, of the type `run.archived` */
export function sealsIn(entries: readonly AuditEvent[], runId: string): readonly Seal[] {
  return entries.flatMap(({ data, timestamp }) => {
    if (data === undefined || !isJsonObject(data) || data["run_id"] !== runId) return [];
    const { files, events } = data;
    if (files === undefined || !isJsonObject(files)) return [];
    const extents = Object.entries(files).flatMap(([name, value]) => extentIn(name, value));
    return [{ at: timestamp, events: typeof events === "number" ? events : 0, files: new Map(extents) }];
  });
}

function extentIn(name: string, value: Json): readonly [string, { readonly bytes: number; readonly sha256: string }][] {
  if (!isJsonObject(value)) return [];
  const { bytes, sha256 } = value;
  return typeof bytes === "number" && typeof sha256 === "string" ? [[name, { bytes, sha256 }]] : [];
}

/** Files of lines only grow, so each seal stays valid for the beginning of the file. */
export function* sealProblems(seals: readonly Seal[], files: ReadonlyMap<string, LinesRead>): Generator<RunProblem> {
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

/** Whole files against the last seal. A prompt that was written since then has its event. */
export async function documentProblems(
  folder: string,
  seal: Seal,
  events: readonly Numbered<RunEvent>[],
): Promise<readonly RunProblem[]> {
  const problems: RunProblem[] = [];
  for (const file of sealedDocuments) {
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

export async function summaryProblems(
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
  const ended = end === undefined ? undefined : end.value.type.slice("run.".length);
  const isOver = summary.state === "completed" || summary.state === "failed";
  if (isOver ? summary.state !== ended : ended !== undefined)
    problems.push({ file, why: `it says ${summary.state}; the events say ${ended ?? "that the run has not ended"}` });
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
