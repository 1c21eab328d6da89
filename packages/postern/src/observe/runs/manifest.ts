import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { extname, join } from "node:path";
import { messageOf, type Principal } from "@postern/core";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import { extensions } from "../../results/media.ts";
import { walkFiles } from "./walk.ts";

export interface FileEntry {
  /** Beneath `deliverables/`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly media_type: string;
}

/** `artifact-manifest.json`: what the run leaves behind. */
export interface ArtifactManifest {
  readonly run_id: string;
  readonly made_at: string;
  readonly deliverables: readonly FileEntry[];
  /** Stored results. Without a size, the artifact is gone or no longer the run's. */
  readonly artifacts: readonly {
    readonly sha256: string;
    readonly bytes?: number;
    readonly media_type?: string;
    readonly problem?: string;
  }[];
  readonly left_out: readonly { readonly path: string; readonly why: string }[];
}

const mostLeftOut = 100;

export async function deliverablesIn(folder: string): Promise<Pick<ArtifactManifest, "deliverables" | "left_out">> {
  const deliverables: FileEntry[] = [];
  const leftOut: { readonly path: string; readonly why: string }[] = [];
  for await (const found of walkFiles(join(folder, "deliverables"))) {
    if ("left" in found) {
      if (leftOut.length < mostLeftOut) leftOut.push({ path: found.path, why: found.left });
    } else {
      const { bytes, sha256 } = await digestOf(found.file);
      deliverables.push({ path: found.path, bytes, sha256, media_type: mediaTypeOf(found.path) });
    }
  }
  return { deliverables, left_out: leftOut };
}

export async function artifactEntries(
  tenant: string,
  digests: ReadonlyMap<string, Omit<Principal, "tenant">>,
  artifacts: Pick<ArtifactStore, "openStream"> | undefined,
): Promise<ArtifactManifest["artifacts"]> {
  const entries: ArtifactManifest["artifacts"][number][] = [];
  for (const [sha256, owner] of digests) {
    try {
      const opened = await artifacts?.openStream(sha256, { tenant, ...owner });
      if (opened === undefined) entries.push({ sha256 });
      else {
        for await (const _ of opened.chunks); // read to its end it is checked against its digest
        entries.push({ sha256, bytes: opened.meta.bytes, media_type: opened.meta.mediaType });
      }
    } catch (error) {
      entries.push({ sha256, problem: messageOf(error).slice(0, 200) });
    }
  }
  return entries;
}

export async function digestOf(file: FileHandle): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  const chunk = Buffer.allocUnsafe(65_536);
  for (let bytes = 0; ; ) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, bytes);
    if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
    bytes += bytesRead;
    hash.update(chunk.subarray(0, bytesRead));
  }
}

const mediaTypes: ReadonlyMap<string, string> = new Map([
  ...[...extensions].toReversed().map(([type, extension]): [string, string] => [`.${extension}`, type]), // the first type counts
  [".jpeg", "image/jpeg"],
  [".jsonl", "application/jsonl"],
  [".yml", "application/yaml"],
]);

/** By the file's name alone; the bytes are untrusted. */
function mediaTypeOf(path: string): string {
  return mediaTypes.get(extname(path).toLowerCase()) ?? "application/octet-stream";
}
