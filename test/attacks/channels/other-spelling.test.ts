import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keyFrom, sign } from "../../../src/channels/signature.ts";
import type { RuntimeOptions } from "../../../src/index.ts";
import { ann, ask, yes } from "../../fakes/deciders.ts";
import { type House, house } from "../../fakes/house.ts";
import { bodyOf, httpHouse } from "../../fakes/http-house.ts";
import { holder } from "../../fakes/people.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const key = keyFrom(secret) ?? Buffer.alloc(0);

/** The operator wrote the names as people write them; the accounts' are lower case. */
function withChannel(routes: NonNullable<RuntimeOptions["approvals"]>["routes"]): RuntimeOptions {
  const hook = { name: "chat", url: "https://chat.example/hook", secret: "secret://chat/key", users: { U1: "Ann" } };
  return {
    secrets: { get: async () => ({ reveal: () => secret }) } as never,
    channels: { webhooks: [{ ...hook, events: ["alarm.resolved"] }] },
    approvals: { patience: "suspend", ...(routes !== undefined && { routes }) },
  };
}

/** @param id of the message @param at seconds beside the server's clock */
async function say(h: House, approvalId: string, { id = randomBytes(8).toString("hex"), at = 0 } = {}) {
  await using door = await httpHouse(h.runtime, { clock: h.clock });
  const body = JSON.stringify({ approval_id: approvalId, decision: "approved", user: "U1" });
  const timestamp = Math.floor(h.clock.now() / 1000) + at;
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign(key, { id, timestamp, body }),
  };
  const answered = await door.ask("/v1/channels/chat/decisions", { method: "POST", raw: body, headers });
  return { status: answered.status, body: await bodyOf(answered), again: { raw: body, headers } };
}

describe("a person whom a channel spells in another way", () => {
  it("is one person: their word counts once in a quorum", async () => {
    await using h = await house(withChannel([{ quorum: 2 }]));
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    const id = await ask(h);
    await yes(h, id, ann);
    const { body } = await say(h, id);
    expect(body).toMatchObject({ error: { code: "approval_voted" } });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("does not decide what they asked for themselves where that is forbidden", async () => {
    await using h = await house(withChannel([{ separateUser: true }]));
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    const principal = { tenant: "default", agent: "console", user: "ann", via: "session:ann" };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { principal });
    const { body } = await say(h, approvalId);
    expect(body).toMatchObject({ error: { code: "decider_not_allowed" } });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });
});

it("a message is taken once at every moment at which its timestamp is good, to the millisecond", async () => {
  await using h = await house(withChannel(undefined));
  const { again, status } = await say(h, await ask(h), { id: "msg_1", at: 300 });
  expect(status).toBe(200);
  await h.clock.advance(600_000);
  await using door = await httpHouse(h.runtime, { clock: h.clock });
  const replayed = await bodyOf(await door.ask("/v1/channels/chat/decisions", { method: "POST", ...again }));
  expect(replayed).toMatchObject({ error: { code: "webhook_replayed" } });
});
