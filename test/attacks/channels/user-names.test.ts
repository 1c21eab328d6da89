import { describe, expect, it } from "vitest";
import { sendDecision, withChannel } from "../../fakes/channel-scene.ts";
import { ann, approve, ask } from "../../fakes/deciders.ts";
import { bodyOf, httpFixture } from "../../fakes/http-fixture.ts";
import { holder } from "../../fakes/people.ts";
import { runtimeFixture } from "../../fakes/runtime-fixture.ts";

/** The operator spelled the names with capitals; the accounts are lower case. */
const users = { U1: "Ann" };
const user = "U1";

describe("a person whose name in a channel has another form", () => {
  it("is one person, whose vote counts once in a quorum", async () => {
    await using h = await runtimeFixture(withChannel(users, { quorum: 2 }));
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    const approvalId = await ask(h);
    await approve(h, approvalId, ann);
    const { body } = await sendDecision(h, { approvalId, user });
    expect(body).toMatchObject({ error: { code: "approval_voted" } });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });

  it.each([
    ["where that is forbidden", "bot", { separateUser: true }],
    ["by hand, whatever is configured", "console", {}],
  ])("does not decide what they asked for themselves %s", async (_, agent, route) => {
    await using h = await runtimeFixture(withChannel(users, route));
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    const principal = { tenant: "default", agent, user: "ann", via: "session:ann" };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { principal });
    const { body } = await sendDecision(h, { approvalId, user });
    expect(body).toMatchObject({ error: { code: "decider_not_allowed" } });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });
});

it("a message is accepted once, at each millisecond at which its timestamp is valid", async () => {
  await using h = await runtimeFixture(withChannel(users));
  const { again, status } = await sendDecision(h, { approvalId: await ask(h), user }, { id: "msg_1", at: 300 });
  expect(status).toBe(200);
  await h.clock.advance(600_000);
  await using http = await httpFixture(h.runtime, { clock: h.clock });
  const replayed = await bodyOf(await http.ask("/v1/channels/chat/decisions", { method: "POST", ...again }));
  expect(replayed).toMatchObject({ error: { code: "webhook_replayed" } });
});
