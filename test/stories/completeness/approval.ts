import { expect } from "vitest";
import { actor } from "../../fakes/actors.ts";
import { asker, boss } from "../../fakes/runtime-fixture.ts";
import {
  abort,
  approvedBefore,
  bad,
  decide,
  fails,
  failsSecondTime,
  forEver,
  mail,
  type Row,
  risky,
  throws,
  tool,
  wait,
} from "./fault.ts";

/** The approval gate. */
export const approval: Readonly<Record<`approval: ${"preview" | "ask" | "wait" | "decided"}`, Row>> = {
  "approval: preview": {
    throw: {
      options: { autonomy: "A0" },
      call: bad,
      tools: tool({ preview: throws }),
      ends: "preview",
    },
    timeout: {
      options: { autonomy: "A0" },
      call: bad,
      tools: tool({ preview: forEver }),
      passes: 10_001,
      ends: "preview",
    },
    cancel: {
      options: { autonomy: "A0" },
      call: bad,
      tools: tool({ preview: forEver }),
      during: abort,
      ends: "thrown: cancelled",
    },
    deny: { options: { autonomy: "A0" }, ends: "preview" },
    malformed: {
      options: { autonomy: "A0" },
      call: bad,
      tools: tool({ preview: (() => 7n) as never }),
      ends: "preview",
    },
    storage: {
      options: { autonomy: "A0" },
      before: fails("note"),
      ends: "audit_unavailable",
      unlogged: true,
    },
  },
  "approval: ask": {
    throw: {
      options: { approvals: { approver: { name: "bad", ask: throws } } },
      call: mail,
      context: asker,
      ends: "approval_denied",
    },
    timeout: {
      options: { approvals: { approver: { name: "bad", ask: forEver } } },
      call: mail,
      context: { ...asker, approvalWaitMs: 50 },
      passes: 51,
      ends: "approval_timed_out",
    },
    cancel: {
      call: bad,
      tools: risky({ preview: forEver }),
      context: asker,
      during: abort,
      ends: "thrown: cancelled",
    },
    deny: { call: mail, context: { ...asker, patience: "deny" }, ends: "approval_unavailable" },
    malformed: {
      options: { approvals: { approver: { name: "bad", ask: async () => 7 as never } } },
      call: mail,
      context: asker,
      ends: "approval_denied",
    },
    storage: { call: mail, context: wait, before: fails("hold"), ends: "audit_unavailable" },
  },
  "approval: wait": {
    throw: "a wait is the store's follower and two timers; nobody else's code runs",
    timeout: {
      call: mail,
      context: { ...wait, approvalWaitMs: 50 },
      passes: 51,
      ends: "approval_timed_out",
    },
    cancel: { call: mail, context: wait, during: abort, ends: "thrown: cancelled" },
    deny: { call: mail, context: wait, during: decide("denied"), ends: "approval_denied" },
    malformed: {
      call: mail,
      context: { ...wait, approvalWaitMs: 50 },
      during: async (scene) =>
        scene.h.runtime.approvals.decide(await scene.pending(), {
          decision: "modified",
          arguments: { to: 7 },
          by: boss,
        }),
      passes: 51,
      ends: "approval_timed_out",
    },
    storage: {
      call: mail,
      context: { ...wait, approvalWaitMs: 50 },
      during: async (scene) => {
        fails("decide")(scene);
        await expect(decide("approved")(scene)).rejects.toThrow("disk");
      },
      passes: 51,
      ends: "approval_timed_out",
    },
  },
  "approval: decided": {
    throw: {
      call: bad,
      tools: risky({ preview: failsSecondTime(throws) }),
      context: asker,
      before: approvedBefore(),
      ends: "approval_expired",
    },
    timeout: {
      call: bad,
      tools: risky({ preview: failsSecondTime(forEver) }),
      context: asker,
      before: approvedBefore(),
      passes: 10_001,
      ends: "approval_expired",
    },
    cancel: {
      call: bad,
      tools: risky({ preview: failsSecondTime(forEver) }),
      context: asker,
      before: approvedBefore(),
      during: abort,
      ends: "thrown: cancelled",
    },
    deny: {
      options: { autonomy: "A2" },
      call: mail,
      context: asker,
      before: approvedBefore(({ h }) => h.runtime.controls.setTool("mail", false, actor("operator"))),
      ends: "tool_unavailable",
    },
    malformed: {
      call: bad,
      tools: risky({}),
      context: asker,
      before: approvedBefore(
        ({ h }) =>
          void h.runtime.tools.register({ ...risky({ description: "Other." })[0] } as never, {
            replace: true,
          }),
      ),
      ends: "approval_expired",
    },
    storage: {
      call: bad,
      tools: risky({ preview: failsSecondTime(throws) }),
      context: asker,
      before: approvedBefore(fails("decide")),
      ends: "audit_unavailable",
    },
  },
};
