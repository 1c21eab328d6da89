/** The only file that knows every part. It wires and decides nothing. */

import { tellIndexed } from "../builtin/skills/indexed.ts";
import { SystemClock } from "../core/clock.ts";
import { type Limits, limitsOf, limitsWarning, type Patience } from "../core/session.ts";
import { type AlarmsOptions, openAlarms, secretAlarms } from "../observe/alarms/open-alarms.ts";
import { LiveFeed } from "../observe/live-feed.ts";
import type { ChannelsDependencies } from "../observe/notify/open-channels.ts";
import { Listeners } from "../observe/progress.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { carryOut, invoke } from "../pipeline/invoke.ts";
import { preview } from "../pipeline/preview.ts";
import { learnAhead, revealer } from "../secrets/lend.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { Registry } from "../tools/registry.ts";
import { takeTools } from "../tools/toolsets/toolset.ts";
import { storedAgentRuns } from "./agent-runs.ts";
import type { Runtime } from "./api.ts";
import { openGround, type RuntimeBase } from "./base-dependencies.ts";
import { openHouse, type RuntimeDependencies } from "./call-dependencies.ts";
import { CallFactory } from "./call-factory.ts";
import type { ChainParts } from "./chains.ts";
import { ReEntry } from "./entrance.ts";
import { InFlight } from "./in-flight.ts";
import { visibleTo } from "./offering.ts";
import { connect, openArchive, openChannelsIn } from "./on-demand.ts";
import { checkOptions, type RuntimeOptions } from "./options.ts";
import { PolicyService } from "./policy-service.ts";
import { type Attached, RunningRuntime } from "./running.ts";

/** All that is open. */
interface OpenedRuntime extends RuntimeBase, Omit<RuntimeDependencies, "parts"> {
  readonly parts: Parts;
  readonly inFlight: InFlight;
  readonly attached: Attached;
  readonly limits: Limits;
  readonly closing: AsyncDisposableStack;
}

/** The runtime that is made of the parts, and asked by them: from the first call on it is there. */
interface Later {
  running: RunningRuntime;
  entrance: ReEntry;
}

/** What `createRuntime` (create.ts) loads and calls: options become a runtime, or nothing is half started. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  checkOptions(options);
  const closing = new AsyncDisposableStack();
  try {
    const ground = await openGround(options, closing);
    const house = await openHouse(options, ground, closing);
    const later = {} as Later; // `run` fills it, before anything can be called
    const inFlight = new InFlight(ground.clock, ground.log);
    const parts = partsOf(options, { ...ground, ...house, inFlight }, later);
    const limits = limitsOf(options.limits);
    const opened: OpenedRuntime = { ...ground, ...house, parts, inFlight, attached: {}, limits, closing };
    const running = await run(options, opened, later);
    await offerTools(options, opened, later.entrance);
    const { servers, serverWaitMs: waitMs } = options;
    if (servers !== undefined) {
      opened.attached.servers = await connect(servers, running, { ...house, ...ground, ...parts, waitMs });
      await schemasRead(house.registry);
    }
    return running;
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

/** A schema that cannot be used is known soon after its server is connected; a start waits only so long for it. */
const schemaWaitMs = 2_000;

async function schemasRead(registry: Registry): Promise<void> {
  const read = registry.ready().catch(() => undefined); // health names each
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const cancelWait = new SystemClock().in(schemaWaitMs, resolve);
  await Promise.race([read, waited]);
  cancelWait();
}

function partsOf(
  { approvals }: RuntimeOptions,
  { parts: standing, registry, stream, inFlight }: RuntimeBase & RuntimeDependencies & Pick<OpenedRuntime, "inFlight">,
  later: Later,
): Parts {
  const listeners = new Listeners(stream);
  const parts: Parts = {
    ...standing,
    announce: (event) => {
      inFlight.see(event);
      stream.announce(event);
    },
    listen: (call, sink) => listeners.listen(call, sink),
    visible: ({ authority }) => visibleTo(authority, registry, parts),
    preview: (call, caller) => preview(call, caller, parts),
    consult: approvals?.approver && ((approval) => later.running.approvals.consult(approval)),
    executor: { carryOut: (call, caller) => carryOut(call, caller, parts) },
    child: (parent, number, request, caller) => invoke(later.entrance.child(parent, number, request), caller, parts),
  };
  return parts;
}

async function run(options: RuntimeOptions, opened: OpenedRuntime, later: Later): Promise<RunningRuntime> {
  const { parts, store, clock, audit, stream, registry, limits, closing, secondLayer, log } = opened;
  const alarms = await openAlarms(alarmsOptions(opened, later));
  opened.heardBy(alarms);
  const warning = limitsWarning(limits);
  if (warning !== undefined) log(warning);
  const { approver, patience = approver === undefined ? "deny" : "wait" } = options.approvals ?? {};
  const entrance = new ReEntry({ parts, limits, reception: receptionOf(opened, patience) });
  const running = new RunningRuntime({
    ...opened,
    ...{ tools: registry, alarms, entrance, approver },
    agentRuns: storedAgentRuns(store, secondLayer.written),
    policy: policyDeskOf(options, opened),
    channels: await openChannelsIn(options.channels, closing, channelsDependencies(opened, later)),
    feed: closing.use(
      new LiveFeed({
        ...{ store, clock, log },
        watch: (watcher) => stream.watch(watcher),
        size: () => audit.size,
        redact: (text) => secondLayer.written.redact(text),
      }),
    ),
  });
  Object.assign(later, { running, entrance });
  secondLayer.tellBy(secretAlarms(alarms, (type, summary, more) => running.note(type, summary, more)));
  if (options.archive !== undefined) {
    const archive = { ...options.archive, artifacts: parts.artifacts, audit, clock, log, store, stream, closing };
    opened.attached.runs = await openArchive(archive, running, { ...parts, redactor: secondLayer.written });
  }
  return running;
}

function policyDeskOf(options: RuntimeOptions, opened: OpenedRuntime): PolicyService {
  const { registry: tools, attached } = opened;
  const { policy: given, approvals, guardrails = [], servers = {} } = options;
  return new PolicyService({
    ...opened,
    ...{ tools, given },
    configured: { routes: approvals?.routes ?? [], guardrails, servers },
    listedBy: (server) => attached.servers?.listed(server),
  });
}

function receptionOf({ parts, controls }: OpenedRuntime, patience: Patience): CallFactory {
  const { clock, redactor, tools } = parts;
  const knows = (tool: string, action: string): boolean => tools.find(tool, action) !== undefined;
  const toolOfCallType = (type: string): string | undefined => tools.toolOfCallType?.(type);
  return new CallFactory({ clock, controls, patience, redactor, knows, toolOfCallType });
}

function alarmsOptions(opened: OpenedRuntime, later: Later): AlarmsOptions {
  const { parts, accounts, secondLayer, stream } = opened;
  return {
    ...opened,
    policyVersion: parts.policy.version,
    redact: (text) => secondLayer.written.redact(text),
    watch: (watcher) => stream.watch(watcher),
    urgent: (type, summary) => void later.running?.channels?.urgent(type, summary),
    tokens: () => accounts.listTokens({ by: "postern", via: "postern" }),
  };
}

function channelsDependencies(
  { parts, accounts, audit, secondLayer, store, clock, log }: OpenedRuntime,
  later: Later,
): ChannelsDependencies {
  return {
    ...{ store, clock, log, people: accounts, size: () => audit.size },
    note: ({ type, summary, ...more }) => later.running.note(type, summary, more),
    redact: (value) => redactJson(value, secondLayer.written),
    learn: (values) => learnAhead(parts.redactor, values),
    resolveSecret: revealer(parts),
    approval: (id) => parts.approvals.get(id),
    decide: (id, request) => later.running.approvals.decide(id, request),
  };
}

/** Tools from a list, a box, the skills and the chains end identical (SPEC 4.2, D12). */
async function offerTools(options: RuntimeOptions, opened: OpenedRuntime, entrance: ReEntry): Promise<void> {
  const { registry, skills, log, clock, store, parts, folder, closing } = opened;
  const register = (tool: AnyTool): void => void registry.register(tool);
  takeTools(options.tools ?? [], register);
  if (skills !== undefined) {
    const { skillTools } = await import("../builtin/skills/skill-tools.ts");
    takeTools(skillTools(skills), register);
    await tellIndexed(skills, { store, clock, policyVersion: parts.policy.version }, log);
  }
  if (options.chains !== undefined) {
    const { openChains } = await import("./chains.ts");
    const running: ChainParts["running"] = {
      tools: registry,
      visible: (principal) => visibleTo({ principal, runId: undefined }, registry, parts),
      child: (parent, number, request) => entrance.child(parent, number, request),
      entering: (context, go) => entrance.entering(context, go),
    };
    const { chains, tools } = await openChains(options.chains, { parts, store, running, folder, closing });
    opened.attached.chains = chains;
    takeTools(tools, register);
  }
  await registry.ready(); // a schema that cannot be used is said now, not at the first call
}
