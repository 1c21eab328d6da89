/** The parts that the gates need: tools, policy, ledger, artifacts, accounts, approvals, secrets. */

import { type CallRecord, defined, type JsonObject } from "@postern/core";
import { openApprovals } from "../approvals/open-approvals.ts";
import type { SkillsContext } from "../builtin/skills/library.ts";
import { openSkills } from "../builtin/skills/open-skills.ts";
import type { Skills } from "../builtin/skills/skills.ts";
import { finalArguments } from "../call/ran-with.ts";
import type { Accounts } from "../identity/accounts.ts";
import { openAccounts } from "../identity/open-accounts.ts";
import { openPins, type Pins } from "../mcp/client/pins.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { resolvedRecord } from "../pipeline/gates/references.ts";
import { CallHistory, type KnownTool } from "../pipeline/history.ts";
import { Ledger } from "../pipeline/ledger.ts";
import { RepeatedRefusals } from "../pipeline/repeated-refusals.ts";
import { RunOwners } from "../pipeline/run-owners.ts";
import type { Controls } from "../policy/controls.ts";
import { createPolicy } from "../policy/decide.ts";
import { openControls } from "../policy/durable-controls.ts";
import { openGuardrails } from "../policy/guardrails/guardrails.ts";
import { ownPolicy } from "../policy/own-policy.ts";
import type { Policy } from "../policy/policy.ts";
import { withThreshold } from "../policy/risk/threshold.ts";
import { openArtifacts } from "../results/open-artifacts.ts";
import { completeStore, noArtifacts } from "../results/own-artifacts.ts";
import { environmentSecrets } from "../secrets/backend.ts";
import { internalsOf, type RegisteredTools, Registry } from "../tools/registry.ts";
import type { RuntimeBase } from "./base.ts";
import type { RuntimeOptions } from "./options/options.ts";

/** The parts that do not need the path of a call. */
type FixedParts = Omit<
  Parts,
  "announce" | "listen" | "visible" | "preview" | "consult" | "executor" | "child" | "within"
>;

export interface RuntimeDependencies {
  readonly parts: FixedParts;
  readonly registry: Registry;
  readonly controls: Controls;
  readonly accounts: Accounts;
  readonly skills: Skills | undefined;
  readonly pins: Pins;
}

export async function openDependencies(
  options: RuntimeOptions,
  base: RuntimeBase,
  closing: AsyncDisposableStack,
): Promise<RuntimeDependencies> {
  const { store, clock, log } = base;
  const policy = policyOf(options);
  const keep = { store, clock, policyVersion: policy.version };
  const guardrails = await openGuardrails(options.guardrails ?? []);
  const { autonomy } = options;
  const controls = await openControls({ ...keep, ...defined({ autonomy }), log });
  const registry = closing.use(new Registry({ clock, switches: () => controls.state }));
  const tools = internalsOf(registry);
  base.stream.watch(registry.statistics.see);
  const accounts = await openAccounts({ ...keep, ...options.accounts });
  const skills = await skillsOf(options.skills, { keep, tools: () => registry.names(), log });
  const redactor = base.secondLayer.answers;
  const pins = await openPins({ ...keep, redactor, log });
  const artifacts = await artifactsOf(options, base, closing);
  const definitionOf = (tool: string, action: string) => tools.find(tool, action)?.definition;
  const runs = new RunOwners(keep);
  const asked = { ...options.approvals, ...keep, people: accounts, definitionOf, log, closing };
  const parts: FixedParts = {
    ...{ tools, controls, artifacts, redactor, clock, log, policy, guardrails, skills },
    ...(await openApprovals(asked)),
    answerBytes: options.results?.maxBytes,
    artifactBytes: options.results?.maxArtifactBytes,
    runs,
    repeated: closing.use(new RepeatedRefusals({ ...keep, log })),
    ledger: ledgerOf(options, { policy, tools, artifacts, runs }, base),
    secrets: options.secrets ?? environmentSecrets({ redactor }),
  };
  return { parts, registry, controls, accounts, skills, pins };
}

function policyOf({ policy, limits }: RuntimeOptions): Policy {
  if (policy !== undefined && "decide" in policy) return ownPolicy(policy);
  return createPolicy(withThreshold(policy ?? {}, limits?.maxRiskUnapproved));
}

async function artifactsOf(
  { results, artifacts }: RuntimeOptions,
  { folder, store, clock, log }: RuntimeBase,
  closing: AsyncDisposableStack,
): Promise<Parts["artifacts"]> {
  if (artifacts === false) return noArtifacts;
  if (artifacts !== undefined) return completeStore(artifacts);
  const needed: typeof store.needed = (digests) => store.needed(digests);
  const { store: kept, sweeper } = await openArtifacts({
    folder,
    retentionDays: results?.retentionDays,
    needed,
    clock,
    log,
  });
  closing.use(sweeper);
  return kept;
}

function ledgerOf(
  { durability }: RuntimeOptions,
  {
    policy,
    tools,
    artifacts,
    runs,
  }: Pick<Parts, "policy" | "artifacts" | "runs"> & { readonly tools: RegisteredTools },
  { store, clock }: RuntimeBase,
): Ledger {
  const argumentsOf = async (record: CallRecord): Promise<JsonObject> =>
    resolvedRecord({ ...record.call, arguments: await finalArguments(record, store) }, artifacts);
  const { reads } = policy;
  const known = knownIn(tools);
  return new Ledger(store, clock, policy.version, {
    durability: durability === "strict" ? "synced" : "committed",
    history: reads && new CallHistory({ runs, reads, store, clock, known, argumentsOf }),
  });
}

function knownIn(tools: RegisteredTools): KnownTool {
  return (tool, action) => {
    const found = tools.find(tool, action);
    if (found === undefined) return undefined;
    const targetOf = (given: JsonObject): string | undefined => {
      try {
        const suggested = found.classifyRisk?.(given);
        return typeof suggested === "object" ? suggested.target : undefined;
      } catch {
        return undefined; // a failure here concerns an old call and decides nothing
      }
    };
    return { facts: found.facts, targetOf };
  };
}

async function skillsOf(given: RuntimeOptions["skills"], context: SkillsContext): Promise<Skills | undefined> {
  return given === undefined || "activeFor" in given ? given : openSkills(given, context);
}
