import {
  type Authority,
  type Autonomy,
  autonomies,
  defaultPrincipal,
  defined,
  isJsonObject,
  type Json,
  type JsonObject,
  lowerAutonomy,
  newTraceId,
  type Principal,
  type ProgressSink,
  RuntimeFault,
  rankOf,
  shown,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { ClientOfCall } from "./client-of-call.ts";
import { checkedLimits, isPatience, type Limits, type Patience } from "./session.ts";

/** What a caller claims. Claims can only narrow what was granted. */
export interface Claims {
  readonly principal?: Principal;
  readonly runId?: string;
  readonly traceId?: string;
  readonly taskId?: string;
  readonly stepId?: string;
  readonly scopes?: readonly string[];
  readonly autonomy?: Autonomy;
  readonly tools?: readonly string[];
}

export const runIdPattern: RegExp = /^[A-Za-z0-9_-]{1,64}$/;
const traceIdPattern = /^[0-9a-f]{32}$/;
/** Printable, without NUL, because names are joined by NUL where calls are matched. */
export const principalNamePattern: RegExp = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/**
 * @param ceiling the operator's level; a caller's own can only be lower
 * @throws RuntimeFault `context_invalid` that names the member and the value
 */
export function authorityOf(claims: Claims, ceiling: Autonomy | undefined, limits: Limits, now: number): Authority {
  const { principal = defaultPrincipal, traceId, taskId, stepId, scopes = [], tools } = claims;
  checkPrincipal(principal);
  checkClaims({ ...claims, scopes });
  const autonomy = lowerAutonomy(claims.autonomy, ceiling);
  const { maxRiskUnapproved } = limits;
  return Object.freeze({
    principal: Object.freeze({
      ...principal,
      ...(principal.groups !== undefined && { groups: Object.freeze([...principal.groups]) }),
    }),
    scopes: Object.freeze([...scopes]),
    runId: claims.runId ?? runOfTheDay(principal, now),
    traceId: traceId ?? newTraceId(),
    ...(autonomy !== undefined && { autonomy }),
    ...(taskId !== undefined && { taskId }),
    ...(stepId !== undefined && { stepId }),
    ...(tools !== undefined && { tools: Object.freeze([...tools]) }),
    ...(maxRiskUnapproved !== undefined && { maxRiskUnapproved }),
  });
}

/** @throws RuntimeFault `context_invalid` that names the member and the value */
export function checkPrincipal(principal: Principal): void {
  if (typeof principal !== "object" || principal === null)
    throw invalid("principal", principal, "{ tenant, agent, user? }");
  checkName("principal.tenant", principal.tenant);
  checkName("principal.agent", principal.agent);
  for (const member of ["user", "via", "owner"] as const)
    if (principal[member] !== undefined) checkName(`principal.${member}`, principal[member]);
  checkNames("principal.groups", principal.groups);
}

/** Whether a record belongs to another tenant. `theirs` is undefined for an account without a tenant. */
export function isElsewhere({ tenant }: Pick<Principal, "tenant">, otherTenant: string | undefined): boolean {
  return otherTenant !== undefined && tenant !== otherTenant;
}

/**
 * Whether a call comes from the program that made the runtime, or with the operator's token. Other callers can open as
 * many runs as they like.
 */
export function isFromOperator({ via = "" }: Principal): boolean {
  return via === "token:operator" || !/^(?:token:|session:|oauth:|stdio$)/.test(via);
}

/** Whether a record belongs to another principal, however that one is authenticated. `asker` is undefined for the program that owns the runtime. */
export function isForeign(owner: Principal, asker: Principal | undefined): boolean {
  if (asker === undefined) return false;
  return isElsewhere(owner, asker.tenant) || owner.agent !== asker.agent || owner.user !== asker.user;
}

/** The claims of one call; the session's claims are the defaults. */
export type CallClaims = Pick<Claims, "runId" | "traceId" | "taskId" | "stepId" | "scopes" | "autonomy" | "tools">;

/**
 * Narrows the authority of a session for one call. Returns the same object if the call claims nothing. A session with the
 * scope `*` can grant any scope.
 *
 * @throws RuntimeFault `context_invalid` that names the member and the value
 */
export function withinSession(session: Authority, claims: CallClaims): Authority {
  const { runId, traceId, taskId, stepId, scopes, autonomy, tools } = claims;
  if ((runId ?? traceId ?? taskId ?? stepId ?? scopes ?? autonomy ?? tools) === undefined) return session;
  checkClaims(claims);
  const lower = lowerAutonomy(autonomy, session.autonomy);
  const granted = scopes?.filter((scope) => session.scopes.includes(scope) || session.scopes.includes("*"));
  return Object.freeze({
    ...session,
    ...(granted !== undefined && { scopes: Object.freeze(granted) }),
    ...(lower !== undefined && { autonomy: lower }),
    ...(tools !== undefined && { tools: Object.freeze(commonTo(session.tools, tools)) }),
    ...(runId !== undefined && { runId }),
    ...(traceId !== undefined && { traceId }),
    ...(taskId !== undefined && { taskId }),
    ...(stepId !== undefined && { stepId }),
  });
}

/** The names that both lists have; without a list, all names. */
function commonTo(most: readonly string[] | undefined, asked: readonly string[]): string[] {
  return asked.filter((name) => most === undefined || most.includes(name));
}

function checkClaims({ runId, traceId, taskId, stepId, scopes, autonomy, tools }: CallClaims): void {
  if (runId !== undefined && !runIdPattern.test(runId)) throw invalid("runId", runId, "1 to 64 of A-Z a-z 0-9 _ -");
  if (autonomy !== undefined && !autonomies.includes(autonomy))
    throw invalid("autonomy", autonomy, `one of ${autonomies.join(", ")}`);
  if (traceId !== undefined && !traceIdPattern.test(traceId))
    throw invalid("traceId", traceId, "32 lower-case hex digits");
  if (taskId !== undefined) checkName("taskId", taskId);
  if (stepId !== undefined) checkName("stepId", stepId);
  checkNames("scopes", scopes);
  checkNames("tools", tools);
}

/** @throws RuntimeFault `context_invalid` */
export function checkNames(member: string, names: unknown): void {
  if (names === undefined) return;
  if (!Array.isArray(names)) throw invalid(member, names, "a list of names");
  for (const name of names) checkName(member, name);
}

/** Options of one call. */
export interface PerCall {
  readonly idempotencyKey?: string | undefined;
  readonly toolCallId?: string | undefined;
  readonly turn?: string | undefined;
  readonly providerItem?: JsonObject | undefined;
  readonly patience?: Patience | undefined;
  readonly approvalWaitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly deadline?: number | undefined;
  readonly onProgress?: ProgressSink | undefined;
  readonly reason?: string | undefined;
  readonly requestMeta?: JsonObject | undefined;
  readonly client?: ClientOfCall | undefined;
}

/** Checks the options of a call. An invalid number or patience would remove a limit. */
export function perCallFault({
  idempotencyKey,
  toolCallId,
  turn,
  providerItem,
  patience,
  approvalWaitMs,
  signal,
  deadline,
  onProgress,
  reason,
}: PerCall): RuntimeFault | undefined {
  if (
    idempotencyKey !== undefined &&
    !(typeof idempotencyKey === "string" && idempotencyKey !== "" && idempotencyKey.isWellFormed())
  ) {
    return invalid("idempotencyKey", idempotencyKey, "a text that is not empty, without half surrogate pairs");
  }
  if (toolCallId !== undefined && !(typeof toolCallId === "string" && toolCallId !== "" && toolCallId.isWellFormed()))
    return invalid("toolCallId", toolCallId, "a text that is not empty, without half surrogate pairs");
  if (turn !== undefined && !(typeof turn === "string" && turn !== "" && turn.isWellFormed()))
    return invalid("turn", turn, "a text that is not empty, without half surrogate pairs");
  if (turn !== undefined && toolCallId === undefined)
    return invalid("turn", turn, "given together with `toolCallId`, which names the call within its turn");
  if (providerItem !== undefined && !isProviderItem(providerItem))
    return invalid("providerItem", providerItem, "a JSON object");
  if (patience !== undefined && !isPatience(patience))
    return invalid("patience", patience, "`deny`, `wait` or `suspend`");
  if (approvalWaitMs !== undefined && !(approvalWaitMs >= 0))
    return invalid("approvalWaitMs", approvalWaitMs, "a number of milliseconds from 0");
  if (deadline !== undefined && !Number.isFinite(deadline))
    return invalid("deadline", deadline, "a time in milliseconds since 1970");
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    return invalid("signal", signal, "an AbortSignal");
  if (onProgress !== undefined && typeof onProgress !== "function")
    return invalid("onProgress", onProgress, "a function");
  if (reason !== undefined && typeof reason !== "string") return invalid("reason", reason, "a text");
  return undefined;
}

/** The strictest is first. */
export const patienceRanks: Readonly<Record<Patience, number>> = { deny: 0, wait: 1, suspend: 2 };

/**
 * The options of one call within a session: the narrower limit and both signals. Progress sink and reason default to the
 * session's; keys belong to the call alone.
 */
export function withinOptions(session: PerCall, call: PerCall): PerCall {
  const { patience, approvalWaitMs, deadline, signal, onProgress = session.onProgress, reason = session.reason } = call;
  return {
    ...{ idempotencyKey: call.idempotencyKey, toolCallId: call.toolCallId, turn: call.turn },
    ...{ providerItem: call.providerItem, requestMeta: call.requestMeta, client: call.client },
    ...{ onProgress, reason },
    patience: ranked(patience) <= ranked(session.patience) ? patience : session.patience,
    approvalWaitMs: earlier(approvalWaitMs, session.approvalWaitMs),
    deadline: earlier(deadline, session.deadline),
    signal: signal && session.signal ? AbortSignal.any([signal, session.signal]) : (signal ?? session.signal),
  };
}

function ranked(patience: Patience | undefined): number {
  return patience === undefined ? Number.POSITIVE_INFINITY : patienceRanks[patience];
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** The narrower of both limits, member by member. */
export function narrower(base: Limits, asked: Partial<Limits>): Limits {
  checkedLimits(typeof asked === "object" && asked !== null ? defined(asked) : asked);
  const { maxRiskUnapproved: baseRisk } = base;
  const { maxRiskUnapproved: askedRisk } = asked;
  const risk =
    baseRisk === undefined || (askedRisk !== undefined && rankOf(askedRisk) < rankOf(baseRisk)) ? askedRisk : baseRisk;
  return {
    maxToolCalls: Math.min(base.maxToolCalls, asked.maxToolCalls ?? base.maxToolCalls),
    callTimeoutMs: Math.min(base.callTimeoutMs, asked.callTimeoutMs ?? base.callTimeoutMs),
    approvalWaitMs: Math.min(base.approvalWaitMs, asked.approvalWaitMs ?? base.approvalWaitMs),
    totalTimeoutMs: Math.min(base.totalTimeoutMs, asked.totalTimeoutMs ?? base.totalTimeoutMs),
    maxInlineResultBytes: Math.min(base.maxInlineResultBytes, asked.maxInlineResultBytes ?? base.maxInlineResultBytes),
    ...(risk !== undefined && { maxRiskUnapproved: risk }),
  };
}

let latest: { readonly who: string; readonly day: number; readonly runId: string } | undefined;

/** The default run: one per principal and UTC day. */
export function runOfTheDay({ tenant, agent, user = "" }: Principal, now: number): string {
  const day = Math.floor(now / 86_400_000);
  const who = `${tenant}\0${agent}\0${user}`;
  if (latest?.day !== day || latest.who !== who) {
    const date = new Date(now).toISOString().slice(0, 10).replaceAll("-", "");
    latest = { who, day, runId: `run_${date}_${sha256(who).slice(0, 12)}` };
  }
  return latest.runId;
}

export function isRunOfTheDayOf(runId: string, { tenant, agent, user = "" }: Principal): boolean {
  return runId.endsWith(sha256(`${tenant}\0${agent}\0${user}`).slice(0, 12));
}

function checkName(member: string, value: unknown): void {
  if (typeof value !== "string" || !principalNamePattern.test(value))
    throw invalid(member, value, "1 to 200 printable characters");
}

function invalid(member: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault("context_invalid", `\`${member}\` is ${shown(value)}; it must be ${wanted}.`);
}

const mostMembers = 16;
/** In characters. */
const longestText = 256;
/** The call's arguments, of which the log holds only a hash. */
const argumentNames: ReadonlySet<string> = new Set(["arguments", "args", "input"]);

/**
 * The part of a provider's item that is kept: its short members (type, ids, status), with each text cleaned and at most
 * 256 characters long. Returns undefined when there are none.
 */
export function keptItem(item: JsonObject, clean: (text: string) => string): JsonObject | undefined {
  const kept = Object.entries(item)
    .filter(([name, value]) => !argumentNames.has(name) && isShort(value))
    .slice(0, mostMembers)
    .map(([name, value]) => [clean(name), typeof value === "string" ? clean(value) : value]);
  return kept.length === 0 ? undefined : Object.freeze(Object.fromEntries(kept) as JsonObject);
}

export function isProviderItem(value: unknown): value is JsonObject {
  return isJsonObject(value as Json);
}

function isShort(value: Json | undefined): boolean {
  if (typeof value === "string") return value.length <= longestText;
  return typeof value === "number" ? Number.isFinite(value) : typeof value === "boolean";
}

/** With one key for a session, all its calls would be one call. */
export function sharedKeyFault(): RuntimeFault {
  const message = "A session has no `idempotencyKey`: a key belongs to one call; give it to `invoke`.";
  return new RuntimeFault("context_invalid", message);
}
