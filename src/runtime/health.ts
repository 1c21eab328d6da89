import type { Health } from "../face.ts";
import type { Store } from "../stores/store.ts";
import type { Servers } from "../tools/upstream/servers.ts";

/** What works and what does not, without asking anything that could hang. */
export function healthOf({ broken }: Pick<Store, "broken">, servers: Servers | undefined, tools: number): Health {
  return {
    status: broken === undefined ? "ok" : "broken",
    ...(broken !== undefined && { problem: broken.message }),
    tools,
    servers: (servers?.status() ?? []).map(({ name, status, refused, problem, processId }) => ({
      name,
      status,
      refused,
      ...(problem !== undefined && { problem }),
      ...(processId !== undefined && { processId }),
    })),
  };
}
