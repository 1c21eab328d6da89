import { describe, expect, it } from "vitest";
import type { ApprovalRoute } from "../../../packages/postern/src/approvals/index.ts";
import { sendDecision, withChannel } from "../../fakes/channel-scene.ts";
import { ann, approve, ask } from "../../fakes/deciders.ts";
import { runtimeFixture } from "../../fakes/runtime-fixture.ts";

const users = { U1: "bob", U2: "cal" };

describe("a channel's secret", () => {
  it("is one credential: it has one vote under a quorum whatever person it names", async () => {
    await using h = await runtimeFixture(withChannel(users, { quorum: 2 }));
    const approvalId = await ask(h);
    expect(await sendDecision(h, { approvalId, user: "U1" })).toMatchObject({
      status: 200,
      body: { status: "pending" },
    });
    const message = `\`channel:chat\` has voted on \`${approvalId}\` already, by \`bob\`: another person with it counts as the same; sign in and decide there.`;
    expect(await sendDecision(h, { approvalId, user: "U2" })).toMatchObject({
      status: 409,
      body: { error: { code: "approval_voted", message } },
    });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
    expect(await approve(h, approvalId, ann)).toMatchObject({ approval: { state: "approved" } });
  });

  it.each<readonly [string, ApprovalRoute]>([
    ["a typed name", { typedConfirmation: true }],
    ["a person who signed in", { signedIn: true }],
  ])("does not approve what needs %s, names the console, and may deny", async (_, route) => {
    await using h = await runtimeFixture(withChannel(users, route));
    const approvalId = await ask(h);
    const message = expect.stringMatching(/^This call is approved in the console alone\./);
    expect(await sendDecision(h, { approvalId, user: "U1" })).toMatchObject({
      status: 403,
      body: { error: { code: "console_only", message } },
    });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
    expect(await sendDecision(h, { approvalId, user: "U1", decision: "denied" })).toMatchObject({
      body: { status: "denied" },
    });
  });
});
