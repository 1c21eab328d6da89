/** The files of a run without lines: task, prompts, manifests. */

import { constants, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { counted, RuntimeFault } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import { noLink } from "../../system/plain-file.ts";
import type { Redact } from "./bounded.ts";
import { type ArtifactManifest, artifactEntries, deliverablesIn } from "./manifest.ts";
import { pretty } from "./reading.ts";
import type { RunLog } from "./run-log.ts";
import type { RunAbout } from "./runs.ts";

/** For a new run. `config`: the effective configuration as YAML. */
export async function writeFirstDocuments(run: RunLog, config: string | undefined, redact: Redact): Promise<void> {
  const sandbox = {
    run_id: run.runId,
    roots: [
      { name: "workspace", writable: true },
      { name: "deliverables", writable: true },
      { name: "archive", writable: false },
      { name: "logs", writable: false },
    ],
    process: { node: process.version, platform: process.platform, arch: process.arch },
  };
  await run.write("sandbox-manifest.json", pretty(sandbox));
  if (config === undefined) return;
  const text = redact(config);
  await run.write("config.yaml", text);
  run.record("config.loaded", "The effective configuration is in `config.yaml`", {
    data: { file: "config.yaml", ...extentOf(text) },
  });
}

const mostTranscriptBytes = 10_000_000;

/**
 * @param about checked already, so that all of it can be written
 * @throws RuntimeFault `request_invalid` when the transcript is full; nothing is written then
 */
export async function writeAbout(run: RunLog, about: RunAbout, redact: Redact): Promise<void> {
  const { task, taskId, prompt, systemPrompt, deliverables } = about;
  const transcript = about.transcript === undefined ? undefined : withNewline(redact(about.transcript));
  if (transcript !== undefined) await checkTranscript(run, Buffer.byteLength(transcript));
  if (taskId !== undefined) run.nameTask(taskId);
  if (deliverables !== undefined) run.expect(deliverables);
  if (task !== undefined) {
    // JSON is YAML too.
    await run.write(
      "task.yaml",
      withNewline(redact(typeof task === "string" ? task : JSON.stringify(task, undefined, 2))),
    );
  }
  if (systemPrompt !== undefined) await writePrompt(run, "effective-system-prompt.md", redact(systemPrompt));
  if (prompt !== undefined) await writePrompt(run, "prompt.md", redact(prompt));
  if (transcript !== undefined) await append(transcriptOf(run), transcript);
  run.isManifestOld = true;
}

async function writePrompt(run: RunLog, file: string, text: string): Promise<void> {
  await run.write(file, text);
  run.record("prompt.rendered", `\`${file}\` was written`, { data: { file, ...extentOf(text) } });
}

function transcriptOf(run: RunLog): string {
  return join(run.folder, "transcript.md");
}

async function checkTranscript(run: RunLog, more: number): Promise<void> {
  const { size = 0 } = (await lstat(transcriptOf(run)).catch(() => undefined)) ?? {}; // it is not there yet, or `append` says why
  if (size + more <= mostTranscriptBytes) return;
  throw new RuntimeFault(
    "request_invalid",
    `The transcript of \`${run.runId}\` has ${size} bytes, and ${more} more are above ${mostTranscriptBytes}. Keep it elsewhere, or begin another run.`,
  );
}

async function append(path: string, text: string): Promise<void> {
  await using file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | noLink, 0o600);
  await file.writeFile(text);
}

/** Writes `deliverable.check.*` and returns the missing deliverables. */
export async function checkDeliverables(run: RunLog): Promise<readonly string[]> {
  const { expected } = run;
  run.record("deliverable.check.started", `Expected: ${counted(expected.length, "deliverable")}`, {
    data: { expected: expected.length },
  });
  const { deliverables } = await deliverablesIn(run.folder);
  const there = new Set(deliverables.map(({ path }) => path));
  const missing = expected.filter((path) =>
    path.endsWith("/") ? !deliverables.some((file) => file.path.startsWith(path)) : !there.has(path),
  );
  for (const path of missing)
    run.record("deliverable.missing", `\`deliverables/${path}\` is missing`, { severity: "warning", data: { path } });
  run.miss(missing);
  run.record(
    "deliverable.check.completed",
    `Missing: ${missing.length} of ${counted(expected.length, "deliverable")}`,
    {
      severity: missing.length === 0 ? "info" : "warning",
      data: { expected: expected.length, missing: missing.length, found: deliverables.length },
    },
  );
  return missing;
}

/** Writes `artifact-manifest.json`. */
export async function writeManifest(
  run: RunLog,
  artifacts: Pick<ArtifactStore, "openStream"> | undefined,
  madeAt: number,
): Promise<void> {
  const manifest: ArtifactManifest = {
    run_id: run.runId,
    made_at: new Date(madeAt).toISOString(),
    ...(await deliverablesIn(run.folder)),
    artifacts: await artifactEntries(run.tenant, run.tally.artifacts, artifacts),
  };
  await run.write("artifact-manifest.json", pretty(manifest));
  run.isManifestOld = false;
}

function extentOf(text: string): { readonly bytes: number; readonly sha256: string } {
  return { bytes: Buffer.byteLength(text), sha256: sha256(text) };
}

function withNewline(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
