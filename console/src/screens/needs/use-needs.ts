import type { NeedKind, NeedView } from "@postern/core/contract";
import { useAnswer, useMay } from "../../api/index.ts";
import { number } from "../../kit/format.ts";

/** What needs a person, and how much of it this person may act on. */
export function useNeeds() {
  return useAnswer("GET /v1/needs", {}, { enabled: useMay()("alarms:read") });
}

const nouns: Readonly<Record<NeedKind, readonly [one: string, many: string]>> = {
  approvals: ["request waits", "requests wait"],
  unknown: ["call has an unknown outcome", "calls have an unknown outcome"],
  scripts: ["script can go on", "scripts can go on"],
  memory: ["memory to accept", "memories to accept"],
  tools: ["changed tool", "changed tools"],
  servers: ["server is down", "servers are down"],
  channels: ["channel gave up", "channels gave up"],
  sign_ins: ["server needs a sign-in", "servers need a sign-in"],
};

/** `3 requests wait`. */
export function titleOf({ kind, count, more }: NeedView): string {
  const [one, many] = nouns[kind];
  return `${more === true ? "More than " : ""}${number(count)} ${count === 1 ? one : many}`;
}
