/** Parts that are loaded only if they are configured: MCP servers, channels, run folders. */

import { join } from "node:path";
import { defined, messageOf } from "@postern/core";
import type { ConnectableServer } from "../connections/connected-server.ts";
import type { OpenConnections } from "../connections/open-connections.ts";
import { addressDigest } from "../mcp/client/known-servers.ts";
import type { Pins } from "../mcp/client/pins.ts";
import { serverUrl } from "../mcp/client/server-address.ts";
import { personalKeysIn, type ServerConfig } from "../mcp/client/server-config.ts";
import type { Servers } from "../mcp/client/servers.ts";
import type { ChannelsDependencies, OpenChannels } from "../observe/notify/open-channels.ts";
import type { ArchiveOptions } from "../observe/runs/archive.ts";
import type { Runs } from "../observe/runs/runs.ts";
import type { Stream } from "../observe/stream.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { learnAhead, revealer } from "../secrets/lend.ts";
import type { Store } from "../store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Runtime } from "./api/api.ts";
import type { RuntimeOptions } from "./options/options.ts";

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

interface ConnectionParts extends Parts {
  readonly note: Runtime["note"];
  /** Folder of files beside the store; undefined: sign-ins end with the process. */
  readonly folder: string | undefined;
}

/** The sign-ins of people at servers. Returns undefined if no server asks for any. */
export async function openConnectionsTo(
  servers: Readonly<Record<string, ServerConfig>>,
  { consoleUrl = () => undefined, keyFile }: NonNullable<RuntimeOptions["connections"]>,
  parts: ConnectionParts,
): Promise<OpenConnections | undefined> {
  const { folder, clock, redactor, log } = parts;
  const given = Object.entries(servers).filter(([, { enabled = true }]) => enabled);
  if (!given.some(([, config]) => config.oauth !== undefined || personalKeysIn(config).length > 0)) return undefined;
  const { openConnections } = await import("../connections/open-connections.ts");
  const resolveSecret = revealer(parts);
  const connectable = given.flatMap(([name, config]): readonly ConnectableServer[] => {
    const { oauth, allowPrivate = false } = config;
    const keys = personalKeysIn(config);
    if (oauth === undefined && keys.length === 0) return [];
    const learn = (values: readonly string[]): void => learnAhead(redactor, values);
    const url = (): Promise<URL> => serverUrl(name, config, { resolve: resolveSecret, learn });
    return [{ name, address: addressDigest(config), url, oauth, keys, allowPrivate }];
  });
  const key = folder === undefined ? undefined : (keyFile ?? join(folder, "secrets.key"));
  return openConnections(connectable, {
    ...{ clock, redactor, resolveSecret, consoleUrl },
    place:
      folder && key ? { file: join(folder, "connections.age"), keyFile: key, environment: process.env } : undefined,
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
    note: (type, summary, data) => parts.note(type, summary, { data }),
    redact: (text) => parts.redactor.redact(text),
    resolveSecret: revealer(parts),
    learn: (values) => learnAhead(parts.redactor, values),
  });
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
      redact,
      summarize: describeOutcome,
    }),
  );
  return new RunsApi({ archive, redact, note, owners: runs });
}
