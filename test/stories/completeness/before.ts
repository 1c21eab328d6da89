import { settled } from "../../../packages/core/src/testing/clock.ts";
import { actor } from "../../fakes/actors.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import {
  abort,
  atClaim,
  bad,
  decision,
  fails,
  forEver,
  mail,
  policy,
  type Row,
  risky,
  schema,
  synchronous,
  throws,
  tool,
} from "./fault.ts";

/** Up to the gate that identifies the call. */
export const before: Readonly<Record<"budget" | "lookup" | "arguments" | "verdict" | "once", Row>> = {
  budget: {
    throw: "two numbers are compared; nobody else's code runs",
    timeout: {
      limits: { totalTimeoutMs: 10 },
      before: ({ clock }) => clock.advance(11),
      ends: "budget_exhausted",
    },
    cancel: atClaim,
    deny: { limits: { maxToolCalls: 0 }, ends: "budget_exhausted" },
    malformed: "limits are checked when the session is opened",
    storage: {
      limits: { maxToolCalls: 0 },
      before: fails("note"),
      ends: "audit_unavailable",
      unlogged: true,
    },
  },
  lookup: {
    throw: "two lookups in maps; nobody else's code runs",
    timeout: synchronous,
    cancel: atClaim,
    deny: {
      before: ({ h }) => h.runtime.controls.setTool("echo", false, actor("operator")),
      ends: "tool_unavailable",
    },
    malformed: { call: { tool: "constructor" }, ends: "tool_unknown" },
    storage: {
      call: { tool: "none" },
      before: fails("note"),
      ends: "audit_unavailable",
      unlogged: true,
    },
  },
  arguments: {
    throw: { call: bad, tools: tool(schema(throws)), ends: "arguments_invalid" },
    timeout: {
      call: bad,
      tools: tool(schema(forEver)),
      passes: 10_001,
      ends: "arguments_invalid",
    },
    cancel: {
      call: bad,
      tools: tool(schema(async (value) => settled(40).then(() => ({ value })))),
      during: abort,
      ends: "thrown: cancelled",
    },
    deny: {
      call: { tool: "echo", arguments: { to: "hunter2hunter2" } },
      ends: "secret_in_arguments",
    },
    malformed: { call: { tool: "echo", arguments: { to: 7 } }, ends: "arguments_invalid" },
    storage: {
      call: { tool: "echo", arguments: { to: 7 } },
      before: fails("note"),
      ends: "audit_unavailable",
      unlogged: true,
    },
  },
  verdict: {
    throw: { options: { policy: policy(throws) }, ends: "internal" },
    timeout: synchronous,
    cancel: atClaim,
    deny: {
      options: { policy: { rules: [{ effect: "deny", tool: "echo" }] } },
      ends: "permission_denied",
    },
    malformed: {
      options: { policy: policy(() => decision({ verdict: "MAYBE" })) },
      ends: "internal",
    },
    storage: {
      options: { policy: { rules: [{ effect: "deny", tool: "echo" }] } },
      before: fails("note"),
      ends: "audit_unavailable",
      unlogged: true,
    },
  },
  once: {
    throw: { before: fails("read"), call: mail, ends: "internal" },
    timeout: "an embedded store answers at once",
    cancel: atClaim,
    deny: {
      context: { ...asker, idempotencyKey: "k" },
      before: ({ h }) => h.runtime.invoke({ tool: "echo", arguments: { to: "y" } }, { ...asker, idempotencyKey: "k" }),
      ends: "idempotency_conflict",
      ran: 1,
    },
    malformed: { call: bad, tools: risky({ requireIdempotencyKey: true }), ends: "key_required" },
    storage: {
      before: (scene) => {
        fails("read")(scene);
        fails("note")(scene);
      },
      call: mail,
      ends: "audit_unavailable",
      unlogged: true,
    },
  },
};
