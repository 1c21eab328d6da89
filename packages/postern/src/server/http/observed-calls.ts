import { iso, type ObservedView } from "@postern/core/contract";
import type { AuditEvent, AuditFilter } from "../../audit/log.ts";
import type { Runtime } from "../../runtime/api/api.ts";

const weekMs = 7 * 86_400_000;
const readAtOnce = 1_000;

/** What `enforce` would do with a call, by the verdict that the log has as `observed`. */
const stops = { CONFIRM: "asked", DENY: "denied", BLOCK: "blocked", PREVIEW: "previewed" } as const;

type Counts = { calls: number } & Record<(typeof stops)[keyof typeof stops], number>;
type ToolCounts = Counts & { readonly server?: string; readonly tool: string; readonly action?: string };

interface ObservedQuery {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

/** Counts calls that ran in mode `observe`. The log is the source, so the counts last longer than a process. */
export async function observedCalls(
  { audit }: Pick<Runtime, "audit">,
  { now, ...range }: ObservedQuery & { readonly now: number },
  tenant: Pick<AuditFilter, "tenant">,
): Promise<ObservedView> {
  const { until = now, since = Math.max(0, until - weekMs), server, tool } = range;
  const tools = new Map<string, ToolCounts>();
  const where = { ...tenant, ...(tool !== undefined && { tool }), since, until, type: "tool_call.attempted" };
  for (let before: number | undefined; ; ) {
    const from = before === undefined ? {} : { before };
    const page = await audit.latest({ ...where, ...from, text: "observed", limit: readAtOnce });
    for (const event of page.events)
      if (event.observed !== undefined && (server === undefined || event.connector_id === server)) count(tools, event);
    before = page.nextBefore;
    if (before === undefined) break;
  }
  const rows = [...tools.values()].sort((one, other) => stopped(other) - stopped(one) || other.calls - one.calls);
  return { since: iso(since), until: iso(until), ...totalOf(rows), tools: rows };
}

function count(tools: Map<string, ToolCounts>, { connector_id: server, tool_name: tool = "", ...event }: AuditEvent) {
  const { action, verdict, observed } = event;
  const key = JSON.stringify([server, tool, action]);
  const counts: ToolCounts = tools.get(key) ?? {
    ...(server !== undefined && { server }),
    tool,
    ...(action !== undefined && action !== "default" && { action }),
    ...noCounts(),
  };
  counts.calls += 1;
  const stop = Object.entries(stops).find(([name]) => name === observed && name !== verdict)?.[1];
  if (stop !== undefined) counts[stop] += 1;
  tools.set(key, counts);
}

function stopped({ asked, denied, blocked, previewed }: Counts): number {
  return asked + denied + blocked + previewed;
}

function totalOf(rows: readonly Counts[]): Counts {
  const total = noCounts();
  for (const row of rows) for (const name of ["calls", ...Object.values(stops)] as const) total[name] += row[name];
  return total;
}

function noCounts(): Counts {
  return { calls: 0, asked: 0, denied: 0, blocked: 0, previewed: 0 };
}
