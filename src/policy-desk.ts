/** The policy that decides here, and others held against it: what is so, what would be, what was meant. Runs and writes nothing. */
import { setImmediate } from "node:timers/promises";
import { Arrival } from "./calls/arrival.ts";
import { RuntimeFault } from "./calls/fault.ts";
import type { JsonObject } from "./calls/json.ts";
import type { CallRecord, CallState } from "./calls/records.ts";
import type { Limits } from "./calls/session.ts";
import type { PolicyFace, SimulateFilter, Simulation } from "./face.ts";
import { suggestionOf } from "./gates/verdict.ts";
import { isFromOutside } from "./ledger/history.ts";
import type { Parts } from "./parts.ts";
import { createPolicy, type PolicyOptions } from "./policy/decide.ts";
import { checkExpectations, type ToolAsked } from "./policy/expectations.ts";
import type { EffectivePolicy, PastCall, Policy } from "./policy/policy.ts";
import { type RecordedCall, replay, type VerdictChange } from "./policy/simulate.ts";
import { type PolicyWarning, policyWarnings } from "./policy/warnings.ts";
import { type Explanation, explain } from "./resume.ts";
import type { Store } from "./stores/store.ts";
import type { Skills } from "./tools/builtin/skills/skills.ts";
import type { Registry } from "./tools/registry.ts";

export interface PolicyDeskOptions {
  readonly parts: Parts & { readonly tools: Registry };
  readonly store: Pick<Store, "call" | "calls">;
  readonly skills: Skills | undefined;
  /** What the runtime was made with. */
  readonly given: PolicyOptions | Policy | undefined;
  readonly limits: Pick<Limits, "maxRiskUnapproved">;
}

const pageRows = 1_000;
/** After so many calls others get their turn: this process decides live ones, too. */
const callsATurn = 50;
const mostReplayed = 10_000;
/** So many more rows are read to be the past of those that are replayed. */
const mostPast = 20_000;
/** An approval lives no longer: what came before this and the window was not begun inside the window. */
const longestHeldMs = 31 * 86_400_000;

export class PolicyDesk implements PolicyFace {
  readonly #options: PolicyDeskOptions;

  constructor(options: PolicyDeskOptions) {
    this.#options = options;
  }

  get version(): string {
    return this.#options.parts.policy.version;
  }

  effective({ runId, ...asked }: Parameters<PolicyFace["effective"]>[0] = {}): EffectivePolicy | undefined {
    const { parts, skills, limits } = this.#options;
    const { principal = { tenant: "default", agent: "default" } } = asked;
    const run = runId === undefined ? undefined : { tenant: principal.tenant, runId };
    const active = run && skills?.activeFor(run.tenant, run.runId);
    const { autonomy = parts.controls.state.autonomy } = asked;
    return parts.policy.effective?.(
      parts.tools.actions().map(({ facts }) => facts),
      {
        ...(limits.maxRiskUnapproved !== undefined && { maxRiskUnapproved: limits.maxRiskUnapproved }),
        ...asked,
        principal,
        ...(autonomy !== undefined && { autonomy }),
        ...(active !== undefined && { skills: active }),
        requests: run === undefined ? allWishes(skills) : (skills?.requests(run) ?? []),
      },
    );
  }

  warnings(policy?: PolicyOptions): readonly PolicyWarning[] {
    const { parts, given = {} } = this.#options;
    const looked = policy ?? given;
    if ("decide" in looked) return []; // an own one: what it is made of is not known
    return policyWarnings(
      looked,
      parts.tools.actions().map(({ facts }) => facts),
    );
  }

  async explainCall(callId: string): Promise<Explanation | undefined> {
    const record = await this.#options.store.call({ key: callId });
    // As itself: a call is not its own past.
    return record && explain(new Arrival({ ...record.call, resumes: record.key }), this.#options.parts);
  }

  async simulate(policy: PolicyOptions | Policy, where: SimulateFilter = {}): Promise<Simulation> {
    const before = this.#options.parts.policy;
    const after = this.#made(policy);
    const { rows, pastIsCut } = await this.#rows(where, farthest([before, after]));
    const unknownTools = new Map<string, number>();
    const calls = rows.flatMap(({ row, isPast }) => {
      const call = this.#recorded(row, isPast);
      if (call !== undefined) return [call];
      if (!isPast) unknownTools.set(row.call.tool, (unknownTools.get(row.call.tool) ?? 0) + 1);
      return [];
    });
    return {
      before: before.version,
      after: after.version,
      replayed: calls.filter(({ isPast }) => !isPast).length,
      unknownTools: Object.fromEntries(unknownTools),
      pastIsCut,
      changes: await changesIn(
        calls.toSorted((one, other) => one.facts.now - other.facts.now),
        { before, after },
      ),
    };
  }

  test(...[policy, expectations, autonomy]: Parameters<PolicyFace["test"]>): ReturnType<PolicyFace["test"]> {
    const { parts, limits } = this.#options;
    const tools: ToolAsked = (tool, action) => {
      const found = parts.tools.find(tool, action);
      const suggest = (given: JsonObject) => found && suggestionOf(found, given, parts.redactor);
      return found && { facts: found.facts, suggest };
    };
    return checkExpectations(expectations, this.#made(policy), {
      tools,
      names: parts.tools.names(),
      autonomy: autonomy ?? parts.controls.state.autonomy,
      maxRiskUnapproved: limits.maxRiskUnapproved,
    });
  }

  /** @throws RuntimeFault `policy_invalid` */
  #made(policy: PolicyOptions | Policy): Policy {
    if ("decide" in policy) return policy;
    const { maxRiskUnapproved } = this.#options.limits;
    return createPolicy({ ...(maxRiskUnapproved !== undefined && { maxRiskUnapproved }), ...policy });
  }

  /** New to old, and behind the last that is replayed as far as a rule looks back. */
  async #rows(
    { tenant, tool, runId, limit = 1_000 }: SimulateFilter,
    windowMs: number | undefined,
  ): Promise<{ readonly rows: readonly { row: CallRecord; isPast: boolean }[]; readonly pastIsCut: boolean }> {
    if (!(Number.isSafeInteger(limit) && limit > 0 && limit <= mostReplayed))
      throw new RuntimeFault(
        "request_invalid",
        `\`limit\` is \`${String(limit)}\`; it must be a whole number from 1 to ${mostReplayed}.`,
      );
    const rows: { row: CallRecord; isPast: boolean }[] = [];
    const where = { limit: pageRows, ...(tenant !== undefined && { tenant }) };
    let chosen = 0;
    let oldest = Number.POSITIVE_INFINITY;
    for (let before: number | undefined; ; ) {
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
      before = page.at(-1)?.call.number;
      if (page.length < pageRows || (chosen === limit && windowMs === undefined)) return { rows, pastIsCut: false };
      if (rows.length >= chosen + mostPast) return { rows, pastIsCut: true };
    }
  }

  #recorded(row: CallRecord, isPast: boolean): RecordedCall | undefined {
    const { parts } = this.#options;
    const { call, state, outcome } = row;
    const found = parts.tools.find(call.tool, call.action);
    if (found === undefined) return undefined;
    const { principal, scopes, autonomy, maxRiskUnapproved, runId } = call.authority;
    const ended = pastStates.get(state);
    return {
      id: call.id,
      runId,
      isPast,
      risk: row.risk,
      facts: {
        ...{ tool: found.facts, principal, scopes, autonomy, maxRiskUnapproved, arguments: call.arguments },
        suggestion: suggestionOf(found, call.arguments, parts.redactor),
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

/** How far back either looks, in milliseconds; undefined: neither does. */
function farthest(policies: readonly Policy[]): number | undefined {
  const windows = policies.flatMap(({ reads }) => Object.values(reads ?? {}));
  return windows.length === 0 ? undefined : Math.max(...windows);
}

/** What the skills that were found would ask for, active or not. */
function allWishes(
  skills: Skills | undefined,
): readonly { readonly skill: string; readonly tools: readonly string[] }[] {
  return (skills?.list() ?? [])
    .filter(({ allowedTools }) => allowedTools.length > 0)
    .map(({ name, allowedTools }) => ({ skill: name, tools: allowedTools }));
}
