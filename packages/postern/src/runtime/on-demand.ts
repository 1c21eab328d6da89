/** Parts that are loaded only if they are configured: MCP servers, channels, run folders, metrics. */

import { join } from "node:path";
import { defined, messageOf } from "@postern/core";
import type { AuditLog } from "../audit/log.ts";
import type { ConnectableServer } from "../connections/connected-server.ts";
import type { OpenConnections } from "../connections/open-connections.ts";
import { addressDigest } from "../mcp/client/known-servers.ts";
import type { Pins } from "../mcp/client/pins.ts";
import { serverUrl } from "../mcp/client/server-address.ts";
import { personalKeysIn, type ServerConfig } from "../mcp/client/server-config.ts";
import type { Servers } from "../mcp/client/servers.ts";
import type { Metrics, MetricsOptions } from "../observe/metrics/metrics.ts";
import type { ChannelsDependencies, OpenChannels } from "../observe/notify/open-channels.ts";
import type { ArchiveOptions } from "../observe/runs/archive.ts";
import type { Runs } from "../observe/runs/runs.ts";
import type { Stream } from "../observe/stream.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import type { ArtifactStore, SharedArtifactStore } from "../results/artifact-store.ts";
import { learnAhead, revealer } from "../secrets/lend.ts";
import type { Store } from "../store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Dispatcher } from "../workers/dispatcher.ts";
import type { WorkersOptions } from "../workers/options.ts";
import type { Runtime } from "./api/api.ts";
import type { RuntimeBase } from "./base.ts";
import type { RuntimeOptions } from "./options/options.ts";
import { keySourceOf } from "./sealed-store.ts";

/** Closed before the store, which keeps their positions. */
export async function openChannelsIn(
  given: RuntimeOptions["channels"],
  closing: AsyncDisposableStack,
  dependencies: ChannelsDependencies,
): Promise<OpenChannels | undefined> {
  if (given === undefined) return undefined;
  const { openChannels } = await import("../observe/notify/open-channels.ts");
  return closing.use(await openChannels(given, dependencies));
}

interface MetricsParts extends Pick<MetricsOptions, "clock" | "log" | "servers" | "store"> {
  readonly parts: Pick<Parts, "artifacts">;
  readonly audit: Pick<AuditLog, "size">;
  readonly registry: Registry;
  readonly stream: Stream;
  readonly closing: AsyncDisposableStack;
}

/** Opened before anything that makes calls. */
export async function openMetricsIn(
  wanted: RuntimeOptions["metrics"],
  { parts: { artifacts }, audit, registry, stream, closing, clock, log, servers, store }: MetricsParts,
): Promise<Metrics | undefined> {
  if (wanted === undefined) return undefined;
  const { OpenMetrics } = await import("../observe/metrics/open-metrics.ts");
  return closing.use(
    new OpenMetrics({
      ...{ clock, log, servers, store },
      watch: (watcher) => stream.watch(watcher),
      hasTool: (name) => registry.has(name),
      logSize: () => audit.size,
      artifactBytes: () => bytesOf(artifacts),
    }),
  );
}

/** A store of the user's own does not count its bytes. */
function bytesOf(artifacts: ArtifactStore & Pick<SharedArtifactStore, "totalBytes">): number | undefined {
  return artifacts.totalBytes;
}

interface ConnectionParts extends Parts, Pick<RuntimeBase, "folder" | "sealed"> {
  readonly note: Runtime["note"];
}

/** The sign-ins of people at servers. Returns undefined if no server asks for any. */
export async function openConnectionsTo(
  servers: Readonly<Record<string, ServerConfig>>,
  given: NonNullable<RuntimeOptions["connections"]>,
  parts: ConnectionParts,
): Promise<OpenConnections | undefined> {
  const { folder, clock, redactor, log } = parts;
  const { consoleUrl = () => undefined } = given;
  const enabledServers = Object.entries(servers).filter(([, { enabled = true }]) => enabled);
  if (!enabledServers.some(([, config]) => config.oauth !== undefined || personalKeysIn(config).length > 0))
    return undefined;
  const { openConnections } = await import("../connections/open-connections.ts");
  const resolveSecret = revealer(parts);
  const connectable = enabledServers.flatMap(([name, config]): readonly ConnectableServer[] => {
    const { oauth, allowPrivate = false } = config;
    const keys = personalKeysIn(config);
    if (oauth === undefined && keys.length === 0) return [];
    const learn = (values: readonly string[]): void => learnAhead(redactor, values);
    const url = (): Promise<URL> => serverUrl(name, config, { resolve: resolveSecret, learn });
    return [{ name, address: addressDigest(config), url, oauth, keys, allowPrivate }];
  });
  const source = keySourceOf(given, folder);
  return openConnections(connectable, {
    ...{ clock, log, redactor, resolveSecret, consoleUrl },
    openSealed: parts.sealed,
    olderFile: folder && source ? { ...source, file: join(folder, "connections.age") } : undefined,
    note: async (type, summary, person, data) => {
      const isLost = type === "connection.lost"; // by nobody
      const by = isLost ? {} : defined({ by: person?.user, via: person?.via });
      const outcome = isLost ? "failure" : "success";
      const lost = (error: unknown): void => log(`${summary}, but the audit log has no record: ${messageOf(error)}`);
      await parts.note(type, summary, { ...defined({ tenant: person?.tenant }), ...by, outcome, data }).catch(lost);
    },
  });
}

/** Loads the MCP SDK only if a server is configured. */
export async function connect(
  servers: Readonly<Record<string, ServerConfig>>,
  parts: Parts & {
    readonly connections: OpenConnections | undefined;
    readonly registry: Registry;
    readonly pins: Pins;
    readonly store: Store;
    readonly note: Runtime["note"];
    readonly waitMs?: number | undefined;
  },
): Promise<Servers> {
  const [{ connectServers }, { Revisions }] = await Promise.all([
    import("../mcp/client/servers.ts"),
    import("../mcp/client/known-servers.ts"),
  ]);
  return connectServers(servers, {
    registry: parts.registry,
    pins: parts.pins,
    connections: parts.connections,
    revisions: new Revisions(parts.store, parts.clock),
    openApi: async (address, options) => {
      const { OpenApiUpstream } = await import("../openapi/openapi-upstream.ts");
      return new OpenApiUpstream(address, options);
    },
    answerBytes: parts.answerBytes,
    waitMs: parts.waitMs,
    clock: parts.clock,
    store: parts.store,
    log: parts.log,
    note: (type, summary, data) => parts.note(type, summary, { data }),
    redact: (text) => parts.redactor.redact(text),
    resolveSecret: revealer(parts),
    learn: (values) => learnAhead(parts.redactor, values),
  });
}

/** Closed before the store, because running calls end then. */
export async function openWorkersIn(
  given: WorkersOptions,
  {
    store,
    parts,
    closing,
    ...path
  }: {
    readonly store: Store;
    readonly parts: Parts;
    readonly registry: Registry;
    readonly folder: string | undefined;
    readonly note: Runtime["note"];
    readonly closing: AsyncDisposableStack;
  },
): Promise<Dispatcher> {
  const { openWorkers } = await import("../workers/open-workers.ts");
  const { clock, log, artifacts, answerBytes } = parts;
  return closing.use(
    await openWorkers(given, {
      ...{ ...path, clock, log, artifacts, answerBytes, fence: store.incarnation },
      resolve: revealer(parts),
    }),
  );
}

/** Closed before the audit log, which run folders follow. */
export async function openArchive(
  {
    stream,
    closing,
    note,
    ...options
  }: Pick<ArchiveOptions, "artifacts" | "audit" | "clock" | "config" | "folder" | "log" | "reportLoss" | "store"> & {
    readonly note: Runtime["note"];
    readonly stream: Stream;
    readonly closing: AsyncDisposableStack;
  },
  { redactor, runs }: Parts,
): Promise<Runs> {
  const [{ Archive }, { RunsApi }, { describeOutcome }] = await Promise.all([
    import("../observe/runs/archive.ts"),
    import("../observe/runs/runs-api.ts"),
    import("../results/describe-outcome.ts"),
  ]);
  const redact = (text: string): string => redactor.redact(text);
  const archive = closing.use(
    await Archive.open({
      ...options,
      follow: (watcher) => stream.watch(watcher),
      openedAt: (tenant, runId) => runs.openedAt(tenant, runId),
      redact,
      summarize: describeOutcome,
    }),
  );
  return new RunsApi({ archive, redact, note, owners: runs });
}
