import type { Json } from "@postern/core";
import { digestOf, sha256 } from "@postern/core/system";
import { describe, expect, it } from "vitest";
import { approvalScene } from "../../../../../test/fakes/approval-scene.ts";

describe("one approval", () => {
  it("shows what will run, its digest, its schema, whom it is sent to, and what the agent says of it", async () => {
    const { get, held } = await approvalScene({
      approvals: { patience: "suspend", routes: [{ name: "two", quorum: 2 }] },
    });
    const id = await held("é", { reason: "the user wants it" });
    const [status, approval] = await get(`/v1/approvals/${id}`);
    expect([status, approval]).toMatchObject([
      200,
      {
        status: "pending",
        what: { tool: "mail", arguments: { to: "é" } },
        digest: sha256('{"to":"é"}'),
        input_schema: { type: "object", required: ["to"] },
        routed: { rule: "two", to: {}, quorum: 2, typed_confirmation: false, signed_in: false },
        votes: [],
        quorum_left: 2,
        remembers_allowed: false,
        run_calls: 1,
        reason: "the user wants it",
        on_expiry: "denied",
      },
    ]);
  });

  it.each([
    ["text", { summary: "what happens" }],
    ["diff", { summary: "a patch", diff: "-a\n+b" }],
    [
      "table",
      {
        summary: "2 rows",
        table: {
          columns: ["id", "name"],
          rows: [
            ["1", "Ann"],
            [2, null],
          ],
        },
      },
    ],
    ["message", { summary: "a mail", message: { to: ["ann@x.org"], subject: "Hi", body: "There\nyou are" } }],
  ])("shows a preview of kind %s as such", async (kind, preview) => {
    const tool = {
      name: "show",
      description: "Shows.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object" },
      preview: async () => preview,
      execute: () => "done",
    } as const;
    const { get, held } = await approvalScene({}, [tool as never]);
    const [, approval] = await get(`/v1/approvals/${await held("x", {}, "show")}`);
    const shown = JSON.parse(JSON.stringify(preview).replace("[2,null]", '["2","null"]'));
    expect(approval["preview"]).toEqual({ kind, ...shown, supported: true });
    expect(approval["preview_digest"]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("is not decided when it changed since it was rendered: 409 with what it is now", async () => {
    const { get, post, held } = await approvalScene();
    const id = await held("x");
    const [, { shown_digest, binding }] = await get(`/v1/approvals/${id}`);
    for (const other of ["0".repeat(64), sha256('{"to":"x"}'), binding])
      expect(await post(`/v1/approvals/${id}/approve`, { expected_digest: other })).toMatchObject([
        409,
        {
          error: { code: "approval_changed" },
          approval: { approval_id: id, shown_digest, expires_at: expect.stringMatching(/Z$/) },
        },
      ]);
    expect(await post(`/v1/approvals/${id}/approve`, { expected_digest: shown_digest })).toMatchObject([
      200,
      { status: "approved", quorum_left: 0, votes: [{ by: "operator", as: "approved" }] },
    ]);
  });

  it("has a digest of all that is shown, which a reader can compute again", async () => {
    const { get, held } = await approvalScene();
    const [, approval] = await get(`/v1/approvals/${await held("x")}`);
    const { binding, digest, preview_digest = null, risk_level, summary = null, why } = approval;
    const shown = { binding, digest, preview_digest, preview_problem: null, risk_level, summary, why };
    expect(approval["shown_digest"]).toBe(digestOf(shown as Json)); // the answer was JSON
  });

  it("requires the tool's name if a route does, and reads it from the body", async () => {
    const { post, held } = await approvalScene();
    const id = await held("x", {}, "drop");
    expect(await post(`/v1/approvals/${id}/approve`)).toMatchObject([422, { error: { code: "confirmation_needed" } }]);
    expect(await post(`/v1/approvals/${id}/approve`, { confirmation: "drop" })).toMatchObject([
      200,
      { status: "approved" },
    ]);
  });

  it.each([
    ["a digest that is none", "approve", { expected_digest: "x" }],
    ["a field it does not know", "approve", { by: "ann" }],
    ["a remembered no", "deny", { remember: { for: "run", reason: "r" } }],
    ["an edit that is no object", "modify", { arguments: [] }],
    ["a span that is none", "approve", { remember: { for: "ever", reason: "r" } }],
  ])("refuses %s before anything is decided", async (_, verb, body) => {
    const { get, post, held } = await approvalScene();
    const id = await held("x");
    expect((await post(`/v1/approvals/${id}/${verb}`, body))[0]).toBe(422);
    expect((await get(`/v1/approvals/${id}`))[1]).toMatchObject({ status: "pending" });
  });

  it("is revoked before it is used, by who decides and not by the agent", async () => {
    const { post, held } = await approvalScene();
    const id = await held("x");
    expect(await post(`/v1/approvals/${id}/revoke`)).toMatchObject([409, { error: { code: "approval_decided" } }]);
    await post(`/v1/approvals/${id}/approve`);
    expect((await post(`/v1/approvals/${id}/revoke`, {}, "agent"))[0]).toBe(403);
    expect(await post(`/v1/approvals/${id}/revoke`, { reason: "no" })).toMatchObject([
      200,
      { status: "withdrawn", decision: { as: "revoked", by: "operator", reason: "no" } },
    ]);
    expect((await post(`/v1/approvals/${id}/resume`, {}, "agent"))[0]).toBeGreaterThanOrEqual(400);
  });

  it("is taken back by the agent that asked", async () => {
    const { post, held } = await approvalScene();
    const id = await held("x");
    expect(await post(`/v1/approvals/${id}/withdraw`, {}, "agent")).toMatchObject([
      200,
      { status: "withdrawn", decision: { by: "local-agent" } },
    ]);
  });
});

describe("a batch", () => {
  it("answers for each, and refuses a mixed one as a whole", async () => {
    const { post, held } = await approvalScene();
    const ids = [await held("1", { run_id: "r" }), await held("2", { run_id: "r" })];
    const other = await held("3", { run_id: "other" });
    expect(await post("/v1/approvals/batch", { ids: [...ids, other], decision: "approved" })).toMatchObject([
      422,
      { error: { code: "batch_refused" } },
    ]);
    expect(await post("/v1/approvals/batch", { ids, decision: "denied", reason: "no" })).toMatchObject([
      200,
      { answers: ids.map((approval_id) => ({ approval_id, decided: true, approval: { status: "denied" } })) },
    ]);
    expect(await post("/v1/approvals/batch", { ids, decision: "approved" })).toMatchObject([
      200,
      { answers: [{ decided: false, error: { code: "approval_decided" } }, {}] },
    ]);
    expect((await post("/v1/approvals/batch", { ids, decision: "approved" }, "agent"))[0]).toBe(403);
  });
});

describe("grants", () => {
  it("leave the names in a value that is held as they are", async () => {
    const { get, post, held } = await approvalScene();
    const value = { at_most: 1, oneOf: [{ one_of: 2 }] };
    const { arguments: conditions } = { arguments: { "$.to": { one_of: ["x", value], not: { equals: "z" } } } };
    const remember = { scope: { arguments: conditions }, for: "run", reason: "these" };
    const [status, { grant }] = await post(`/v1/approvals/${await held("x")}/approve`, { remember });
    expect([status, grant]).toMatchObject([200, { scope: { arguments: conditions } }]);
    expect((await get("/v1/grants"))[1]).toMatchObject({ grants: [{ scope: { arguments: conditions } }] });
  });

  it("name the credential of who gave them and of who took them back, as votes and edits do", async () => {
    const via = "token:operator";
    const routes = [{ match: { tools: ["drop"] }, quorum: 2, typedConfirmation: false, signedIn: false }];
    const { post, held } = await approvalScene({ approvals: { patience: "suspend", routes } });
    const id = await held("x", {}, "drop");
    expect(await post(`/v1/approvals/${id}/modify`, { arguments: { to: "y" } })).toMatchObject([
      200,
      { status: "pending", votes: [{ by: "operator", via }], edited: { by: "operator", via } },
    ]);
    const remember = { for: "run", reason: "these" };
    const [, { decision, grant }] = await post(`/v1/approvals/${await held("x")}/approve`, { remember });
    expect([decision, grant]).toMatchObject([
      { by: "operator", via },
      { by: "operator", via },
    ]);
    const { grant_id } = grant as { grant_id: string };
    expect((await post(`/v1/grants/${grant_id}/revoke`))[1]).toMatchObject({ revoked: { by: "operator", via } });
  });

  it("are made with a yes, listed, named in explain, and revoked", async () => {
    const { get, post, held } = await approvalScene();
    const remember = {
      scope: { tool: "mail", arguments: { "$.to": { one_of: ["x", "y"] } } },
      for: { until: "2026-11-21T00:00:00Z" },
      reason: "only these two",
    };
    const [status, decided] = await post(`/v1/approvals/${await held("x")}/approve`, { remember });
    expect([status, decided]).toMatchObject([
      200,
      {
        status: "approved",
        grant: {
          status: "live",
          scope: { tool: "mail", action: "default", arguments: { "$.to": { one_of: ["x", "y"] } } },
          granted_to: { agent: "local-agent" },
          for: "time",
          until: "2026-11-21T00:00:00.000Z",
          by: "operator",
          uses: 0,
        },
      },
    ]);
    const { grant_id: id } = decided["grant"] as { grant_id: string };
    const explain = { tool: "mail", arguments: { to: "y" } };
    expect((await post("/v1/explain", explain, "agent"))[1]).toMatchObject({
      decision: {
        verdict: "CONFIRM",
        reasons: expect.arrayContaining([{ rule: expect.stringContaining(id), effect: "ALLOW" }]),
      },
    });
    expect((await post("/v1/calls", explain, "agent"))[0]).toBe(200);
    expect((await get("/v1/grants?state=live", "agent"))[1]).toMatchObject({ grants: [{ grant_id: id, uses: 1 }] });
    expect((await post(`/v1/grants/${id}/revoke`, {}, "agent"))[0]).toBe(403);
    expect(await post(`/v1/grants/${id}/revoke`, { reason: "enough" })).toMatchObject([
      200,
      { status: "revoked", revoked: { by: "operator", reason: "enough" } },
    ]);
    expect((await post("/v1/calls", { ...explain, arguments: { to: "y", slow: false } }, "agent"))[0]).toBe(202);
    expect((await post("/v1/grants/grt_none/revoke"))[0]).toBe(404);
  });
});
