/**
 * What another policy would have decided about recorded calls. Each policy has a past of its own: a call that it refuses
 * does not start and is no past of later calls. A call that it asks about counts as answered as it was.
 */
import { defined, type JsonObject } from "@postern/core";
import type { Decision, Facts, Histories, History, HistoryScope, PastCall, Policy } from "../policy.ts";

/** A recorded call as the policy received it, without the past. Its arguments are redacted, and those that ran. */
export interface RecordedCall {
  readonly id: string;
  /** A person changed its arguments. */
  readonly isEdited: boolean;
  readonly facts: Omit<Facts, "history">;
  readonly runId: string;
  /** The run in which limits count it. */
  readonly countedIn: string;
  /** The risk that was recorded. */
  readonly risk: PastCall["risk"];
  /** How it ended. Undefined if it never started. */
  readonly ended:
    | {
        readonly state: PastCall["state"];
        /** Wall clock, milliseconds. Undefined if it has not ended. */
        readonly at: number | undefined;
        /** Its result came from outside. */
        readonly isFromOutside: boolean;
      }
    | undefined;
  /** It is only the past of the other calls. */
  readonly isPast: boolean;
  /** The request of a call that waits. It is decided as if it began now. */
  readonly approvalId?: string | undefined;
}

/**
 * A call that the other policy decides differently.
 *
 * @public
 */
export interface VerdictChange {
  readonly callId: string;
  readonly tool: string;
  readonly action: string;
  readonly principal: Facts["principal"];
  readonly runId: string;
  /** Wall clock, milliseconds: when it started, else when it arrived. */
  readonly at: number;
  /** Redacted. */
  readonly arguments: JsonObject;
  /** A person changed the arguments: these ran, not the ones that were sent. */
  readonly edited?: true;
  readonly before: Decision;
  readonly after: Decision;
  /** The request, if the call waits for a person. */
  readonly approvalId?: string;
}

/**
 * Calls of one action whose verdict changes in the same way.
 *
 * @public
 */
export interface VerdictGroup {
  readonly tool: string;
  readonly action: string;
  /** If both policies only observe: the verdicts that would be enforced. */
  readonly before: Decision["verdict"];
  readonly after: Decision["verdict"];
  readonly count: number;
  /** The newest of them. */
  readonly example: VerdictChange;
}

interface PastEntry extends PastCall {
  state: PastCall["state"];
}

class ScopeHistory implements History {
  version = 0;
  tainted = false;
  calls: PastEntry[] = [];
}

const mostGroups = 100;
const emptyScope: History = new ScopeHistory();
const noHistory: Histories = {};

interface StartedCall {
  readonly call: RecordedCall;
  readonly entry: PastEntry;
}

/** The calls and their history under one policy. */
class PolicyReplay {
  readonly #policy: Policy;
  readonly #scopes = new Map<string, ScopeHistory>();
  /** Started, and not ended at the time of the current call. */
  #open: StartedCall[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  decide(call: RecordedCall): Decision {
    this.#end(call.facts.now);
    const decision = this.#policy.decide({ ...call.facts, history: this.#pastOf(call) });
    if (call.isPast || decision.verdict === "ALLOW" || decision.verdict === "CONFIRM") this.#begin(call);
    return decision;
  }

  #pastOf(call: RecordedCall): Histories {
    const { reads } = this.#policy;
    if (reads === undefined) return noHistory;
    const histories: { [S in HistoryScope]?: History } = {};
    for (const name of scopeNames) {
      const windowMs = reads[name];
      if (windowMs === undefined) continue;
      const scope = this.#scopes.get(idOf(name, call));
      if (scope !== undefined) trim(scope, call.facts.now - windowMs);
      histories[name] = scope ?? emptyScope;
    }
    return histories;
  }

  #begin(call: RecordedCall): void {
    const { reads } = this.#policy;
    if (call.ended === undefined || reads === undefined) return;
    const { tool, now, suggestion, arguments: args } = call.facts;
    const entry: PastEntry = {
      ...{ tool: tool.tool, action: tool.action, effects: tool.effects, risk: call.risk, arguments: args },
      ...defined({ server: tool.server, target: suggestion?.target }),
      at: now,
      state: "attempted",
    };
    for (const name of scopeNames) if (reads[name] !== undefined) this.#scope(idOf(name, call)).calls.push(entry);
    this.#open.push({ call, entry });
  }

  #end(now: number): void {
    if (this.#open.length === 0) return;
    const open: StartedCall[] = [];
    for (const one of this.#open) {
      const { ended } = one.call;
      if (ended?.at === undefined || ended.at > now) open.push(one);
      else {
        one.entry.state = ended.state;
        if (ended.isFromOutside) this.#scope(idOf("run", one.call)).tainted = true;
      }
    }
    this.#open = open;
  }

  #scope(id: string): ScopeHistory {
    let scope = this.#scopes.get(id);
    if (scope === undefined) {
      scope = new ScopeHistory();
      this.#scopes.set(id, scope);
    }
    return scope;
  }
}

/** Removes calls that left the window, now and then. */
function trim(scope: ScopeHistory, after: number): void {
  const [first] = scope.calls;
  if (first === undefined || first.at > after || scope.calls.length < 64) return;
  scope.calls = scope.calls.filter(({ at }) => at > after);
}

/**
 * Yields the change, or undefined, for each call. The caller may do other work between two steps.
 *
 * @param calls oldest first, in the order in which they started
 */
export function* replay(
  calls: readonly RecordedCall[],
  policies: Readonly<Record<"before" | "after", Policy>>,
): Generator<VerdictChange | undefined> {
  const [one, other] = [new PolicyReplay(policies.before), new PolicyReplay(policies.after)];
  for (const call of calls) {
    const [before, after] = [one.decide(call), other.decide(call)];
    yield call.isPast || isSame(before, after) ? undefined : changeOf(call, before, after);
  }
}

/** @param changes oldest first; the answer has the largest group first, at most 100 groups */
export function groupsOf(changes: readonly VerdictChange[]): readonly VerdictGroup[] {
  const groups = new Map<string, VerdictGroup>();
  for (const example of changes) {
    const { tool, action } = example;
    const [before, after] = verdictsOf(example);
    const name = [tool, action, before, after].join("\0");
    groups.set(name, { tool, action, before, after, count: (groups.get(name)?.count ?? 0) + 1, example });
  }
  return [...groups.values()].sort((one, other) => other.count - one.count).slice(0, mostGroups);
}

function verdictsOf({ before, after }: VerdictChange): readonly [Decision["verdict"], Decision["verdict"]] {
  if (before.observed === undefined || after.observed === undefined) return [before.verdict, after.verdict];
  return [before.observed, after.observed];
}

function changeOf(call: RecordedCall, before: Decision, after: Decision): VerdictChange {
  const { id, facts, runId, isEdited, approvalId } = call;
  const { tool, principal, now, arguments: args } = facts;
  return {
    ...{ callId: id, tool: tool.tool, action: tool.action, principal, runId, at: now },
    ...{ arguments: args, ...(isEdited && { edited: true as const }), before, after, ...defined({ approvalId }) },
  };
}

/** If both policies only observe, what they would have decided counts too. */
function isSame(before: Decision, after: Decision): boolean {
  const bothObserve = before.observed !== undefined && after.observed !== undefined;
  return before.verdict === after.verdict && (!bothObserve || before.observed === after.observed);
}

const scopeNames: readonly HistoryScope[] = ["run", "principal", "tenant"];

/** Names hold no NUL (call/authority.ts). */
function idOf(scope: HistoryScope, { facts: { principal }, countedIn }: RecordedCall): string {
  const { tenant, agent, user = "" } = principal;
  if (scope === "run") return countedIn;
  return scope === "tenant" ? `tenant\0${tenant}` : `principal\0${tenant}\0${agent}\0${user}`;
}
