/** The lowest parts: the store, the audit log that follows it, and the event stream. */
import { join } from "node:path";
import { type Clock, type JsonObject, RuntimeFault, SystemClock } from "@postern/core";
import { codeOf, harmless, makeOwnFolder } from "@postern/core/system";
import { paceOf } from "../audit/audit-config.ts";
import { openAuditLog } from "../audit/audit-log.ts";
import { serializeWith } from "../audit/entry.ts";
import { erasureProof } from "../audit/erasure-proof.ts";
import type { AuditLog } from "../audit/log.ts";
import { createSigner, loadSigner } from "../audit/signer.ts";
import { type Witness, witnessFrom } from "../audit/witness.ts";
import type { AlarmRaiser } from "../observe/alarms/alarms.ts";
import { onAltered, onVerified, raiseAudit } from "../observe/alarms/open-alarms.ts";
import { hooksWatcher } from "../observe/hooks.ts";
import { createStream, type Stream } from "../observe/stream.ts";
import { openRecovery } from "../pipeline/recovery.ts";
import { artifactFolder as folderOfArtifacts } from "../results/open-artifacts.ts";
import { credentialsIn } from "../secrets/configured-values.ts";
import { learnAhead } from "../secrets/lend.ts";
import { createRedactor } from "../secrets/redactor.ts";
import { openSecondLayer, type SecondLayer } from "../secrets/second-layer.ts";
import { referencesIn, withSecrets } from "../secrets/secret-reference.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { folderBeside, openStore } from "../store/open-store.ts";
import type { SealedStore } from "../store/sealed-documents.ts";
import type { Store } from "../store/store.ts";
import type { RuntimeOptions } from "./options/options.ts";
import { keySourceOf, once } from "./sealed-store.ts";

export interface RuntimeBase {
  readonly clock: Clock;
  /** Folder of files beside the store; undefined if everything ends with the process. */
  readonly folder: string | undefined;
  /** Folder of large results; undefined if they end with the process. */
  readonly artifactFolder: string | undefined;
  /** While a backup is made, no artifact is swept. */
  readonly copying: { now: boolean };
  readonly log: (problem: string) => void;
  readonly secondLayer: SecondLayer;
  readonly store: Store;
  /** Opened when a sign-in needs it: its key is read then. */
  readonly sealed: () => Promise<SealedStore>;
  readonly audit: AuditLog;
  /** Problems of the audit log, also those found before alarms existed. */
  readonly auditProblems: readonly string[];
  readonly stream: Stream;
  /** From now on, checks of the audit log raise and settle alarms. */
  readonly reportAuditTo: (alarms: AlarmRaiser) => void;
  /** Entries are missing which were in the audit log. */
  readonly reportLoss: (problem: string) => void;
  /** The log's key signs that these entries are erased. */
  readonly proveErasure: (places: readonly number[]) => Promise<JsonObject>;
}

/**
 * When it resolves, recovery has ended: no call of a dead process is left attempted. With workers, it follows when their
 * answers can be read (runtime.ts).
 */
export async function openBase(options: RuntimeOptions, closing: AsyncDisposableStack): Promise<RuntimeBase> {
  const { folder = folderBeside(options.store), log: writeLog = logNothing } = options;
  const log = harmless((problem) => writeLog(secondLayer.written.redact(problem)));
  const redactor = options.redactor ?? createRedactor();
  const secondLayer = await openSecondLayer(redactor, options.secretPatterns ?? "mark", log);
  const serialize = secondLayer.watched(serializeWith);
  if (options.folder !== undefined) makeFolder(options.folder); // before the store, whose file may lie in it
  const { clock: ownClock = new SystemClock() } = options;
  const store = closing.use(await openStore(options.store ?? "memory", { clock: ownClock, serialize, log }));
  const { clock = ownClock } = store;
  const artifactFolder = folderOfArtifacts(folder, options.results?.folder, store);
  if (options.workers === undefined) await openRecovery({ store, clock, log }, closing);
  const followed = await openAudit({ ...options, redactor }, { clock, folder, log, store }, closing);
  const stream = createStream(log);
  if (options.hooks !== undefined) stream.watch(hooksWatcher(options.hooks));
  stream.watch(secondLayer.watcher);
  closing.use(secondLayer);
  closing.use(
    store.follow((entries) => {
      for (const { event } of entries) if (event !== undefined) stream.announce(event);
    }),
  );
  const source = keySourceOf(options.connections ?? {}, folder);
  const sealed = once(async () => {
    const { openSealedStore } = await import("../secrets/sealing-of-store.ts");
    return openSealedStore(store, source, (key) => learnAhead(redactor, [key]));
  });
  const opened = { clock, folder, artifactFolder, copying: { now: false }, log, secondLayer, store, sealed, stream };
  return { ...opened, ...followed };
}

/** @throws RuntimeFault `data_folder_unusable` */
function makeFolder(folder: string): void {
  try {
    makeOwnFolder(folder);
  } catch (error) {
    throw new RuntimeFault(
      "data_folder_unusable",
      `\`folder\` is \`${folder}\`, which cannot be made or used (${codeOf(error)}); name another folder.`,
      { cause: error },
    );
  }
}

async function openAudit(
  options: RuntimeOptions,
  { clock, folder, log, store }: Pick<RuntimeBase, "clock" | "folder" | "log" | "store">,
  closing: AsyncDisposableStack,
): Promise<Pick<RuntimeBase, "audit" | "auditProblems" | "reportAuditTo" | "reportLoss" | "proveErasure">> {
  const signer = folder === undefined ? createSigner() : await loadSigner(folder);
  const pace = paceOf(options.audit?.recheck ?? {}, folderBeside(options.store) !== undefined);
  const isKept = !(store instanceof MemoryStore); // the anchors of a log that ends with its process would accuse the next one
  const auditProblems: string[] = [];
  const losses: string[] = [];
  let alarms: AlarmRaiser | undefined;
  const report = (problem: string): void => {
    auditProblems.push(problem);
    log(problem);
  };
  const reportLoss = (problem: string): void => {
    losses.push(problem);
    report(problem);
    if (alarms !== undefined) raiseAudit(alarms, problem);
  };
  if (store.lostBefore !== undefined) reportLoss(store.lostBefore);
  const audit = closing.use(
    await openAuditLog({
      ...{ store, clock, signer, isShared: folder !== undefined && store.leases !== undefined },
      isKept,
      log: report,
      losses: () => (store.broken === undefined ? losses : [...losses, store.broken.message]),
      verified: (found) => alarms && onVerified(alarms, found),
      recheck: pace && { ...pace, altered: (found) => alarms && onAltered(alarms, found, log) },
      ...(folder !== undefined && isKept && { anchorFile: join(folder, "audit.anchors") }),
      witness: witnessOf(options),
    }),
  );
  const reportAuditTo = (opened: AlarmRaiser): void => {
    alarms = opened;
  };
  const proveErasure = async (places: readonly number[]): Promise<JsonObject> =>
    erasureProof(signer, await audit.checkpoint(), places);
  return { audit, auditProblems, reportAuditTo, reportLoss, proveErasure };
}

function witnessOf({ audit, secrets, redactor }: RuntimeOptions): Witness | undefined {
  const { witness } = audit ?? {};
  if (witness === undefined || "put" in witness) return witness;
  if ("url" in witness) {
    const { url, token = "" } = witness;
    learnAhead(redactor, [...credentialsIn(url), ...(referencesIn(token).length === 0 ? [token] : [])]);
  }
  return witnessFrom(witness, (text) =>
    withSecrets(text, async (connector, key) => {
      const value = (await secrets?.get(connector, key))?.reveal();
      if (value === undefined)
        throw new RuntimeFault(
          "secret_missing",
          `\`audit.witness\` names the secret \`${connector}/${key}\`; give the runtime \`secrets\`.`,
        );
      redactor?.learn(value);
      return value;
    }),
  );
}

function logNothing(): void {}
