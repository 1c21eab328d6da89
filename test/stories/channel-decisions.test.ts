import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";
import { type Listening, listen } from "../../packages/postern/src/server/http/serve.ts";
import { type HttpFixture, httpFixture } from "../fakes/http-fixture.ts";
import { type Receiver, receiver } from "../fakes/receiver.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const plain = {
  ...({ description: "Does it.", effects: "write", idempotent: false } as const),
  input: { type: "object", properties: { to: { type: "string" } } },
} as const;
const hook = { name: "chat", secret: "secret://chat/key", users: { U1: "ann" }, allowPrivate: true } as const;
const asker = { principal: { tenant: "default", agent: "bot", via: "token:agent" } };

/** What the receiver read in a notice with a valid signature. */
interface Notice {
  readonly type: string;
  readonly data: {
    readonly approval: { readonly approval_id: string; readonly shown_digest: string; readonly decided_in: string };
  };
}

describe("a receiver that is notified over a real line and answers with a signed decision", () => {
  const ran: string[] = [];
  let at: Receiver;
  let runtime: Runtime;
  let http: HttpFixture;
  let listening: Listening;
  const hosts: string[] = [];
  beforeAll(async () => {
    at = await receiver();
    const execute = async ({ to }: { to?: unknown }) => {
      ran.push(String(to));
      return "done";
    };
    runtime = await createRuntime({
      tools: [
        { ...plain, name: "mail", risk: "high", execute },
        { ...plain, name: "drop", risk: "critical", execute },
      ],
      approvals: { patience: "suspend" },
      secrets: { get: async () => ({ reveal: () => secret }) } as never,
      channels: { webhooks: [{ ...hook, url: `${at.url}/in` }] },
    });
    http = await httpFixture(runtime, { hosts: () => hosts });
    listening = await listen({ handler: http.server, port: 0 });
    hosts.push(`127.0.0.1:${listening.port}`);
  });
  afterAll(async () => {
    await listening.close();
    await http[Symbol.asyncDispose]();
    await runtime.close();
    await at[Symbol.asyncDispose]();
  });

  /** Makes a call that needs approval, and returns the notice that the receiver got. */
  async function askAndReadNotice(tool: string, to: string): Promise<Notice["data"]["approval"]> {
    const { approvalId } = await runtime.invoke({ tool, arguments: { to } }, asker);
    const noticeIn = ({ body, headers }: Receiver["requests"][number]): Notice =>
      new Webhook(secret).verify(body, headers as Record<string, string>) as Notice; // ours are single
    const isIt = ({ type, data }: Notice): boolean =>
      type === "approval.requested" && data.approval.approval_id === approvalId;
    for (let count = 1; ; count += 1) {
      await at.count(count);
      const found = at.requests.map(noticeIn).find(isIt);
      if (found !== undefined) return found.data.approval;
    }
  }

  interface Answer {
    readonly id?: string;
    readonly signedBy?: string;
    readonly secondsAgo?: number;
  }

  async function answer(
    { approval_id, shown_digest }: Notice["data"]["approval"],
    { id = `msg_${randomBytes(8).toString("hex")}`, signedBy = secret, secondsAgo = 0 }: Answer = {},
  ): Promise<readonly [number, string | undefined]> {
    const body = JSON.stringify({ approval_id, decision: "approved", user: "U1", expected_digest: shown_digest });
    const when = new Date(Date.now() - secondsAgo * 1_000);
    const signature = new Webhook(signedBy).sign(id, when, body);
    const stamped = { "webhook-id": id, "webhook-timestamp": `${Math.floor(when.getTime() / 1_000)}` };
    const headers = { ...stamped, "webhook-signature": signature, "content-type": "application/json" };
    const response = await fetch(`${listening.url}/v1/channels/chat/decisions`, { method: "POST", body, headers });
    const { error, status } = (await response.json()) as { error?: { code: string }; status?: string };
    return [response.status, error?.code ?? status];
  }

  it("decides, and the call that was approved runs once", async () => {
    const approval = await askAndReadNotice("mail", "ann");
    expect(approval.decided_in).toBe("channel");
    expect(await answer(approval)).toEqual([200, "approved"]);
    expect((await runtime.approvals.get(approval.approval_id))?.decision).toMatchObject({
      by: "ann",
      via: "channel:chat",
    });
    expect((await runtime.resume(approval.approval_id))?.status).toBe("ok");
    expect(ran).toEqual(["ann"]);
  });

  it("is refused when the same message is repeated, is old, or has another key; then the call still waits", async () => {
    const approval = await askAndReadNotice("mail", "bob");
    const other = `whsec_${randomBytes(32).toString("base64")}`;
    expect(await answer(approval, { secondsAgo: 301 })).toEqual([401, "signature_refused"]);
    expect(await answer(approval, { secondsAgo: -360 })).toEqual([401, "signature_refused"]);
    expect(await answer(approval, { signedBy: other })).toEqual([401, "signature_refused"]);
    expect((await runtime.approvals.get(approval.approval_id))?.state).toBe("pending");
    const id = `msg_${randomBytes(8).toString("hex")}`;
    expect(await answer(approval, { id })).toEqual([200, "approved"]);
    const next = await askAndReadNotice("mail", "carol");
    expect(await answer(approval, { id })).toEqual([409, "webhook_replayed"]);
    expect(await answer(next, { id })).toEqual([409, "webhook_replayed"]);
    expect((await runtime.approvals.get(next.approval_id))?.state).toBe("pending");
  });

  it("is refused for a critical call, as the notice says", async () => {
    const approval = await askAndReadNotice("drop", "everything");
    expect(approval.decided_in).toBe("console");
    expect(await answer(approval)).toEqual([403, "console_only"]);
    expect((await runtime.approvals.get(approval.approval_id))?.state).toBe("pending");
    expect(ran).not.toContain("everything");
  });
});
