import { statfs } from "node:fs/promises";
import { counted, defined, ownTenant } from "@postern/core";
import { type Input, probes } from "@postern/core/contract";
import type { Who } from "../credentials.ts";
import { answer } from "./answers.ts";
import { isOfOwnTenant } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

/** With less free space a store may fail at any write. */
const leastFreeBytes = 16 * 1024 * 1024;

type ReadyChecks = NonNullable<Input<typeof probes.ready.answer>["checks"]>;
type ReadyCheck = ReadyChecks[number];

export const probeRoutes: readonly Route[] = serve(probes, {
  live: async ({ runtime, by }) => {
    const { status, problem } = await runtime.checkHealth();
    // The reason names paths of this machine.
    return answer({ status, ...(maySee(by) && defined({ problem })) }, status === "ok" ? 200 : 503);
  },
  ready: async (request) => {
    const checks = await checksOf(request);
    const ready = checks.every(({ state }) => state !== "failed");
    const found: Input<typeof probes.ready.answer> = maySee(request.by) ? { ready, checks } : { ready };
    return answer(found, ready ? 200 : 503);
  },
});

function maySee(by: Who | undefined): boolean {
  return by?.permissions.has("tools:read") === true;
}

async function checksOf({ runtime, by, dataFolder }: RouteRequest<typeof probes.ready>): Promise<ReadyChecks> {
  const { status, problem, servers } = await runtime.checkHealth();
  const away = servers.filter((server) => server.status === "disconnected").map(({ name }) => name);
  const altered = runtime.alarms
    .list({ tenant: ownTenant })
    .find(({ kind, state }) => kind === "audit_not_intact" && state !== "resolved");
  const audit = by !== undefined && isOfOwnTenant(by) ? altered?.summary : altered && "The audit log is not intact.";
  return [
    check("draining", "failed", runtime.draining ? "Postern stops: it takes no new calls." : undefined),
    check("store", "failed", status === "ok" ? undefined : (problem ?? "The store is broken.")),
    check("audit", "degraded", audit),
    check("disk", "failed", await diskProblem(dataFolder)),
    check(
      "servers",
      "degraded",
      away.length === 0 ? undefined : `${counted(away.length, "server")} not connected: ${away.join(", ")}.`,
    ),
  ];
}

function check(name: ReadyCheck["name"], state: ReadyCheck["state"], problem: string | undefined): ReadyCheck {
  return problem === undefined ? { name, state: "ok" } : { name, state, problem };
}

async function diskProblem(folder: string | undefined): Promise<string | undefined> {
  if (folder === undefined) return undefined;
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= leastFreeBytes) return undefined;
  return `The disk of the data folder has ${free} bytes left; below ${leastFreeBytes} no call is taken. Make room.`;
}
