import { accessSync } from "node:fs";
import { join } from "node:path";
import { type Clock, RuntimeFault } from "@postern/core";
import { whyUnreadable } from "@postern/core/system";
import { Lease } from "../store/lease.ts";
import type { Store } from "../store/store.ts";
import type { FindNeeded, SharedArtifactStore } from "./artifact-store.ts";
import { openFolderArtifacts } from "./folder-artifacts.ts";
import { MemoryArtifacts } from "./memory-artifacts.ts";
import { Holding } from "./shared-folder.ts";
import { Sweeper } from "./sweeper.ts";

export interface ArtifactsOptions {
  /** If undefined, artifacts end with the process. */
  readonly folder: string | undefined;
  readonly retentionDays: number | undefined;
  readonly needed: FindNeeded;
  readonly store: Pick<Store, "commit" | "documents" | "leases">;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

const dayMs = 86_400_000;
const defaultDays = 30;

/**
 * Where artifacts lie: a folder of the data folder, or one that several gateways on a store share. A shared one is not made,
 * because a volume that is not mounted would look like an empty one.
 *
 * @throws RuntimeFault `options_invalid`, `config_invalid` if a shared one is missing
 */
export function artifactFolder(
  folder: string | undefined,
  named: string | undefined,
  store: Pick<Store, "leases">,
): string | undefined {
  if (named === undefined) return folder && join(folder, "artifacts");
  if (store.leases === undefined)
    throw new RuntimeFault(
      "options_invalid",
      `\`results.folder\` is \`${named}\`, but only gateways on a PostgreSQL store can share a folder; leave it out.`,
    );
  try {
    accessSync(named);
    return named;
  } catch (error) {
    throw new RuntimeFault(
      "config_invalid",
      `\`results.folder\` is \`${named}\`, which ${whyUnreadable(error)}. Mount its volume; or, if it is to be new, make it with \`mkdir -p ${named}\`.`,
      { cause: error },
    );
  }
}

/** The artifacts of a runtime and their sweeper, which `closing` closes. The source of `needed` is closed later. */
export async function openArtifacts(
  options: ArtifactsOptions,
  closing: AsyncDisposableStack,
): Promise<SharedArtifactStore> {
  const { folder, retentionDays = defaultDays, clock, log } = options;
  const retentionMs = retentionDays * dayMs;
  if (folder === undefined) return swept(new MemoryArtifacts({ clock, retentionMs }), options, closing);
  const shared = options.store.leases && { store: options.store, log };
  const artifacts = await openFolderArtifacts({ folder, clock, retentionMs, shared });
  if (artifacts.shared === undefined) return swept(artifacts, options, closing);
  const { folderId, holdMs } = artifacts.shared;
  const hold = (): Promise<void> => artifacts.holdPinned();
  closing.use(new Holding({ ...{ folder, folderId, clock, log, holdMs, hold }, store: options.store }));
  const lease = new Lease({ ...{ store: options.store, clock, log }, name: `artifacts ${folderId}` });
  closing.use(lease);
  await lease.open();
  return swept(artifacts, options, closing, () => lease.isOwner);
}

function swept(
  artifacts: SharedArtifactStore,
  { needed, clock, log }: ArtifactsOptions,
  closing: AsyncDisposableStack,
  isOurs: () => boolean = () => true,
): SharedArtifactStore {
  const sweep = async (): Promise<unknown> => isOurs() && artifacts.sweep(needed);
  closing.use(new Sweeper({ sweep, what: "Artifacts", clock, log }));
  return artifacts;
}
