import { join } from "node:path";
import type { Clock } from "@postern/core";
import type { FindNeeded, SharedArtifactStore } from "./artifact-store.ts";
import { openFolderArtifacts } from "./folder-artifacts.ts";
import { MemoryArtifacts } from "./memory-artifacts.ts";
import { Sweeper } from "./sweeper.ts";

export interface ArtifactsOptions {
  /** If undefined, artifacts end with the process. */
  readonly folder: string | undefined;
  readonly retentionDays: number | undefined;
  readonly needed: FindNeeded;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

const dayMs = 86_400_000;
const defaultDays = 30;

/** The artifacts of a runtime and their sweeper. Close it before the source of `needed`. */
export async function openArtifacts(
  options: ArtifactsOptions,
): Promise<{ readonly store: SharedArtifactStore; readonly sweeper: Sweeper }> {
  const { folder, retentionDays = defaultDays, needed, clock, log } = options;
  const retentionMs = retentionDays * dayMs;
  const store =
    folder === undefined
      ? new MemoryArtifacts({ clock, retentionMs })
      : await openFolderArtifacts({ folder: join(folder, "artifacts"), clock, retentionMs });
  return { store, sweeper: new Sweeper({ sweep: () => store.sweep(needed), what: "Artifacts", clock, log }) };
}
