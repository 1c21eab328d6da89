/** What needs a person: everything that stays as it is until a person acts, each with who may act. */
import { type CallRecord, defined, type Permission, type Risk, rolesWith } from "@postern/core";
import { type Input, type NeedKind, needs } from "@postern/core/contract";
import { chainToolName } from "../../code-mode/names.ts";
import { personOf } from "../../connections/connections.ts";
import { areUndecided } from "./call-routes.ts";
import { deciderOf, isOfOwnTenant } from "./caller.ts";
import { candidatesOf } from "./memory-routes.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

type NeedsRequest = RouteRequest<typeof needs.list>;
type Need = Input<typeof needs.list.answer>["needs"][number];
type Item = Need["items"][number];

/** As many are counted of one kind. Requests are counted by the store, without a limit. */
const mostCounted = 200;
const mostItems = 20;
/** Memories of so many runs are read, the latest. */
const mostRuns = 100;
const longestText = 300;

interface NeedFinder {
  /** Without it, the kind is not shown. */
  readonly read: Permission;
  readonly act: Permission;
  readonly find: (request: NeedsRequest) => Promise<readonly Item[]> | readonly Item[];
}

const kinds: readonly (readonly [kind: NeedKind, NeedFinder])[] = [
  ["unknown", { read: "calls:read", act: "calls:settle", find: unknownCalls }],
  ["scripts", { read: "calls:read", act: "calls:make", find: scripts }],
  ["memory", { read: "memory:decide", act: "memory:decide", find: memories }],
  ["tools", { read: "tools:read", act: "tools:approve", find: changedTools }],
  ["servers", { read: "tools:read", act: "tools:switch", find: serversDown }],
  ["channels", { read: "channels:read", act: "channels:write", find: channelsFailed }],
];

export const needsRoutes: readonly Route[] = serve(needs, {
  list: async (request) => {
    const found = await Promise.all([requests(request), ...kinds.map((kind) => need(request, kind))]);
    const shown = [...found, signIns(request)].filter(({ count }) => count > 0);
    return { for_you: shown.reduce((sum, one) => sum + one.for_you, 0), needs: shown };
  },
});

async function need(request: NeedsRequest, [kind, { read, act, find }]: (typeof kinds)[number]): Promise<Need> {
  const { permissions } = request.by;
  const found = permissions.has(read) ? await find(request) : [];
  const count = Math.min(found.length, mostCounted);
  return {
    ...{ kind, count, roles: rolesWith(act), items: found.slice(0, mostItems).map(cut) },
    ...(found.length > mostCounted && { more: true }),
    for_you: permissions.has(act) ? count : 0,
  };
}

/** A list is not for reading all of it. */
function cut(item: Item): Item {
  return { ...item, ...defined({ text: item.text?.slice(0, longestText) }) };
}

async function requests({ runtime, by }: NeedsRequest): Promise<Need> {
  const where = { tenant: by.principal.tenant, by: ["risk"], limit: 100 } as const;
  const mayDecide = by.permissions.has("approvals:decide");
  const [all, own] = await Promise.all([
    runtime.approvals.groups(where),
    mayDecide ? runtime.approvals.groups(where, deciderOf(by)) : [],
  ]);
  const sum = (groups: typeof all): number => groups.reduce((total, { waiting }) => total + waiting, 0);
  const of = (risk: Risk): number => all.find((group) => group.risk === risk)?.waiting ?? 0;
  return {
    ...{ kind: "approvals", count: sum(all), for_you: sum(own), roles: rolesWith("approvals:decide"), items: [] },
    by_risk: { critical: of("critical"), high: of("high"), medium: of("medium"), safe: of("safe") },
  };
}

/** Those that a person must look at: not what is harmless to repeat, and no script that can go on. */
async function unknownCalls({ runtime, by }: NeedsRequest): Promise<readonly Item[]> {
  const { tenant } = by.principal;
  const found = await runtime.calls.list({ tenant, state: "unknown", limit: mostCounted + 1 });
  return found
    .filter((record) => !record.idempotent && record.endUnseen !== true && !isScript(record))
    .map(({ call, endedAt, startedAt }) => ({
      ...{ id: call.id, name: call.tool, agent: call.authority.principal.agent, run_id: call.authority.runId },
      at: endedAt ?? startedAt ?? call.arrivedAt,
    }));
}

function isScript({ call, retryable }: CallRecord): boolean {
  return call.tool === chainToolName && retryable;
}

/** Scripts that were cut short, and those with a decision that their agent has not come back for. */
async function scripts({ runtime, by }: NeedsRequest): Promise<readonly Item[]> {
  const listed = (await runtime.chains?.list({ tenant: by.principal.tenant, limit: mostCounted + 1 })) ?? [];
  const found = await Promise.all(
    listed.map(async ({ callId, state, principal, runId, since, waiting }): Promise<readonly Item[]> => {
      if (state === "running" || (state === "waiting" && (await areUndecided(runtime, waiting)))) return [];
      const text = state === "waiting" ? "It waited for a decision, which was made." : "It was cut short.";
      return [{ id: callId, name: "script", text, agent: principal.agent, run_id: runId, at: since }];
    }),
  );
  return found.flat();
}

async function memories(request: NeedsRequest): Promise<readonly Item[]> {
  const found: Item[] = [];
  if (request.memory === undefined) return found;
  for await (const { id, state, runId, at, agent, scope, content } of candidatesOf(request.memory, request, {
    mostRuns,
  })) {
    if (state === "open") found.push({ id, name: scope, text: content, agent, run_id: runId, at });
    if (found.length > mostCounted) break;
  }
  return found;
}

function changedTools({ runtime }: NeedsRequest): readonly Item[] {
  return runtime.tools.names().flatMap((name) => {
    const why = runtime.tools.blocked(name)?.why;
    return why === "changed" || why === "new" ? [{ id: name, name, text: why }] : [];
  });
}

/** While it is connected again its problem is still known. A server that waits for a sign-in is another kind. */
function serversDown({ runtime }: NeedsRequest): readonly Item[] {
  return runtime
    .health()
    .servers.filter(({ status, problem, signInNeeded }) => status !== "idle" && problem !== undefined && !signInNeeded)
    .map(({ name, problem, changes }) => ({ id: name, name, text: problem, at: changes.at(-1)?.at }));
}

function channelsFailed({ runtime, by }: NeedsRequest): readonly Item[] {
  const listed = isOfOwnTenant(by) ? (runtime.channels?.list() ?? []) : [];
  return listed.flatMap(({ name, dead }) => {
    const last = dead.at(-1);
    return last === undefined ? [] : [{ id: name, name, text: last.problem, at: last.at }];
  });
}

/** Of each server that is not connected before a person signs in there. One for all people needs `tools:approve`. */
function signIns({ runtime, by }: NeedsRequest): Need {
  const { permissions, principal } = by;
  const needed = permissions.has("tools:read")
    ? runtime.health().servers.filter(({ signInNeeded }) => signInNeeded === true)
    : [];
  const shared = new Set(
    (runtime.connections?.list(personOf(principal)) ?? [])
      .filter(({ per }) => per === "server")
      .map(({ server }) => server),
  );
  const mine = needed.filter(({ name }) => permissions.has(shared.has(name) ? "tools:approve" : "tokens:own"));
  return {
    ...{ kind: "sign_ins", count: needed.length, for_you: mine.length, roles: rolesWith("tools:approve") },
    items: needed.slice(0, mostItems).map(({ name, changes }) => ({ id: name, name, at: changes.at(-1)?.at })),
  };
}
