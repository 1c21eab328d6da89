/** The only file that knows every part. It wires and decides nothing. */
import { join } from "node:path";
import { Book } from "./approvals/book.ts";
import { openAuditLog } from "./audit/audit-log.ts";
import { spellWith } from "./audit/entry.ts";
import { createSigner, loadSigner } from "./audit/signer.ts";
import { type Clock, SystemClock } from "./calls/clock.ts";
import { RuntimeFault } from "./calls/fault.ts";
import type { JsonObject } from "./calls/json.ts";
import { checkedLimits, directLimits } from "./calls/session.ts";
import { preview } from "./executors/preview.ts";
import type { Runtime } from "./face.ts";
import { carryOut } from "./invoke.ts";
import { HistoryBook, type KnownTool } from "./ledger/history.ts";
import { Ledger } from "./ledger/ledger.ts";
import { recover } from "./ledger/recovery.ts";
import { RunOwners } from "./ledger/run-owners.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Parts } from "./parts.ts";
import { createPolicy } from "./policy/decide.ts";
import { openControls } from "./policy/durable-controls.ts";
import { openGuardrails } from "./policy/guardrails.ts";
import { PolicyDesk } from "./policy-desk.ts";
import { openArtifacts } from "./results/open-artifacts.ts";
import { RunningRuntime } from "./running.ts";
import { environmentSecrets } from "./secrets/env-secrets.ts";
import { learnNamed } from "./secrets/lend.ts";
import { createRedactor } from "./secrets/redactor.ts";
import { openSecondLayer } from "./secrets/second-layer.ts";
import { MapStore } from "./stores/map-store.ts";
import { openSqliteStore } from "./stores/sqlite/sqlite-store.ts";
import type { Spell, Store } from "./stores/store.ts";
import { tellIndexed } from "./tools/builtin/skills/indexed.ts";
import type { SkillsHouse } from "./tools/builtin/skills/library.ts";
import { openSkills } from "./tools/builtin/skills/open-skills.ts";
import type { Skills } from "./tools/builtin/skills/skills.ts";
import type { AnyTool } from "./tools/kinds.ts";
import { Registry } from "./tools/registry.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import { openPins, type Pins } from "./tools/upstream/pins.ts";
import type { ServerConfig } from "./tools/upstream/server-config.ts";
import type { Servers } from "./tools/upstream/servers.ts";
import type { ArchiveOptions } from "./watchers/archive/archive.ts";
import type { Runs } from "./watchers/archive/runs.ts";
import { hooksWatcher } from "./watchers/hooks.ts";
import { stormAlarm } from "./watchers/storm-alarm.ts";
import { createStream, type Stream } from "./watchers/stream.ts";

/** What `createRuntime` (create.ts) loads and calls: options that were checked become a runtime, or nothing is half started. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { clock = new SystemClock(), folder = folderBeside(options.store), log: tell = logNothing } = options;
  const closing = new AsyncDisposableStack();
  try {
    const exact = options.redactor ?? createRedactor();
    const log = (problem: string): void => tell(secondLayer.written.redact(problem));
    const secondLayer = await openSecondLayer(exact, options.secretPatterns ?? "mark", log);
    const redactor = secondLayer.answers;
    const store = closing.use(
      await openStore(options.store ?? "sqlite::memory:", clock, secondLayer.watched(spellWith), log),
    );
    await recover(store, clock);
    const signer = folder === undefined ? createSigner() : await loadSigner(folder);
    const audit = closing.use(
      await openAuditLog({
        store,
        clock,
        signer,
        log,
        ...(folder !== undefined && { anchorFile: join(folder, "audit.anchors") }),
      }),
    );
    const stream = createStream(log);
    if (options.hooks !== undefined) stream.watch(hooksWatcher(options.hooks));
    stream.watch(secondLayer.watcher);
    closing.use(secondLayer);
    closing.use(
      store.follow((entries) => {
        for (const { event } of entries) if (event !== undefined) stream.announce(event);
      }),
    );
    const { policy: given } = options;
    const policy =
      given !== undefined && "decide" in given
        ? given
        : createPolicy({
            ...(options.limits?.maxRiskUnapproved !== undefined && {
              maxRiskUnapproved: options.limits.maxRiskUnapproved,
            }),
            ...given,
          });
    const guardrails = await openGuardrails(options.guardrails ?? []);
    const controls = await openControls({
      store,
      clock,
      policyVersion: policy.version,
      ...(options.autonomy !== undefined && { autonomy: options.autonomy }),
      log,
    });
    const tools = closing.use(new Registry({ clock, switches: () => controls.state }));
    const keep = { store, clock, policyVersion: policy.version };
    const skills = await skillsOf(options.skills, { keep, tools: () => tools.names(), log });
    const pins = await openPins({ store, clock, policyVersion: policy.version, redactor, log });
    const { shelf: artifacts, sweeper } = await openArtifacts({
      folder,
      retentionDays: options.results?.retentionDays,
      needed: (digests) => store.needed(digests),
      clock,
      log,
    });
    closing.use(sweeper);
    const book = closing.use(
      new Book({ store, clock, ttlMs: options.approvals?.ttlMs ?? 3_600_000, policyVersion: policy.version, log }),
    );
    await book.watchOpen();
    const parts: Parts & { readonly tools: Registry } = {
      tools,
      controls,
      artifacts,
      redactor,
      book,
      clock,
      log,
      policy,
      guardrails,
      skills,
      runs: new RunOwners({ store, clock, policyVersion: policy.version }),
      ledger: new Ledger(store, clock, policy.version, {
        durability: options.durability === "strict" ? "synced" : "committed",
        history: policy.reads && new HistoryBook(policy.reads, store, clock, knownIn(tools)),
      }),
      secrets: options.secrets ?? environmentSecrets({ redactor }),
      announce: (event) => running.announce(event),
      preview: (call, caller) => preview(call, caller, parts),
      consult: options.approvals?.approver && ((approval) => running.approvals.consult(approval)),
      executor: { carryOut: (call, caller) => carryOut(call, caller, parts) },
      child: (parent, position, request, caller) => running.child(parent, position, request, caller),
    };
    const limits = checkedLimits({ ...directLimits, ...options.limits });
    const { approver, separateUser = false } = options.approvals ?? {};
    const patience = options.approvals?.patience ?? (approver === undefined ? "deny" : "wait");
    const running = new RunningRuntime({
      parts,
      controls,
      store,
      audit,
      tools,
      pins,
      policy: new PolicyDesk({ parts, store, skills, given, limits }),
      skills,
      stream,
      limits,
      patience,
      approver,
      separateUser,
      closing,
    });
    stream.watch(stormAlarm(clock, (type, summary, more) => running.note(type, summary, more), log));
    secondLayer.tellBy((type, summary, more) => running.note(type, summary, more));
    if (options.archive !== undefined) {
      const archive = { ...options.archive, artifacts, audit, clock, log, stream, closing };
      running.archiveWith(await openArchive(archive, running, { ...parts, redactor: secondLayer.written }));
    }
    register(options.tools ?? [], tools);
    register(skills?.tools ?? [], tools);
    if (skills !== undefined) await tellIndexed(skills, keep, log);
    await tools.ready(); // a schema that cannot be used is said now, not at the first call
    if (options.servers !== undefined)
      running.serve(await connect(options.servers, running, { ...parts, pins, store }));
    return running;
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

function knownIn(tools: Registry): KnownTool {
  return (tool, action) => {
    const found = tools.find(tool, action);
    if (found === undefined) return undefined;
    const targetOf = (given: JsonObject): string | undefined => {
      try {
        const said = found.classifyRisk?.(given);
        return typeof said === "object" ? said.target : undefined;
      } catch {
        return undefined; // a tool's own look at an old call decides nothing
      }
    };
    return { facts: found.facts, targetOf };
  };
}

async function skillsOf(given: RuntimeOptions["skills"], house: SkillsHouse): Promise<Skills | undefined> {
  return given === undefined || "activeFor" in given ? given : openSkills(given, house);
}

/** A plain list and a box end identical (SPEC 4.2); a box may get more tools later, and a duplicate is refused (D12). */
function register(given: readonly AnyTool[] | Toolbox, registry: Registry): void {
  const tools = "all" in given ? given.all() : given;
  for (const tool of tools) registry.register(tool);
  if ("all" in given) given.follow((tool) => void registry.register(tool));
}

/** The SDK is loaded only where a server is configured. */
async function connect(
  servers: Readonly<Record<string, ServerConfig>>,
  running: RunningRuntime,
  parts: Parts & { readonly tools: Registry; readonly pins: Pins; readonly store: Store },
): Promise<Servers> {
  const [{ connectServers }, { Revisions }] = await Promise.all([
    import("./tools/upstream/servers.ts"),
    import("./tools/upstream/revisions.ts"),
  ]);
  return connectServers(servers, {
    registry: parts.tools,
    pins: parts.pins,
    revisions: new Revisions(parts.store, parts.clock),
    clock: parts.clock,
    note: (type, summary, data) => running.note(type, summary, { data }),
    redact: (text) => parts.redactor.redact(text),
    resolveSecret: async (connector, key) => {
      const value = (await parts.secrets.get(connector, key)).reveal();
      learnNamed(parts.redactor, value, `${connector}/${key}`); // whatever store it comes from
      return value;
    },
  });
}

/** Closed before the log is, which every run is sealed in. */
async function openArchive(
  {
    stream,
    closing,
    ...options
  }: Pick<ArchiveOptions, "artifacts" | "audit" | "clock" | "config" | "folder" | "log"> & {
    readonly stream: Stream;
    readonly closing: AsyncDisposableStack;
  },
  running: RunningRuntime,
  { redactor }: Parts,
): Promise<Runs> {
  const [{ Archive }, { RunsFace }, { describeOutcome }] = await Promise.all([
    import("./watchers/archive/archive.ts"),
    import("./watchers/archive/face.ts"),
    import("./results/describe-outcome.ts"),
  ]);
  const redact = (text: string): string => redactor.redact(text);
  const archive = closing.use(
    await Archive.open({
      ...options,
      follow: (watcher) => stream.watch(watcher),
      redact,
      summarize: describeOutcome,
      note: (type, summary, more) => running.note(type, summary, more),
    }),
  );
  return new RunsFace({ archive, audit: options.audit, redact });
}

async function openStore(
  store: string | Store,
  clock: Clock,
  spell: Spell,
  log: (problem: string) => void,
): Promise<Store> {
  if (typeof store !== "string") return store;
  if (store === "memory") return new MapStore({ clock, spell });
  if (store.startsWith("sqlite:"))
    return openSqliteStore({ location: store.slice("sqlite:".length), clock, spell, log });
  throw new RuntimeFault(
    "store_unknown",
    `\`${store}\` names no store; use "sqlite:FILE", "sqlite::memory:" or "memory".`,
  );
}

/** What a file refers to must outlive the process as it does. */
function folderBeside(store: string | Store | undefined): string | undefined {
  if (typeof store !== "string" || !store.startsWith("sqlite:") || store === "sqlite::memory:") return undefined;
  return `${store.slice("sqlite:".length)}-files`;
}

function logNothing(): void {}
