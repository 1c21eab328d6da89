/** The only file that knows every part. It wires and decides nothing. */
import { join } from "node:path";
import { Book } from "./approvals/book.ts";
import { openAuditLog } from "./audit/audit-log.ts";
import { spellWith } from "./audit/entry.ts";
import { createSigner, loadSigner } from "./audit/signer.ts";
import { type Clock, SystemClock } from "./calls/clock.ts";
import { RuntimeFault } from "./calls/fault.ts";
import { checkedLimits, directLimits } from "./calls/session.ts";
import { preview } from "./executors/preview.ts";
import type { Runtime } from "./face.ts";
import { carryOut } from "./invoke.ts";
import { Ledger } from "./ledger/ledger.ts";
import { recover } from "./ledger/recovery.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Parts } from "./parts.ts";
import { createPolicy } from "./policy/decide.ts";
import { openControls } from "./policy/durable-controls.ts";
import type { ArtifactStore } from "./results/artifact-store.ts";
import { openFolderArtifacts } from "./results/folder-artifacts.ts";
import { memoryArtifacts } from "./results/memory-artifacts.ts";
import { RunningRuntime } from "./running.ts";
import { environmentSecrets } from "./secrets/env-secrets.ts";
import { learnNamed } from "./secrets/lend.ts";
import { createRedactor } from "./secrets/redactor.ts";
import { MapStore } from "./stores/map-store.ts";
import { openSqliteStore } from "./stores/sqlite/sqlite-store.ts";
import type { Spell, Store } from "./stores/store.ts";
import type { AnyTool } from "./tools/kinds.ts";
import { Registry } from "./tools/registry.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import type { ServerConfig } from "./tools/upstream/server-config.ts";
import type { Servers } from "./tools/upstream/servers.ts";
import { hooksWatcher } from "./watchers/hooks.ts";
import { createStream } from "./watchers/stream.ts";

/** What `createRuntime` (create.ts) loads and calls: options that were checked become a runtime, or nothing is half started. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { clock = new SystemClock(), folder = folderBeside(options.store), log = logNothing } = options;
  const closing = new AsyncDisposableStack();
  try {
    const redactor = options.redactor ?? createRedactor();
    const store = closing.use(
      await openStore(
        options.store ?? "sqlite::memory:",
        clock,
        spellWith((text) => redactor.redact(text)),
        log,
      ),
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
    closing.use(
      store.follow((entries) => {
        for (const { event } of entries) if (event !== undefined) stream.announce(event);
      }),
    );
    const controls = await openControls({
      store,
      clock,
      ...(options.autonomy !== undefined && { autonomy: options.autonomy }),
      log,
    });
    const tools = closing.use(new Registry({ clock, switches: () => controls.state }));
    const artifacts: ArtifactStore =
      folder === undefined
        ? memoryArtifacts()
        : await openFolderArtifacts({ folder: join(folder, "artifacts"), clock });
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
      ledger: new Ledger(store, clock, policy.version, options.durability === "strict" ? "synced" : "committed"),
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
      stream,
      limits,
      patience,
      approver,
      separateUser,
      closing,
    });
    register(options.tools ?? [], tools);
    await tools.ready(); // a schema that cannot be used is said now, not at the first call
    if (options.servers !== undefined) running.serve(await connect(options.servers, running, parts));
    return running;
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
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
  parts: Parts & { readonly tools: Registry },
): Promise<Servers> {
  const { connectServers } = await import("./tools/upstream/servers.ts");
  return connectServers(servers, {
    registry: parts.tools,
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
