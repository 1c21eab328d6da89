import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asker } from "../../fakes/runtime-fixture.ts";
import { abort, bad, fails, forEver, mail, type Row, risky, throws, tool } from "./fault.ts";

/** From the claim on. */
export const after: Readonly<Record<"claim" | "execute" | "shape" | "settle", Row>> = {
  claim: {
    throw: "one write; nobody else's code runs",
    timeout: {
      context: { ...asker, deadline: Date.UTC(2026, 10, 20) - 1 },
      ends: "thrown: cancelled",
    },
    cancel: { before: abort, ends: "thrown: cancelled" },
    deny: {
      call: { tool: "mail", arguments: { to: "x", slow: true } },
      options: { autonomy: "A4" },
      context: { ...asker, idempotencyKey: "k" },
      before: ({ h, clock }) => {
        h.runtime
          .invoke(
            { tool: "mail", arguments: { to: "x", slow: true } },
            { ...asker, idempotencyKey: "k", deadline: clock.now() + 5 },
          )
          .catch(() => {});
        return clock.advance(1);
      },
      passes: 10,
      ends: "in_progress",
      ran: 1,
    },
    malformed: "what is claimed was made by the gates before",
    storage: { before: fails("claim"), ends: "audit_unavailable" },
  },
  execute: {
    throw: { call: bad, tools: tool({ execute: throws }), ends: "tool_failed" },
    timeout: {
      call: bad,
      tools: risky({ timeoutMs: 50, execute: forEver }),
      options: { autonomy: "A4" },
      passes: 51,
      ends: "outcome_unknown",
    },
    cancel: {
      call: bad,
      tools: risky({ execute: forEver }),
      options: { autonomy: "A4" },
      during: abort,
      ends: "thrown: cancelled",
    },
    deny: {
      call: bad,
      tools: tool({ execute: () => ({ content: [{ type: "text", text: "no" }], isError: true }) }),
      ends: "tool_failed",
    },
    malformed: { call: bad, tools: tool({ execute: () => 7n }), ends: "result_unavailable" },
    storage: "a tool's own storage is the tool's; ours is written before and after",
  },
  shape: {
    throw: { call: bad, tools: tool({ execute: () => "POISON" }), ends: "result_unavailable" },
    timeout: "an artifact store answers or fails",
    cancel: "the tool has run: it is too late to cancel",
    deny: {
      call: bad,
      tools: tool({
        execute: () => ({ content: [{ type: "text", text: "x".repeat(10_000) }], isError: true }),
      }),
      ends: "tool_failed",
    },
    malformed: {
      call: bad,
      tools: tool({ execute: () => ({ structured: Symbol("x") }) }),
      ends: "result_unavailable",
    },
    storage: {
      call: bad,
      tools: tool({ execute: () => "x".repeat(10_000) }),
      before: ({ folder }) => {
        rmSync(join(folder, "artifacts"), { recursive: true });
        writeFileSync(join(folder, "artifacts"), "");
      },
      ends: "result_unavailable",
    },
  },
  settle: {
    throw: "whatever throws on the way is an end of its own (`unclear`)",
    timeout: { before: fails("settle", 2), passes: 1000, ends: "ok", ran: 1 },
    cancel: "the tool has run: it is too late to cancel",
    deny: "only the fence that claimed may settle, and it is this one",
    malformed: "what is settled was made by `shape`",
    storage: {
      call: mail,
      options: { autonomy: "A4" },
      before: fails("settle"),
      passes: 1000,
      ends: "outcome_unknown",
      unlogged: true,
      ran: 1,
    },
  },
};
