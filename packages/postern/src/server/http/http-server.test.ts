import { refusal, roles } from "@postern/core";
import { describe, expect, it } from "vitest";
import { bodyOf, stubFixture } from "../../../../../test/fakes/http-fixture.ts";
import { anApproval, anOutcome, aRecord } from "../../../../../test/fakes/stub-runtime.ts";

const scene = stubFixture();

describe("calls", () => {
  it("tells the runtime who calls by the token alone, and only the scopes that the token grants", async () => {
    await scene.ask("/v1/calls", {
      as: "agent",
      body: {
        tool: "echo",
        scopes: ["mail:read", "mail:write"],
        run_id: "r1",
        trace_id: "0123456789abcdef0123456789abcdef",
        task_id: "k1",
        step_id: "s1",
        tool_call_id: "toolu_1",
        reason: "to greet",
        autonomy: "A1",
        patience: "wait",
        approval_wait_ms: 5,
      },
    });
    expect(scene.requests[0]?.[2]).toMatchObject({
      principal: { tenant: "default", agent: "local-agent", via: "token:agent" },
      scopes: ["mail:read"],
      runId: "r1",
      traceId: "0123456789abcdef0123456789abcdef",
      taskId: "k1",
      stepId: "s1",
      toolCallId: "toolu_1",
      reason: "to greet",
      autonomy: "A1",
      patience: "wait",
      approvalWaitMs: 5,
    });
  });

  it("takes the idempotency key from the header or the body, and refuses two different ones", async () => {
    await scene.ask("/v1/calls", {
      as: "agent",
      body: { tool: "echo" },
      headers: { "idempotency-key": "k1" },
    });
    expect(scene.requests[0]?.[2]).toMatchObject({ idempotencyKey: "k1" });
    const two = await scene.ask("/v1/calls", {
      as: "agent",
      body: { tool: "echo", idempotency_key: "k2" },
      headers: { "idempotency-key": "k1" },
    });
    expect(two.status).toBe(422);
  });

  it("answers 202 for a held call, with how to approve it (case 88)", async () => {
    await scene.open({
      outcome: anOutcome({
        status: "pending",
        approvalId: "apr_1",
        expiresAt: Date.UTC(2026, 10, 20),
      }),
    });
    const response = await scene.ask("/v1/calls", { as: "agent", body: { tool: "mail" } });
    expect(response.status).toBe(202);
    expect(await bodyOf(response)).toMatchObject({
      status: "pending",
      approval_id: "apr_1",
      expires_at: "2026-11-20T00:00:00.000Z",
      how_to_approve: "A person decides in the Postern console.",
    });
  });

  it("answers a refused call with the refusal's own number, and the outcome as the body", async () => {
    for (const [code, http] of [
      ["tool_unknown", 404],
      ["cancelled", 499],
      ["budget_exhausted", 429],
      ["result_unavailable", 507],
    ] as const) {
      await scene.open({ outcome: anOutcome({ status: "error", refusal: refusal(code) }) });
      const response = await scene.ask("/v1/calls", { as: "agent", body: { tool: "echo" } });
      expect(response.status).toBe(http);
      expect(await bodyOf(response)).toMatchObject({ call_id: "call_1", refusal: { code } });
    }
  });

  it("aborts the call's signal when the client goes away (case 98)", async () => {
    const leaving = new AbortController();
    const headers = {
      authorization: `Bearer ${scene.tokens.agent}`,
      "content-type": "application/json",
    };
    await scene.server.fetch(
      new Request("http://127.0.0.1:7420/v1/calls", {
        method: "POST",
        headers,
        body: '{"tool":"echo"}',
        signal: leaving.signal,
      }),
    );
    const signal = (scene.requests[0]?.[2] as { signal?: AbortSignal } | undefined)?.signal;
    expect(signal?.aborted).toBe(false);
    leaving.abort();
    expect(signal?.aborted).toBe(true);
  });

  it("settles an unknown call by the operator's word", async () => {
    await scene.ask(`/v1/calls/${aRecord().call.id}/settle`, {
      as: "operator",
      body: { outcome: "failed", reason: "not in the outbox" },
    });
    expect(scene.requests).toEqual([
      ["settle", aRecord().call.id, "failed", "not in the outbox", { by: "operator", via: "token:operator" }],
    ]);
  });
});

describe("approvals", () => {
  it("names the decider by the token, never by the body", async () => {
    await scene.ask("/v1/approvals/apr_1/approve", { as: "operator", body: { reason: "fine" } });
    expect(scene.requests).toEqual([
      [
        "decide",
        "apr_1",
        {
          decision: "approved",
          reason: "fine",
          by: { user: "operator", via: "token:operator", tenant: "default", roles },
        },
      ],
    ]);
    expect((await scene.ask("/v1/approvals/apr_1/approve", { as: "operator", body: { by: "boss" } })).status).toBe(422);
  });

  it("answers 409 with the record to a second decision, and 404 to an unknown id (case 93)", async () => {
    const approval = { ...anApproval(), state: "denied" as const };
    await scene.open({
      decided: { decided: false, code: "approval_decided", message: "It was denied.", approval },
    });
    const second = await scene.ask("/v1/approvals/apr_1/approve", { as: "operator", body: {} });
    expect(second.status).toBe(409);
    expect(await bodyOf(second)).toMatchObject({
      error: { code: "approval_decided" },
      approval: { approval_id: "apr_1", status: "denied" },
    });
    expect((await scene.ask("/v1/approvals/apr_2/approve", { as: "operator", body: {} })).status).toBe(404);
  });

  it("answers 410 to a decision that came too late", async () => {
    await scene.open({ decided: { decided: false, code: "approval_expired", message: "It expired." } });
    expect((await scene.ask("/v1/approvals/apr_1/deny", { as: "operator", body: {} })).status).toBe(410);
  });

  it("refuses to modify without arguments, and to approve with arguments (case 95)", async () => {
    expect((await scene.ask("/v1/approvals/apr_1/modify", { as: "operator", body: {} })).status).toBe(422);
    expect(
      (
        await scene.ask("/v1/approvals/apr_1/approve", {
          as: "operator",
          body: { arguments: { to: "b" } },
        })
      ).status,
    ).toBe(422);
    expect(scene.requests).toEqual([]);
    await scene.ask("/v1/approvals/apr_1/modify", {
      as: "operator",
      body: { arguments: { to: "b" } },
    });
    expect(scene.requests[0]?.[2]).toMatchObject({ decision: "modified", arguments: { to: "b" } });
  });

  it("shows what would run, why, the risk, the level, the expiry and the trace (case 89)", async () => {
    expect(await bodyOf(await scene.ask("/v1/approvals/apr_1", { as: "operator" }))).toMatchObject({
      approval_id: "apr_1",
      status: "pending",
      created_at: "2026-11-20T00:00:00.000Z",
      expires_at: "2026-11-20T01:00:00.000Z",
      trace_id: "00000000000000000000000000000001",
      risk_level: "high",
      autonomy_level: "A2",
      what: { tool: "mail", action: "default", arguments: { to: "a" } },
      why: [{ rule: "matrix A2/high", effect: "CONFIRM" }],
    });
  });

  it("decides without any body at all", async () => {
    expect((await scene.ask("/v1/approvals/apr_1/deny", { as: "operator", method: "POST" })).status).toBe(200);
  });
});
