/** The policy in force, and comparisons with other policies: effective, simulated and expected decisions. Runs and writes nothing. */

import { setImmediate } from "node:timers/promises";
import {
  type Actor,
  autonomies,
  type CallRecord,
  type CallState,
  checkActorFields,
  checkId,
  checkMember,
  checkMembers,
  defined,
  type JsonObject,
  type Kind,
  RuntimeFault,
  risks,
} from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { AuditLog } from "../../audit/log.ts";
import type { Skills } from "../../builtin/skills/skills.ts";
import { checkPrincipal } from "../../call/authority.ts";
import { finalArguments } from "../../call/ran-with.ts";
import type { Limits } from "../../call/session.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { type Explanation, explainRecorded } from "../../pipeline/explain.ts";
import { resolvedRecord } from "../../pipeline/gates/references.ts";
import { suggestionOf } from "../../pipeline/gates/verdict.ts";
import { isFromOutside } from "../../pipeline/scoped-history.ts";
import { openPolicySet } from "../../policy/current-policy.ts";
import { createPolicy, type PolicyOptions } from "../../policy/decide.ts";
import type { EffectivePolicy, PastCall, Policy } from "../../policy/policy.ts";
import { policyChanges } from "../../policy/report/changes.ts";
import { checkExpectations, type FindTool } from "../../policy/report/expectations.ts";
import { groupsOf, type RecordedCall, replay, type VerdictChange } from "../../policy/report/simulate.ts";
import type { PolicyWarning } from "../../policy/report/unmatched.ts";
import { policyWarnings } from "../../policy/report/warnings.ts";
import { withThreshold } from "../../policy/risk/threshold.ts";
import type { PolicyDifference, ReplacePolicy } from "../../policy/shared-policy.ts";
import type { Store } from "../../store/store.ts";
import { internalsOf, type Registry } from "../../tools/registry.ts";
import type { Runtime } from "../api/api.ts";
import type { PolicyApi, PolicyReplaced, PolicyReplacement, SimulateFilter, Simulation } from "../api/policy-api.ts";
import { type Configured, knownNames, type ListedBy, unmatchedNames } from "../options/configured-names.ts";

export interface PolicyServiceOptions {
  readonly parts: Parts;
  readonly tools: Registry;
  readonly store: Pick<Store, "approval" | "call" | "calls">;
  readonly audit: Pick<AuditLog, "query">;
  readonly skills: Skills | undefined;
  readonly note: Runtime["note"];
  readonly limits: Pick<Limits, "maxRiskUnapproved">;
  /** Other options that name tools and servers. */
  readonly configured: Omit<Configured, "guardrails">;
  readonly listedBy: ListedBy;
}

const request = { code: "request_invalid" } as const;
const ofQuery: Readonly<Record<keyof NonNullable<Parameters<PolicyApi["effective"]>[0]>, Kind>> = {
  principal: "an object",
  runId: "a text",
  scopes: "a list of texts",
  autonomy: autonomies,
  maxRiskUnapproved: risks,
};
const ofReplayed: Readonly<Record<keyof SimulateFilter, Kind>> = {
  tenant: "a text",
  tool: "a text",
  runId: "a text",
  limit: "a number",
};

const ofReplacement: Readonly<Record<keyof PolicyReplacement, Kind>> = {
  policy: "an object",
  guardrails: "a list of objects",
  autonomy: autonomies,
};

const pageRows = 1_000;
/** After this many calls, live calls of this process get a turn. */
const callsATurn = 50;
const mostReplayed = 10_000;
/** The most additional rows that are read as the past of the replayed calls. */
const mostPast = 20_000;
/** The longest life of an approval. An older call cannot have begun inside the window. */
const longestHeldMs = 31 * 86_400_000;

export class PolicyService implements PolicyApi {
  readonly #options: PolicyServiceOptions;
  /** Replacements run one after another, because each is compared with the policy that the last one left. */
  #replacing: Promise<unknown> = Promise.resolve();

  constructor(options: PolicyServiceOptions) {
    this.#options = options;
  }

  get version(): string {
    return this.#options.parts.policy.version;
  }

  effective(query: Parameters<PolicyApi["effective"]>[0] = {}): EffectivePolicy | undefined {
    checkMembers(query, { ...request, what: "The query", members: ofQuery, of: "a policy" });
    if (query.principal !== undefined) checkPrincipal(query.principal);
    const { runId, ...asked } = query;
    const { parts, tools, skills, limits } = this.#options;
    const { principal = { tenant: "default", agent: "default" } } = asked;
    const { tenant, agent } = principal;
    const run = runId === undefined ? undefined : { tenant, runId, agent };
    const active = skills?.activeFor(tenant, runId ?? "", agent);
    const { autonomy = parts.controls.state.autonomy } = asked;
    return parts.policy.now.policy.effective?.(
      tools.offers().map(({ facts }) => facts),
      {
        ...(limits.maxRiskUnapproved !== undefined && { maxRiskUnapproved: limits.maxRiskUnapproved }),
        ...asked,
        principal,
        ...defined({ autonomy, skills: active }),
        requests: run === undefined ? allSkillRequests(skills) : (skills?.requests(run) ?? []),
      },
    );
  }

  warnings(policy?: PolicyOptions): readonly PolicyWarning[] {
    const { tools, parts, listedBy } = this.#options;
    const { given, givenGuardrails: guardrails } = parts.policy.now;
    const checkedPolicy = policy === undefined ? given : checked(policy);
    const configured = { ...this.#options.configured, guardrails };
    const known = knownNames(
      tools.offers().map(({ facts }) => facts),
      configured,
      listedBy,
    );
    const others = unmatchedNames(configured, known, listedBy);
    if ("decide" in checkedPolicy) return others; // a policy of the application: its rules are unknown
    return [...policyWarnings(checkedPolicy, known.tools, known.awaited), ...others];
  }

  async explainCall(callId: string): Promise<Explanation | undefined> {
    checkId(callId, "call");
    const record = await this.#options.store.call({ key: callId });
    return record && explainRecorded(record, this.#options.parts, this.#options.audit);
  }

  async simulate(policy: PolicyOptions | Policy, where: SimulateFilter = {}): Promise<Simulation> {
    checkMembers(where, { ...request, what: "The filter", members: ofReplayed, of: "recorded calls" });
    const before = this.#options.parts.policy.now.policy;
    const after = this.#policyFrom(policy);
    const waiting = await this.#waiting(where);
    const waitingIds = new Set(waiting.calls.map(({ id }) => id));
    const { rows, pastIsCut } = await this.#rows(where, longestLookBack([before, after]));
    const unknownTools = new Map<string, number>();
    const calls: RecordedCall[] = [];
    for (const { row, isPast } of rows) {
      if (waitingIds.has(row.call.id)) continue;
      const call = await this.#recorded(row, isPast);
      if (call !== undefined) calls.push(call);
      else if (!isPast) unknownTools.set(row.call.tool, (unknownTools.get(row.call.tool) ?? 0) + 1);
    }
    const inOrder = calls.toSorted((one, other) => one.facts.now - other.facts.now);
    const all = await changesIn([...inOrder, ...waiting.calls], { before, after });
    const changes = all.filter(({ approvalId }) => approvalId === undefined);
    const ofWaiting = all.filter(({ approvalId }) => approvalId !== undefined);
    return {
      before: before.version,
      after: after.version,
      replayed: calls.filter(({ isPast }) => !isPast).length,
      unknownTools: Object.fromEntries(unknownTools),
      pastIsCut,
      changes,
      groups: groupsOf(changes),
      waiting: { requests: waiting.calls.length, isCut: waiting.isCut, groups: groupsOf(ofWaiting) },
    };
  }

  test(...[policy, expectations, autonomy]: Parameters<PolicyApi["test"]>): ReturnType<PolicyApi["test"]> {
    checkMember("expectations", expectations, "a list of objects", "policy_invalid");
    const { parts, limits } = this.#options;
    const tools: FindTool = (tool, action) => {
      const found = parts.tools.find(tool, action);
      const suggest = (given: JsonObject) => found && suggestionOf(found, given, parts.redactor);
      return found && { facts: found.facts, suggest };
    };
    return checkExpectations(expectations, this.#policyFrom(policy), {
      tools,
      names: this.#options.tools.names(),
      autonomy: autonomy ?? parts.controls.state.autonomy,
      maxRiskUnapproved: limits.maxRiskUnapproved,
    });
  }

  async replace(
    next: PolicyReplacement,
    by: Actor,
    more: { readonly reason?: string; readonly source?: string } = {},
  ): Promise<PolicyReplaced> {
    checkActorFields(by, "request_invalid");
    const { reason, source } = more;
    return PolicyService.replaceWhen(this, next, async ({ before, after, changes }) => {
      const [first, ...others] = changes;
      if (first === undefined) return true;
      const summary = `Another policy is in force: ${first}${others.length > 0 ? ` And ${others.length} more.` : ""}`;
      await this.#options.note("operator.action.policy_replaced", summary, {
        ...{ by: by.by, via: by.via, ...defined({ tenant: by.tenant }), outcome: "success" },
        data: { before, after, changes, ...defined({ file: source, reason }) },
      });
      return true;
    });
  }

  async compare(next: PolicyReplacement): Promise<PolicyReplaced> {
    return PolicyService.replaceWhen(this, next, async () => false);
  }

  /** Puts another policy in force when `record` has written it down. Not a verb of the runtime, which records each change. */
  static replaceWhen(service: PolicyService, ...[next, record]: Parameters<ReplacePolicy>): Promise<PolicyDifference> {
    const replaced = service.#replacing.then(() => service.#replaceWhen(next, record));
    service.#replacing = replaced.catch(() => undefined); // the caller gets the error
    return replaced;
  }

  /** What is recorded is in force: nothing waits between the two. */
  async #replaceWhen(...[next, record]: Parameters<ReplacePolicy>): Promise<PolicyDifference> {
    const what = {
      code: "policy_invalid",
      what: "The new policy",
      members: ofReplacement,
      of: "a policy in force",
    } as const;
    checkMembers(next, what);
    const { parts, limits, tools } = this.#options;
    const { now } = parts.policy;
    const { policy = now.given, guardrails = now.givenGuardrails, autonomy = now.autonomy } = next;
    const made = await openPolicySet({ policy, guardrails, autonomy }, limits.maxRiskUnapproved);
    const changes = policyChanges(now, made).map((change) => parts.redactor.redact(change));
    const difference = { before: now.policy.version, after: made.policy.version, changes };
    if (!(await record(difference))) return difference;
    parts.policy.replace(made);
    internalsOf(tools).policyReplaced(difference.after);
    return difference;
  }

  /** @throws RuntimeFault `policy_invalid` */
  #policyFrom(policy: PolicyOptions | Policy): Policy {
    checked(policy);
    if ("decide" in policy) return policy;
    return createPolicy(withThreshold(policy, this.#options.limits.maxRiskUnapproved));
  }

  /** Oldest first. A call that is held and does not wait has an answer already, or none came in time. */
  async #waiting({ tenant, tool, runId }: SimulateFilter): Promise<{ calls: readonly RecordedCall[]; isCut: boolean }> {
    const { store, parts } = this.#options;
    const where = { state: "held", limit: pageRows, ...defined({ tenant, tool, runId }) } as const;
    const now = parts.clock.now();
    const calls: RecordedCall[] = [];
    for (let before: string | undefined; ; ) {
      const page = await store.calls(before === undefined ? where : { ...where, before });
      for (const row of page) {
        const approval = row.approvalId === undefined ? undefined : await store.approval(row.approvalId);
        if (approval?.state !== "pending" || approval.expiresAt <= now) continue;
        const call = await this.#recorded(row, false);
        if (call === undefined) continue;
        if (calls.length === mostReplayed) return { calls: calls.reverse(), isCut: true };
        calls.push({ ...call, approvalId: approval.id, facts: { ...call.facts, now } });
      }
      before = page.at(-1)?.call.id;
      if (page.length < pageRows) return { calls: calls.reverse(), isCut: false };
    }
  }

  /** Newest first, and after the last replayed call as far back as a rule reads. */
  async #rows(
    { tenant, tool, runId, limit = 1_000 }: SimulateFilter,
    windowMs: number | undefined,
  ): Promise<{ readonly rows: readonly { row: CallRecord; isPast: boolean }[]; readonly pastIsCut: boolean }> {
    if (!(Number.isSafeInteger(limit) && limit > 0 && limit <= mostReplayed))
      throw new RuntimeFault(
        "request_invalid",
        `\`limit\` is ${limit}; it must be a whole number from 1 to ${mostReplayed}.`,
      );
    const rows: { row: CallRecord; isPast: boolean }[] = [];
    const where = { limit: pageRows, ...defined({ tenant }) };
    let chosen = 0;
    let oldest = Number.POSITIVE_INFINITY;
    for (let before: string | undefined; ; ) {
      const page = await this.#options.store.calls(before === undefined ? where : { ...where, before });
      for (const row of page) {
        if (chosen === limit && row.call.arrivedAt < oldest - (windowMs ?? 0) - longestHeldMs)
          return { rows, pastIsCut: false };
        const isChosen =
          chosen < limit &&
          (tool === undefined || row.call.tool === tool) &&
          (runId === undefined || row.call.authority.runId === runId);
        if (isChosen) [chosen, oldest] = [chosen + 1, Math.min(oldest, beganAt(row))];
        if (isChosen || windowMs !== undefined) rows.push({ row, isPast: !isChosen });
      }
      before = page.at(-1)?.call.id;
      if (page.length < pageRows || (chosen === limit && windowMs === undefined)) return { rows, pastIsCut: false };
      if (rows.length >= chosen + mostPast) return { rows, pastIsCut: true };
    }
  }

  async #recorded(row: CallRecord, isPast: boolean): Promise<RecordedCall | undefined> {
    const { parts, store } = this.#options;
    const { call, state, outcome } = row;
    const found = parts.tools.find(call.tool, call.action);
    if (found === undefined) return undefined;
    await parts.runs.mayUse(call.authority); // loads the owner of the run, which decides what counts in it
    const ran = await finalArguments(row, store);
    const given = await resolvedRecord({ ...call, arguments: ran }, parts.artifacts);
    const { principal, scopes, autonomy, maxRiskUnapproved, runId } = call.authority;
    const ended = pastStates.get(state);
    return {
      id: call.id,
      runId,
      countedIn: parts.runs.countedIn(call.authority, beganAt(row)),
      isPast,
      risk: row.risk,
      isEdited: ran !== call.arguments && digestOf(ran) !== call.digest,
      facts: {
        ...{ tool: found.facts, principal, scopes, autonomy, maxRiskUnapproved, arguments: given },
        suggestion: suggestionOf(found, given, parts.redactor),
        now: beganAt(row),
      },
      ended:
        row.startedAt === undefined || ended === undefined
          ? undefined
          : { state: ended, at: row.endedAt, isFromOutside: isFromOutside(found.facts.openWorld, outcome) },
    };
  }
}

async function changesIn(...given: Parameters<typeof replay>): Promise<readonly VerdictChange[]> {
  const changes: VerdictChange[] = [];
  let steps = 0;
  for (const change of replay(...given)) {
    if (change !== undefined) changes.push(change);
    steps += 1;
    if (steps % callsATurn === 0) await setImmediate();
  }
  return changes;
}

const pastStates: ReadonlyMap<CallState, PastCall["state"]> = new Map([
  ["attempted", "attempted"],
  ["suspended", "attempted"],
  ["ok", "ok"],
  ["failed", "failed"],
  ["unknown", "unknown"],
]);

function beganAt({ startedAt, call }: CallRecord): number {
  return startedAt ?? call.arrivedAt;
}

/** How far back any of the policies reads, in milliseconds. Returns undefined if none does. */
function longestLookBack(policies: readonly Policy[]): number | undefined {
  const windows = policies.flatMap(({ reads }) => Object.values(reads ?? {}));
  return windows.length === 0 ? undefined : Math.max(...windows);
}

/** The requests of all found skills, active or not. */
function allSkillRequests(
  skills: Skills | undefined,
): readonly { readonly skill: string; readonly tools: readonly string[] }[] {
  return (skills?.list() ?? [])
    .filter(({ allowedTools }) => allowedTools.length > 0)
    .map(({ name, allowedTools }) => ({ skill: name, tools: allowedTools }));
}

/** @throws RuntimeFault `policy_invalid` */
function checked<Given extends PolicyOptions | Policy>(policy: Given): Given {
  checkMembers(policy, { code: "policy_invalid", what: "The policy", members: {} });
  return policy;
}
