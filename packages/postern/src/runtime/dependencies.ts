/** The parts that the gates need: tools, policy, ledger, artifacts, accounts, approvals, secrets. */

import type { CallRecord, JsonObject } from "@postern/core";
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
import { CurrentPolicy, openPolicySet } from "../policy/current-policy.ts";
import { openControls } from "../policy/durable-controls.ts";
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
  const policy = new CurrentPolicy(await openPolicySet(options, options.limits?.maxRiskUnapproved));
  const keep = { store, clock, policy };
  const registry = closing.use(new Registry({ clock, switches: () => controls.state }));
  const tools = internalsOf(registry);
  const changedElsewhere = () => tools.changedElsewhere("switches");
  const controls = await openControls({ ...keep, autonomy: () => policy.now.autonomy, log, changedElsewhere });
  const accounts = await openAccounts({ ...keep, ...options.accounts });
  const keepSkills = { ...keep, changedElsewhere: () => tools.changedElsewhere("skills") };
  const skills = await skillsOf(options.skills, { keep: keepSkills, tools: () => registry.names(), log });
  const redactor = base.secondLayer.answers;
  const pins = await openPins({ ...keep, redactor, log });
  const artifacts = await artifactsOf(options, base, closing);
  const definitionOf = (tool: string, action: string) => tools.find(tool, action)?.definition;
  const runs = new RunOwners(keep);
  const asked = { ...options.approvals, ...keep, people: accounts, definitionOf, log, closing };
  const parts: FixedParts = {
    ...{ tools, controls, artifacts, redactor, clock, log, policy, skills },
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

async function artifactsOf(
  { results, artifacts }: RuntimeOptions,
  { artifactFolder, store, clock, log, copying }: RuntimeBase,
  closing: AsyncDisposableStack,
): Promise<Parts["artifacts"]> {
  if (artifacts === false) return noArtifacts;
  if (artifacts !== undefined) return completeStore(artifacts);
  const needed: typeof store.needed = async (digests) => (copying.now ? new Set(digests) : store.needed(digests));
  const { retentionDays } = results ?? {};
  return openArtifacts({ folder: artifactFolder, retentionDays, needed, store, clock, log }, closing);
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
  const known = knownIn(tools);
  return new Ledger(store, clock, policy, {
    durability: durability === "strict" ? "synced" : "committed",
    history: new CallHistory({ runs, reads: () => policy.now.policy.reads, store, clock, known, argumentsOf }),
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
