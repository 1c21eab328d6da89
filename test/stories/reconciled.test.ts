/** A tool that finds out later how its call ended, and with which answer. */
import { describe, expect, it } from "vitest";
import type { CallContext, RuntimeOptions, ToolContext } from "../../packages/postern/src/index.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { probe } from "../fakes/probe.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const keyed: CallContext = { ...asker, idempotencyKey: "k" };
const call = { tool: "probe", arguments: { n: 1 } };

/** Makes a call that is cut off, whose hook returns this answer. */
async function lost(
  found: (context: ToolContext) => unknown,
  options: RuntimeOptions = {},
): Promise<RuntimeFixture & { readonly id: string }> {
  const execute = (): never => {
    throw Object.assign(new Error("gone"), { unknown: true });
  };
  const reconcile = async (_: unknown, context: ToolContext): Promise<unknown> => found(context);
  const tool = { risk: "high", effects: "write", idempotent: false, execute, reconcile } as const;
  const h = await runtimeFixture({ autonomy: "A4", ...options }, probe(tool as never));
  const { callId } = await h.runtime.invoke(call, keyed);
  return { ...h, id: callId };
}

describe("the answer of a reconcile hook", () => {
  it.each([
    ["text", "sent as 17", { text: "sent as 17" }],
    ["structured", { structured: { id: 17 } }, { structured: { id: 17 }, text: '{"id":17}' }],
    [
      "content",
      { content: [{ type: "text", text: "one" }] },
      { text: "one", content: [{ type: "text", text: "one" }] },
    ],
    ["plain JSON", { id: 17 }, { structured: { id: 17 } }],
  ] as const)("as %s is what the same call gets from then on", async (_, answer, outcome) => {
    await using h = await lost(() => ({ found: "succeeded", answer }));
    expect(await h.runtime.ledger.reconcile(h.id)).toMatchObject({ settled: true, call: { state: "ok", outcome } });
    expect(await h.runtime.invoke(call, keyed)).toMatchObject({ status: "ok", replayed: true, ...outcome });
    const [event] = await h.runtime.audit.query({ type: "operator.call_settled" });
    expect(event).toMatchObject({ decided_by: "tool:probe", reason: "succeeded: the tool found its answer" });
  });

  it("is redacted and shaped like any answer", async () => {
    const redactor = createRedactor();
    const environment = { POSTERN_SECRET_MAIL_TOKEN: "s3cr3t-v4lue-0123456789" };
    const secrets = environmentSecrets({ redactor, environment });
    const find = async (context: ToolContext): Promise<object> => {
      const token = (await context.secrets.get("mail", "token")).reveal();
      return { found: "succeeded", answer: `token ${token} ${"x".repeat(100_000)}` };
    };
    await using h = await lost(find, { secrets, redactor });
    await h.runtime.ledger.reconcile(h.id);
    const again = await h.runtime.invoke(call, keyed);
    expect(again).toMatchObject({ status: "ok", artifact: expect.any(String) });
    expect(again.text.length).toBeLessThan(100_000);
    expect(JSON.stringify(again)).not.toContain("s3cr3t");
    const { bytes } = await h.runtime.artifacts.open(again.artifact ?? "", asker.principal);
    expect(Buffer.from(bytes).toString()).not.toContain("s3cr3t");
  });

  it("passes the guardrails on results", async () => {
    const check = () => [{ effect: "WITHHOLD", why: "no" }] as const;
    const guardrails = [{ name: "shy", on: "result", check }] as never;
    await using h = await lost(() => ({ found: "succeeded", answer: "sent" }), { guardrails });
    await h.runtime.ledger.reconcile(h.id);
    const again = await h.runtime.invoke(call, keyed);
    expect(again).toMatchObject({ status: "error", refusal: { code: "result_withheld" } });
  });

  it("is a failure if it is an error", async () => {
    await using h = await lost(() => ({ found: "succeeded", answer: { content: "no such box", isError: true } }));
    expect(await h.runtime.ledger.reconcile(h.id)).toMatchObject({ settled: true, call: { state: "failed" } });
    const again = await h.runtime.invoke(call, keyed);
    expect(again).toMatchObject({ status: "error", replayed: true, text: "no such box" });
  });

  it("may be missing: the outcome then names the person who settled the call", async () => {
    await using h = await lost(() => ({ found: "succeeded" }));
    await h.runtime.ledger.reconcile(h.id);
    const again = await h.runtime.invoke(call, keyed);
    expect(again.text).toBe("Settled by tool:probe as succeeded: the tool found that it happened.");
  });
});

it.each([undefined, null, "succeeded", {}, { found: "maybe" }])(
  "leaves the call unknown if it is %j",
  async (answer) => {
    await using h = await lost(() => answer);
    expect(await h.runtime.ledger.reconcile(h.id)).toMatchObject({ settled: false, why: "still_unknown" });
    expect((await h.runtime.invoke(call, keyed)).refusal?.code).toBe("outcome_unknown");
  },
);
