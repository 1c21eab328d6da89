/**
 * What the events of a call have in common with those of other calls: who calls which tool in which run, and what was
 * decided about it. Its text is made once for as long as a session calls a tool and gets the same decision.
 *
 * Invariant: a text is kept only if nothing in it was masked, and only until another secret is known.
 */
import type { Authority, DurableEvent, NotedEvent, Principal, ToolCall, Weighing } from "@postern/core";
import { attemptedEnds } from "./audit-words.ts";
import type { Clean, ContextPart } from "./parts.ts";

/** The two texts of one tool in one session: with the decision, and without it. */
interface ContextTexts {
  readonly authority: Authority;
  readonly weighing: Weighing;
  readonly action: string;
  /** Of the tool and its action, as people know it. */
  readonly name: string;
  decided?: string;
  ended?: string;
}

const mostKept = 1_000;

export class Contexts {
  readonly #clean: Clean;
  readonly #secrets: () => number | undefined;
  /** By tool. Sessions that call one tool in turn replace each other. */
  readonly #kept = new Map<string, ContextTexts>();
  #known: number | undefined;
  #isMasked = false;

  /** @param secrets how many values are masked; undefined: not known, so nothing is kept */
  constructor(clean: Clean, secrets: () => number | undefined) {
    this.#secrets = secrets;
    this.#clean = (text) => {
      const cleaned = clean(text);
      if (cleaned !== text) this.#isMasked = true;
      return cleaned;
    };
  }

  /** The text of an event's part, and the name of its tool and action as people know it; none for a system event. */
  of(event: DurableEvent): { readonly text: string; readonly name: string } {
    const clean = this.#clean;
    if (event.moment === "noted") return { text: JSON.stringify(systemContext(event, clean)), name: "" };
    const { call } = event;
    if (event.moment === "decided" || event.weighing === undefined)
      return { text: JSON.stringify(callContext(event, clean)), name: nameOf(call, clean) };
    this.#isMasked = false;
    const kept = this.#keptOf(call, event.weighing);
    const part = isAfterAttempt(event) ? "ended" : "decided";
    const text = kept[part] ?? JSON.stringify(callContext(event, clean));
    if (this.#isMasked) this.#kept.delete(call.tool);
    else kept[part] = text;
    return { text, name: kept.name };
  }

  #keptOf(call: ToolCall, weighing: Weighing): ContextTexts {
    const secrets = this.#secrets();
    if (secrets !== this.#known || this.#kept.size >= mostKept) this.#kept.clear();
    this.#known = secrets;
    const { tool, action, authority } = call;
    const found = this.#kept.get(tool);
    if (found?.authority === authority && found.weighing === weighing && found.action === action) return found;
    const made = { authority, weighing, action, name: nameOf(call, this.#clean) };
    if (secrets !== undefined && cannotChange(weighing)) this.#kept.set(tool, made);
    return made;
  }
}

/** A policy in the application's code may give one object again and again, each time with another decision in it. */
function cannotChange(weighing: Weighing): boolean {
  return Object.isFrozen(weighing) && Object.isFrozen(weighing.reasons) && weighing.reasons.every(Object.isFrozen);
}

/** `tool_call.attempted` has the verdict and its reasons then. */
function isAfterAttempt(event: DurableEvent): boolean {
  return event.moment === "ended" && attemptedEnds.has(event.as);
}

function callContext(event: Exclude<DurableEvent, NotedEvent>, clean: Clean): ContextPart {
  const { call } = event;
  const { principal, autonomy, traceId } = call.authority;
  const weighing = event.moment === "decided" ? undefined : event.weighing;
  const policyVersion = weighing?.policyVersion ?? ("policyVersion" in event ? event.policyVersion : undefined);
  const decision = isAfterAttempt(event) ? undefined : weighing;
  return {
    action: clean(call.action),
    autonomy_level: autonomy,
    connector_id: weighing?.connector && clean(weighing.connector),
    policy_version: policyVersion && clean(policyVersion),
    principal: principalFields(principal, clean),
    reasons: decision && reasonsOf(decision, clean),
    refs: refsOf(call.authority, clean),
    risk_level: event.moment === "decided" ? event.risk : weighing?.risk,
    tenant: clean(principal.tenant),
    tool_name: clean(call.tool),
    trace_id: clean(traceId),
    verdict: decision?.verdict,
  };
}

function systemContext(event: NotedEvent, clean: Clean): ContextPart {
  const principal = actorOf(event);
  return {
    policy_version: clean(event.policyVersion),
    principal: principalFields(principal, clean),
    tenant: clean(principal.tenant),
    trace_id: clean(event.traceId),
  };
}

/** Who a system event is about: the agent it names, the operator who acted, else Postern itself. */
function actorOf({ principal, tenant = "default", by }: NotedEvent): Principal {
  if (principal !== undefined) return principal;
  return by === undefined ? { tenant, agent: "system" } : { tenant, agent: "operator", user: by };
}

function principalFields({ agent, user, groups, via }: Principal, clean: Clean): NonNullable<ContextPart["principal"]> {
  return {
    agent: clean(agent),
    ...(user !== undefined && { user: clean(user) }),
    ...(groups !== undefined && { groups: groups.map(clean) }),
    ...(via !== undefined && { via: clean(via) }),
  };
}

function refsOf({ runId, stepId, taskId }: Authority, clean: Clean): NonNullable<ContextPart["refs"]> {
  return {
    run: clean(runId),
    ...(stepId !== undefined && { step: clean(stepId) }),
    ...(taskId !== undefined && { task: clean(taskId) }),
  };
}

function reasonsOf({ reasons }: Weighing, clean: Clean): NonNullable<ContextPart["reasons"]> {
  return reasons.map(({ rule, effect, where }) => ({
    effect,
    rule: clean(rule),
    ...(where !== undefined && { where: clean(where) }),
  }));
}

/** `default` is the action of a tool that has only one. */
function nameOf(call: ToolCall, clean: Clean): string {
  return call.action === "default" ? clean(call.tool) : `${clean(call.tool)}.${clean(call.action)}`;
}
