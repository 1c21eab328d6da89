/** The only file that knows every part. It wires and decides nothing. */
import { join } from "node:path";
import { openAccounts } from "./accounts/open-accounts.ts";
import { hearAltered, hearVerification, openAlarmHouse, secretAlarms } from "./alarms/open-alarms.ts";
import { openApprovals } from "./approvals/open-approvals.ts";
import { openAuditLog } from "./audit/audit-log.ts";
import { spellWith } from "./audit/entry.ts";
import { paceOf } from "./audit/recheck.ts";
import { createSigner, loadSigner } from "./audit/signer.ts";
import { SystemClock } from "./calls/clock.ts";
import type { JsonObject } from "./calls/json.ts";
import { checkedLimits, directLimits, limitsWarning } from "./calls/session.ts";
import { preview } from "./executors/preview.ts";
import type { Runtime } from "./face.ts";
import { carryOut, invoke } from "./invoke.ts";
import { HistoryBook, type KnownTool } from "./ledger/history.ts";
import { Ledger } from "./ledger/ledger.ts";
import { recover } from "./ledger/recovery.ts";
import { RunOwners } from "./ledger/run-owners.ts";
import { connect, openArchive, openChannelsIn } from "./on-demand.ts";
import { folderBeside, openStore } from "./open-store.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Parts } from "./parts.ts";
import { createPolicy } from "./policy/decide.ts";
import { openControls } from "./policy/durable-controls.ts";
import { openGuardrails } from "./policy/guardrails.ts";
import { ownPolicy } from "./policy/own-policy.ts";
import { PolicyDesk } from "./policy-desk.ts";
import { openArtifacts } from "./results/open-artifacts.ts";
import { revealer } from "./reveal.ts";
import { RunningRuntime } from "./running.ts";
import { environmentSecrets } from "./secrets/env-secrets.ts";
import { redactJson } from "./secrets/redact-json.ts";
import { createRedactor } from "./secrets/redactor.ts";
import { openSecondLayer } from "./secrets/second-layer.ts";
import { tellIndexed } from "./tools/builtin/skills/indexed.ts";
import type { SkillsHouse } from "./tools/builtin/skills/library.ts";
import { openSkills } from "./tools/builtin/skills/open-skills.ts";
import type { Skills } from "./tools/builtin/skills/skills.ts";
import type { AnyTool } from "./tools/kinds.ts";
import { Registry } from "./tools/registry.ts";
import { takeTools } from "./tools/sets/toolset.ts";
import { openPins } from "./tools/upstream/pins.ts";
import { hooksWatcher } from "./watchers/hooks.ts";
import { LiveFeed } from "./watchers/live-feed.ts";
import { createStream } from "./watchers/stream.ts";

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
    const pace = paceOf(options.audit?.recheck ?? {}, folderBeside(options.store) !== undefined);
    const auditProblems: string[] = [];
    const audit = closing.use(
      await openAuditLog({
        ...{ store, clock, signer },
        log: (problem) => {
          auditProblems.push(problem);
          log(problem);
        },
        verified: (found) => hearVerification(alarms, found),
        recheck: pace && { ...pace, altered: (found) => hearAltered(alarms, found, log) },
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
        ? ownPolicy(given)
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
    stream.watch(tools.statistics.see);
    const keep = { store, clock, policyVersion: policy.version };
    const accounts = await openAccounts({ ...keep, ...options.accounts });
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
    const definitionOf = (tool: string, action: string) => tools.find(tool, action)?.definition;
    const approvals = await openApprovals({
      ...options.approvals,
      ...keep,
      people: accounts,
      definitionOf,
      log,
      closing,
    });
    const parts: Parts & { readonly tools: Registry } = {
      tools,
      controls,
      artifacts,
      answerBytes: options.results?.maxBytes,
      redactor,
      ...approvals,
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
      visible: ({ authority: { principal, runId } }) => running.visible(principal, runId),
      preview: (call, caller) => preview(call, caller, parts),
      consult: options.approvals?.approver && ((approval) => running.approvals.consult(approval)),
      executor: { carryOut: (call, caller) => carryOut(call, caller, parts) },
      child: (parent, position, request, caller) => invoke(running.child(parent, position, request), caller, parts),
    };
    const alarms = await openAlarmHouse({
      ...{ store, clock, log, closing, policyVersion: policy.version, auditProblems },
      redact: (text) => secondLayer.written.redact(text),
      watch: (watcher) => stream.watch(watcher),
      urgent: (type, summary) => void running.channels?.urgent(type, summary),
      tokens: () => accounts.listTokens({ by: "postern", via: "postern" }),
    });
    const limits = checkedLimits({ ...directLimits, ...options.limits });
    const warning = limitsWarning(limits);
    if (warning !== undefined) log(warning);
    const { approver } = options.approvals ?? {};
    const patience = options.approvals?.patience ?? (approver === undefined ? "deny" : "wait");
    const running = new RunningRuntime({
      parts,
      ...{ controls, accounts },
      store,
      audit,
      tools,
      pins,
      policy: new PolicyDesk({ parts, store, skills, given, limits }),
      skills,
      stream,
      alarms,
      channels: await openChannelsIn(options.channels, closing, {
        ...{ store, clock, log, people: accounts, size: () => audit.size },
        note: (type, summary, outcome, data) => running.note(type, summary, { outcome, data }),
        redact: (value) => redactJson(value, secondLayer.written),
        resolveSecret: revealer(parts),
        approval: (id) => parts.book.get(id),
        decide: (id, request) => running.approvals.decide(id, request),
      }),
      feed: closing.use(
        new LiveFeed({
          ...{ store, clock, log },
          watch: (watcher) => stream.watch(watcher),
          size: () => audit.size,
          redact: (text) => secondLayer.written.redact(text),
        }),
      ),
      limits,
      patience,
      approver,
      closing,
    });
    secondLayer.tellBy(secretAlarms(alarms, (type, summary, more) => running.note(type, summary, more)));
    if (options.archive !== undefined) {
      const archive = { ...options.archive, artifacts, audit, clock, log, stream, closing };
      running.runs = await openArchive(archive, running, { ...parts, redactor: secondLayer.written });
    }
    const register = (tool: AnyTool): void => void tools.register(tool); // a list and a box end identical (SPEC 4.2, D12)
    takeTools(options.tools ?? [], register);
    takeTools(skills?.tools ?? [], register);
    if (skills !== undefined) await tellIndexed(skills, keep, log);
    if (options.chains !== undefined) {
      const { openChains } = await import("./chains/chains.ts");
      running.chains = await openChains(options.chains, { parts, store, running, folder, closing });
      takeTools(running.chains.tools, register);
    }
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

function logNothing(): void {}
