/** The composition root: the one file that knows every part. It wires them in straight lines and decides nothing. */

import { type Principal, SystemClock } from "@postern/core";
import { recordIndexed } from "../builtin/skills/indexed.ts";
import { type Limits, limitsOf, limitsWarning } from "../call/session.ts";
import { chainToolName } from "../code-mode/names.ts";
import type { OpenConnections } from "../connections/open-connections.ts";
import type { Servers } from "../mcp/client/servers.ts";
import { openAlarms, secretAlarms } from "../observe/alarms/open-alarms.ts";
import type { AlarmRepository } from "../observe/alarms/repository.ts";
import { CallSpans } from "../observe/call-spans.ts";
import { LiveFeed } from "../observe/live-feed.ts";
import type { ChannelsDependencies, OpenChannels } from "../observe/notify/open-channels.ts";
import { Listeners } from "../observe/progress.ts";
import type { Runs } from "../observe/runs/runs.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { carryOut, invoke } from "../pipeline/invoke.ts";
import { preview } from "../pipeline/preview.ts";
import { type EndOf, openRecovery } from "../pipeline/recovery.ts";
import type { Reads } from "../policy/policy.ts";
import type { SharedPolicy } from "../policy/shared-policy.ts";
import { learnAhead, revealer } from "../secrets/lend.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { AnyTool } from "../tools/kinds.ts";
import { internalsOf } from "../tools/registry.ts";
import type { Offer } from "../tools/tool.ts";
import { takeTools } from "../tools/toolsets/toolset.ts";
import type { Dispatcher } from "../workers/dispatcher.ts";
import { StoredAgentRuns } from "./api/agent-runs.ts";
import type { Runtime } from "./api/api.ts";
import { ApprovalsApi } from "./api/approvals-api.ts";
import type { OpenChains } from "./api/chains.ts";
import { RunningRuntime } from "./api/running.ts";
import { openBase, type RuntimeBase } from "./base.ts";
import { openDependencies, type RuntimeDependencies } from "./dependencies.ts";
import { connect, openArchive, openChannelsIn, openConnectionsTo, openMetricsIn, openWorkersIn } from "./on-demand.ts";
import { checkOptions, type RuntimeOptions } from "./options/options.ts";
import { openProcessMessages } from "./process-messages.ts";
import { offerSealedStore } from "./sealed-store.ts";
import { CallFactory } from "./services/call-factory.ts";
import { endElsewhere } from "./services/end-elsewhere.ts";
import { InFlight } from "./services/in-flight.ts";
import { recordNote } from "./services/note.ts";
import { PolicyService } from "./services/policy-service.ts";
import { ReEntry } from "./services/re-entry.ts";
import { openRetention } from "./services/retention.ts";
import { OpenStorage } from "./services/storage.ts";
import { visibleTo } from "./services/visible-tools.ts";

/** The parts that are open when the path of a call is complete. */
interface OpenPath extends RuntimeBase, Omit<RuntimeDependencies, "parts"> {
  readonly parts: Parts;
  readonly inFlight: InFlight;
  readonly entrance: ReEntry;
  readonly approvals: ApprovalsApi;
  readonly limits: Limits;
  readonly note: Runtime["note"];
  readonly closing: AsyncDisposableStack;
  /** What is opened after the path. */
  readonly late: { workers: Dispatcher | undefined };
}

/**
 * Called by `createRuntime` (create.ts) and by the command line. If a part cannot be opened, it closes all others.
 *
 * @param shared with it, gateways on one store have one policy
 */
export async function openRuntime(options: RuntimeOptions, shared?: SharedPolicy): Promise<Runtime> {
  checkOptions(options);
  const closing = new AsyncDisposableStack();
  try {
    const path = await openPath(options, closing);
    let connected: Servers | undefined;
    const metrics = await openMetricsIn(options.metrics, { ...path, servers: () => connected?.status() ?? [] });
    const observers = await openObservers(options, path);
    const chains = await offerTools(options, path);
    const workers = await openWorkersOf(options, path);
    const { servers, connections } = await openServers(options, path);
    connected = servers;
    const policy = policyService(options, path, servers);
    const following = await shared?.open({
      ...path,
      replace: (...given) => PolicyService.replaceWhen(policy, ...given),
    });
    if (following !== undefined) closing.use(following);
    const { parts, secondLayer } = path;
    const agentRuns = closing.use(
      new StoredAgentRuns({ ...path, redactor: secondLayer.written, policy: parts.policy }),
    );
    const storage = new OpenStorage(path);
    const reads = (): Reads | undefined => parts.policy.now.policy.reads;
    const retention = openRetention({ ...path, retention: options.retention ?? {}, reads });
    if (retention !== undefined) closing.use(retention);
    const runtime = new RunningRuntime({
      ...{ ...path, ...observers, metrics, chains, workers, servers, connections, policy, agentRuns, storage },
    });
    openProcessMessages(runtime, path);
    offerSealedStore(runtime, path.sealed);
    return runtime;
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

/** The store, the parts that the gates need, and the path of a call through them. */
async function openPath(options: RuntimeOptions, closing: AsyncDisposableStack): Promise<OpenPath> {
  const base = await openBase(options, closing);
  const dependencies = await openDependencies(options, base, closing);
  const { store, clock, log, stream } = base;
  const limits = limitsOf(options.limits);
  const warning = limitsWarning(limits);
  if (warning !== undefined) log(warning);
  const inFlight = new InFlight(clock, log);
  const listeners = new Listeners(stream);
  const spans = new CallSpans({ ...dependencies.parts, redact: (text) => base.secondLayer.written.redact(text) });
  stream.watch((event) => spans.see(event));
  const { approver } = options.approvals ?? {};
  const late: OpenPath["late"] = { workers: undefined };
  const parts: Parts = {
    ...dependencies.parts,
    get workers() {
      return late.workers; // they are opened when the tools are registered
    },
    announce: (event) => {
      inFlight.see(event);
      stream.announce(event);
    },
    within: (call, body) => spans.within(call, body),
    onStop: (then) => inFlight.onStop(then),
    listen: (call, sink) => listeners.listen(call, sink),
    visible: ({ authority }) => visibleTo(authority, dependencies.registry, parts),
    preview: (call, caller) => preview(call, caller, parts),
    consult: approver && ((approval) => approvals.consult(approval)),
    executor: { carryOut: (call, caller) => carryOut(call, caller, parts) },
    child: (parent, number, request, caller) => invoke(entrance.child(parent, number, request), caller, parts),
  };
  const entrance = new ReEntry({ parts, limits, factory: callFactory(options, parts) });
  const approvals = new ApprovalsApi({ parts, store, approver, entrance });
  const note: Runtime["note"] = (type, summary, more = {}) => recordNote({ type, summary, more }, parts, store);
  return { ...base, ...dependencies, parts, inFlight, entrance, approvals, limits, note, closing, late };
}

function callFactory({ approvals }: RuntimeOptions, { clock, redactor, tools, controls }: Parts): CallFactory {
  const { approver, patience = approver === undefined ? "deny" : "wait" } = approvals ?? {};
  const knows = (tool: string, action: string): boolean => tools.find(tool, action) !== undefined;
  const toolOfCallType = (type: string): string | undefined => tools.toolOfCallType?.(type);
  return new CallFactory({ clock, controls, patience, redactor, knows, toolOfCallType });
}

/** Calls that ran on a worker may have ended after their gateway: recovery waits until that can be asked. */
async function openWorkersOf({ workers }: RuntimeOptions, path: OpenPath): Promise<Dispatcher | undefined> {
  const { store, clock, log, parts, late, limits, closing } = path;
  if (workers === undefined) return undefined;
  late.workers = await openWorkersIn(workers, path);
  const endOf: EndOf = (record) => endElsewhere(record, { parts, store, limits });
  await openRecovery({ store, clock, log, endOf }, closing);
  return late.workers;
}

interface Observers {
  readonly alarms: AlarmRepository;
  readonly channels: OpenChannels | undefined;
  readonly feed: LiveFeed;
  readonly runs: Runs | undefined;
}

/** The followers of the stream and the log: alarms, channels, the feed, run folders. */
async function openObservers(options: RuntimeOptions, path: OpenPath): Promise<Observers> {
  const { parts, store, clock, audit, stream, accounts, secondLayer, closing, log, note } = path;
  const redact = (text: string): string => secondLayer.written.redact(text);
  let channels: OpenChannels | undefined;
  const alarms = await openAlarms({
    ...{ ...path, redact, policy: parts.policy, watch: (watcher) => stream.watch(watcher) },
    urgent: (type, summary) => void channels?.urgent(type, summary),
    tokens: () => accounts.listTokens({ by: "postern", via: "postern" }),
  });
  path.reportAuditTo(alarms);
  channels = await openChannelsIn(options.channels, closing, channelsDependencies(path));
  secondLayer.recordWith(secretAlarms(alarms, note));
  const size = (): number => audit.size;
  const feed = closing.use(
    new LiveFeed({ store, clock, log, redact, size, watch: (watcher) => stream.watch(watcher) }),
  );
  const archive = options.archive && { ...path, ...options.archive, artifacts: parts.artifacts };
  const runs = archive && (await openArchive(archive, { ...parts, redactor: secondLayer.written }));
  return { alarms, channels, feed, runs };
}

function channelsDependencies({
  parts,
  accounts,
  approvals,
  audit,
  secondLayer,
  store,
  clock,
  log,
  note,
}: OpenPath): ChannelsDependencies {
  return {
    ...{ store, clock, log, people: accounts, size: () => audit.size },
    note: ({ type, summary, ...more }) => note(type, summary, more),
    redact: (value) => redactJson(value, secondLayer.written),
    learn: (values) => learnAhead(parts.redactor, values),
    resolveSecret: revealer(parts),
    approval: (id) => approvals.get(id),
    decide: (id, request) => approvals.decide(id, request),
  };
}

/** Tools from a list, a box, skills and scripts are registered alike. Returns the scripts, if they are configured. */
async function offerTools(options: RuntimeOptions, path: OpenPath): Promise<OpenChains | undefined> {
  const { registry, skills, log, clock, store, parts, entrance } = path;
  const register = (tool: AnyTool): void => void registry.register(tool);
  takeTools(options.tools ?? [], register);
  if (skills !== undefined) {
    const { skillTools } = await import("../builtin/skills/skill-tools.ts");
    takeTools(skillTools(skills), register);
    await recordIndexed(skills, { store, clock, policy: parts.policy }, log);
  }
  let chains: OpenChains | undefined;
  if (options.chains !== undefined) {
    const { openChains } = await import("./api/chains.ts");
    const visible = (principal: Principal): readonly Offer[] =>
      visibleTo({ principal, runId: undefined }, registry, parts);
    const opened = await openChains(options.chains, { ...path, running: { tools: registry, visible, entrance } });
    chains = opened.chains;
    takeTools(opened.tools, register);
    if (opened.missing !== undefined) internalsOf(registry).setMissing(chainToolName, opened.missing);
  }
  await registry.ready(); // a schema that cannot be used is reported now, not at the first call
  return chains;
}

/** How long a start waits for the schemas of servers to be read, in milliseconds. */
const schemaWaitMs = 2_000;

async function openServers(
  { servers, serverWaitMs: waitMs, connections: given = {} }: RuntimeOptions,
  path: OpenPath,
): Promise<{ readonly servers: Servers | undefined; readonly connections: OpenConnections | undefined }> {
  if (servers === undefined) return { servers, connections: undefined };
  const connections = await openConnectionsTo(servers, given, { ...path, ...path.parts });
  const connected = await connect(servers, { ...path, ...path.parts, connections, waitMs });
  const read = path.registry.ready().catch(() => undefined); // health names each schema that cannot be used
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const cancelWait = new SystemClock().in(schemaWaitMs, resolve);
  await Promise.race([read, waited]);
  cancelWait();
  return { servers: connected, connections };
}

function policyService(options: RuntimeOptions, path: OpenPath, connected: Servers | undefined): PolicyService {
  const { approvals, servers = {} } = options;
  return new PolicyService({
    ...path,
    tools: path.registry,
    configured: { routes: approvals?.routes ?? [], servers },
    listedBy: (server) => connected?.listed(server),
  });
}
