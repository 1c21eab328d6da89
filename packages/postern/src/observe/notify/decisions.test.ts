import { randomBytes } from "node:crypto";
import type { Principal } from "@postern/core";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { asker, eventTypes, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { shownDigest } from "../../approvals/binding.ts";
import { keyFrom, sign } from "./signature.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const key = keyFrom(secret) ?? Buffer.alloc(0);
const secrets = { get: async () => ({ reveal: () => secret }) } as never;
const hook = {
  ...{ name: "chat", url: "https://chat.example/hook", secret: "secret://chat/key" },
  users: { U123: "ann", constructor: "ann" },
  events: ["alarm.resolved"] as const,
};

async function room(
  more: Parameters<typeof runtimeFixture>[0] = {},
): Promise<{ h: RuntimeFixture; http: HttpFixture } & AsyncDisposable> {
  const h = await runtimeFixture({ secrets, channels: { webhooks: [hook] }, ...more });
  const http = await httpFixture(h.runtime, { clock: h.clock });
  return {
    ...{ h, http },
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
      await h.runtime.close();
    },
  };
}

async function asked(h: RuntimeFixture, tool = "mail", principal: Principal = asker.principal): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke({ tool, arguments: { to: "x" } }, { principal });
  return approvalId;
}

interface Sent {
  readonly id?: string;
  /** Seconds beside the server's clock. */
  readonly late?: number;
  readonly signature?: string;
  readonly channel?: string;
}

/** A yes as a program sends it: with the digest of what the notice was made of. */
async function yes(h: RuntimeFixture, id: string): Promise<object> {
  const approval = await h.runtime.approvals.get(id);
  const digest = approval && shownDigest(approval);
  return { approval_id: id, decision: "approved", user: "U123", expected_digest: digest };
}

function send(
  { h, http }: { h: RuntimeFixture; http: HttpFixture },
  body: object | string,
  sent: Sent = {},
): Promise<Response> {
  const { id = `msg_${randomBytes(8).toString("hex")}`, late = 0, channel = "chat" } = sent;
  const raw = typeof body === "string" ? body : JSON.stringify(body);
  const timestamp = Math.floor(h.clock.now() / 1000) - late;
  const signature = sent.signature ?? sign(key, { id, timestamp, body: raw });
  const headers = { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signature };
  return http.ask(`/v1/channels/${channel}/decisions`, { method: "POST", raw, headers });
}

const codeOf = async (response: Response): Promise<unknown> =>
  ((await bodyOf(response))["error"] as { code?: unknown } | undefined)?.code;

describe("a decision through a channel", () => {
  it("is made by the mapped user, and runs nothing by itself", async () => {
    await using r = await room();
    const id = await asked(r.h);
    const body = { ...(await yes(r.h, id)), reason: "fine" };
    const response = await send(r, body);
    expect([response.status, await bodyOf(response)]).toEqual([
      200,
      { approval_id: id, status: "approved", decided_as: "approved" },
    ]);
    expect((await r.h.runtime.approvals.get(id))?.decision).toMatchObject({
      by: "ann",
      via: "channel:chat",
      reason: "fine",
    });
    expect(r.h.ran).toEqual([]);
    expect((await r.h.runtime.resume(id))?.status).toBe("ok");
  });

  it("is signed as the Standard Webhooks library signs", async () => {
    await using r = await room();
    const id = await asked(r.h);
    const raw = JSON.stringify({ approval_id: id, decision: "denied", user: "U123" });
    const signature = new Webhook(secret).sign("msg_1", new Date(r.h.clock.now()), raw);
    expect((await send(r, raw, { id: "msg_1", signature })).status).toBe(200);
  });

  it.each<[string, Sent]>([
    ["signed by another key", { signature: sign(Buffer.alloc(32), { id: "m", timestamp: 1, body: "{}" }) }],
    ["not signed", { signature: "" }],
    ["older than five minutes", { late: 301 }],
    ["more than five minutes ahead", { late: -301 }],
    ["for a channel that is not there", { channel: "other" }],
  ])("is refused when it is %s, all in the same words", async (_, sent) => {
    await using r = await room();
    const id = await asked(r.h);
    const response = await send(r, await yes(r.h, id), sent);
    expect(response.status).toBe(401);
    expect(await bodyOf(response)).toEqual({
      error: expect.objectContaining({
        code: "signature_refused",
        message: "The signature, its id or its timestamp is not good for this channel.",
      }),
    });
    expect((await r.h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("acts once: a replay is refused, also after a restart of the check", async () => {
    await using r = await room();
    const [one, two] = [await asked(r.h), await asked(r.h, "mail", { ...asker.principal, agent: "b" })];
    const body = await yes(r.h, one);
    expect((await send(r, body, { id: "msg_same" })).status).toBe(200);
    const again = await send(r, body, { id: "msg_same" });
    expect([again.status, await codeOf(again)]).toEqual([409, "webhook_replayed"]);
    const other = await send(r, { ...body, approval_id: two }, { id: "msg_same" });
    expect(other.status).toBe(409);
    expect((await r.h.runtime.approvals.get(two))?.state).toBe("pending");
  });

  it("is made once if it is sent a hundred times at once", async () => {
    await using r = await room();
    const id = await asked(r.h);
    const body = await yes(r.h, id);
    const all = await Promise.all(Array.from({ length: 100 }, () => send(r, body, { id: "msg_same" })));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await eventTypes(r.h.runtime)).filter((type) => type === "gate.approved")).toHaveLength(1);
  });

  it("is refused for a critical call", async () => {
    await using r = await room();
    const id = await asked(r.h, "drop");
    const response = await send(r, await yes(r.h, id));
    expect([response.status, await codeOf(response)]).toEqual([403, "console_only"]);
    expect((await r.h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it.each(["U999", "ann", "__proto__", "toString"])("is refused for a user without a mapping (%s)", async (user) => {
    await using r = await room();
    const id = await asked(r.h);
    const response = await send(r, { ...(await yes(r.h, id)), user });
    expect([response.status, await codeOf(response)]).toEqual([403, "decider_unknown"]);
  });

  it("finds no approval of another tenant", async () => {
    await using r = await room();
    const id = await asked(r.h, "mail", { ...asker.principal, tenant: "acme" });
    const response = await send(r, await yes(r.h, id));
    expect([response.status, await codeOf(response)]).toEqual([404, "approval_unknown"]);
  });

  it("needs a role that decides, if the user has an account", async () => {
    await using r = await room();
    const admin = { by: "operator", via: "token:operator" };
    await r.h.runtime.accounts.add({ name: "ann", roles: ["viewer"] }, admin);
    const id = await asked(r.h);
    const body = await yes(r.h, id);
    expect(await codeOf(await send(r, body))).toBe("decider_unknown");
    await r.h.runtime.accounts.change("ann", { roles: ["approver"] }, admin);
    expect((await send(r, body)).status).toBe(200);
    await r.h.runtime.accounts.change("ann", { disabled: true }, admin);
    expect(
      await codeOf(await send(r, await yes(r.h, await asked(r.h, "mail", { ...asker.principal, agent: "b" })))),
    ).toBe("decider_unknown");
  });

  it.each([
    ["no JSON", "nonsense"],
    ["an edit", { approval_id: "a", decision: "modified", user: "U123" }],
    ["an unknown field", { approval_id: "a", decision: "approved", user: "U123", by: "root" }],
    ["no user", { approval_id: "a", decision: "approved" }],
    ["a reason without end", { approval_id: "a", decision: "approved", user: "U123", reason: "x".repeat(2_001) }],
    ["a yes that does not say to what", { approval_id: "a", decision: "approved", user: "U123" }],
    ["a list", []],
  ])("that is %s is refused and says what is wrong", async (_, body) => {
    await using r = await room();
    const response = await send(r, body);
    expect([response.status, await codeOf(response)]).toEqual([422, "decision_invalid"]);
  });

  it("gets the usual answers if the approval is decided, expired or changed", async () => {
    await using r = await room();
    const id = await asked(r.h);
    const body = await yes(r.h, id);
    expect(await codeOf(await send(r, { ...body, expected_digest: "0".repeat(64) }))).toBe("approval_changed");
    await r.h.clock.advance(3_600_000);
    expect((await send(r, body)).status).toBe(410);
  });

  it("is not checked after ten refused ones from one address within a second", async () => {
    await using r = await room();
    const ids: string[] = [];
    for (let i = 0; i < 12; i += 1) ids.push(await asked(r.h, "mail", { ...asker.principal, agent: `a${i}` }));
    const body = (at: number) => ({ approval_id: ids[at], decision: "denied", user: "U123" });
    for (let i = 0; i < 11; i += 1) expect((await send(r, body(i))).status).toBe(200);
    for (let i = 0; i < 10; i += 1) expect((await send(r, body(11), { signature: "v1,AAAA" })).status).toBe(401);
    const slowed = await send(r, body(11));
    expect([slowed.status, slowed.headers.get("retry-after"), await codeOf(slowed)]).toEqual([
      429,
      "1",
      "too_many_attempts",
    ]);
    const elsewhere = new Request("http://127.0.0.1:7420/v1/channels/chat/decisions", { method: "POST", body: "{}" });
    expect((await r.http.server.fetch(elsewhere, { address: "192.0.2.7" })).status).not.toBe(429);
    await r.h.clock.advance(1_000);
    expect((await send(r, body(11))).status).toBe(200);
  });

  it("needs no token, and ignores one", async () => {
    await using r = await room();
    const id = await asked(r.h);
    const raw = JSON.stringify({ approval_id: id, decision: "approved", user: "U123" });
    const response = await r.http.ask("/v1/channels/chat/decisions", { as: "operator", raw });
    expect(response.status).toBe(401);
  });
});
