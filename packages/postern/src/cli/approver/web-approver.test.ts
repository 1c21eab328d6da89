import { describe, expect, it } from "vitest";
import { asker, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { settled } from "../../../../core/src/testing/clock.ts";
import { createWebApprover } from "./index.ts";

const at = "http://app.example/decide";
const mail = { tool: "mail", arguments: { to: "<b>bob</b>" } } as const;
const waits = { ...asker, patience: "wait" } as const;

async function scene() {
  const web = createWebApprover({ path: "/decide", person: (request) => request.headers.get("x-user") ?? undefined });
  const h = await runtimeFixture({ approvals: { approver: web, patience: "wait" } });
  const send = (path: string, init: RequestInit = {}, user = "ann"): Promise<Response> =>
    web.fetch(new Request(`${at}${path}`, { ...init, headers: { "x-user": user, ...init.headers } }));
  const decide = async (id: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    send(`/requests/${id}`, { method: "POST", body: JSON.stringify(body), headers });
  const open = async (): Promise<{ approval_id: string }[]> => {
    const { requests } = (await (await send("/requests")).json()) as { requests: { approval_id: string }[] };
    return requests;
  };
  const asked = async () => {
    const outcome = h.runtime.invoke(mail, waits);
    await expect.poll(open).toHaveLength(1);
    return { outcome, id: (await open())[0]?.approval_id ?? "" };
  };
  return { h, send, decide, open, asked, [Symbol.asyncDispose]: () => h.runtime.close() };
}

describe("a web approver in an HTTP server of one's own", () => {
  it("lists the request and takes the decision of the person who is signed in", async () => {
    await using s = await scene();
    const { outcome, id } = await s.asked();
    expect(await s.open()).toMatchObject([{ status: "pending", what: { tool: "mail", arguments: mail.arguments } }]);
    expect(await (await s.decide(id, { decision: "approved", reason: "known" })).json()).toMatchObject({ by: "ann" });
    expect(await outcome).toMatchObject({ status: "ok" });
    expect(s.h.ran).toEqual([mail.arguments]);
    expect((await s.h.runtime.approvals.get(id))?.decision).toMatchObject({
      as: "approved",
      by: "ann",
      reason: "known",
    });
    expect(await s.open()).toEqual([]);
    expect((await s.decide(id, { decision: "denied" })).status).toBe(404);
  });

  it.each(["denied", "skipped"])("runs nothing when it is %s", async (decision) => {
    await using s = await scene();
    const { outcome, id } = await s.asked();
    await s.decide(id, { decision });
    expect((await outcome).refusal?.code).toBe(`approval_${decision}`);
    expect(s.h.ran).toEqual([]);
  });

  it("runs other arguments when a person writes them", async () => {
    await using s = await scene();
    const { outcome, id } = await s.asked();
    await s.decide(id, { decision: "modified", arguments: { to: "carol" } });
    await outcome;
    expect(s.h.ran).toEqual([{ to: "carol" }]);
  });

  it("shows a page whose form decides, with every text escaped and no script", async () => {
    await using s = await scene();
    const { outcome, id } = await s.asked();
    const page = await s.send("");
    const html = await page.text();
    expect(html).toContain("to = &lt;b&gt;bob&lt;/b&gt;");
    expect(html).not.toContain("<b>");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const [, action = ""] = /action="([^"]+)"/.exec(html) ?? [];
    expect(action).toBe(`/decide/requests/${id}`);
    const form = { method: "POST", body: new URLSearchParams({ decision: "approved", reason: "" }) };
    const answer = await s.send(action.slice("/decide".length), { ...form, headers: { origin: "http://app.example" } });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/decide"]);
    expect(await outcome).toMatchObject({ status: "ok" });
    expect(await (await s.send("")).text()).toContain("No call waits for a decision.");
  });

  it.each([
    { origin: "https://evil.example" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "null" },
  ])("takes no decision from a page of another site: %j", async (headers) => {
    await using s = await scene();
    const { id } = await s.asked();
    expect((await s.decide(id, { decision: "approved" }, headers as Record<string, string>)).status).toBe(403);
    expect(await s.open()).toHaveLength(1);
  });

  it("shows and decides nothing for a person who is not signed in", async () => {
    await using s = await scene();
    const { id } = await s.asked();
    for (const path of ["", "/requests", `/requests/${id}`]) expect((await s.send(path, {}, "")).status).toBe(401);
    expect((await s.send(`/requests/${id}`, { method: "POST", body: '{"decision":"approved"}' }, "")).status).toBe(401);
    expect(await s.open()).toHaveLength(1);
  });

  it.each(["{", "[]", '{"decision":"yes"}', '{"decision":"modified"}'])(
    "refuses %s and keeps the request open",
    async (body) => {
      await using s = await scene();
      const { id } = await s.asked();
      expect((await s.send(`/requests/${id}`, { method: "POST", body })).status).toBe(422);
      expect(await s.open()).toHaveLength(1);
    },
  );

  it("closes a request that was answered elsewhere", async () => {
    await using s = await scene();
    const { outcome, id } = await s.asked();
    await s.h.runtime.approvals.decide(id, { decision: "denied", by: { user: "boss" } });
    await outcome;
    await settled();
    expect(await s.open()).toEqual([]);
  });
});
