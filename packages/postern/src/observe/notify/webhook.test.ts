import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { channelOf } from "../../../../../test/fakes/channel-fixture.ts";
import { type Receiver, receiver } from "../../../../../test/fakes/receiver.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { settled } from "../../../../core/src/testing/clock.ts";
import type { ApprovalRoute } from "../../approvals/index.ts";
import type { WebhookSettings } from "./open-channels.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const secrets = {
  get: async (connector: string, key: string) => ({
    reveal: () => (key === "url" ? (urlOf.get(connector) ?? "") : secret),
  }),
} as never;
const urlOf = new Map<string, string>();
const hook = (r: Receiver, more: Partial<WebhookSettings> = {}): WebhookSettings => ({
  ...{ name: "hook", url: `${r.url}/in?x=1`, secret: "secret://hooks/key", allowPrivate: true },
  ...more,
});
const consoleUrl = "https://postern.example";

async function fixtureWith(settings: WebhookSettings, ...routes: readonly ApprovalRoute[]): Promise<RuntimeFixture> {
  const approvals = { patience: "suspend", routes } as const;
  return runtimeFixture({ secrets, channels: { webhooks: [settings], consoleUrl }, approvals });
}

async function asked(
  h: RuntimeFixture,
  tool = "mail",
  args: Readonly<Record<string, string>> = { to: "x" },
): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke({ tool, arguments: args }, asker);
  return approvalId;
}

interface Body {
  readonly type: string;
  readonly timestamp: string;
  readonly data: { readonly approval: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>;
}
const bodyAt = (r: Receiver, at: number): Body => JSON.parse(r.requests[at]?.body ?? "{}") as Body; // what we sent

describe("a webhook", () => {
  it("is signed and has the request without its arguments", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r));
    const id = await asked(h);
    await r.count(1);
    const [request] = r.requests;
    expect(request?.path).toBe("/in?x=1");
    const now = String(Math.floor(h.clock.now() / 1000));
    expect(request?.headers).toMatchObject({ "webhook-timestamp": now, "content-type": "application/json" });
    expect(request?.headers["webhook-id"]).toMatch(/^msg_[0-9a-f]{16}_\d+$/);
    const body = bodyAt(r, 0);
    expect(body).toMatchObject({
      type: "approval.requested",
      timestamp: "2026-11-20T00:00:00.000Z",
      data: {
        tenant: "default",
        link: `${consoleUrl}/approvals/${id}`,
        approval: {
          ...{ approval_id: id, status: "pending", tool: "mail", risk_level: "high", on_expiry: "denied" },
          ...{ expires_at: "2026-11-20T01:00:00.000Z", decided_in: "channel", run_id: expect.any(String) },
          requested_by: { agent: "a", user: "asker" },
          shown_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
    });
    expect(request?.body).not.toContain('"arguments"');
  });

  it.each<readonly [string, string, ApprovalRoute]>([
    ["is critical", "drop", { typedConfirmation: false, signedIn: false }],
    ["wants its name typed", "mail", { typedConfirmation: true }],
    ["wants a person who signed in", "mail", { signedIn: true }],
  ])("sends people to the console where a call %s", async (_, tool, route) => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r), route);
    await asked(h, tool);
    await r.count(1);
    expect(bodyAt(r, 0)).toMatchObject({ data: { approval: { decided_in: "console" } } });
  });

  it("marks a test, without an approval or an alarm", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r));
    expect(await h.runtime.channels?.test("hook")).toEqual({ delivered: true });
    expect(bodyAt(r, 0)).toEqual({
      type: "channel.test",
      timestamp: "2026-11-20T00:00:00.000Z",
      data: { tenant: "default", summary: expect.stringContaining("only a test"), test: true },
    });
  });

  it("is accepted by the Standard Webhooks library", async () => {
    await using r = await receiver();
    const { createRuntime, defineTool } = await import("../../index.ts");
    const tool = {
      name: "mail",
      description: "x",
      risk: "high",
      idempotent: false,
      input: { type: "object" },
    } as const;
    await using runtime = await createRuntime({
      tools: [defineTool({ ...tool, execute: () => "sent" })],
      approvals: { patience: "suspend" },
      secrets,
      channels: { webhooks: [hook(r)] },
    });
    await runtime.invoke({ tool: "mail", arguments: {} }, asker);
    await r.count(1);
    const [request] = r.requests;
    const headers = request?.headers as Record<string, string>; // ours are single
    expect(new Webhook(secret).verify(request?.body ?? "", headers)).toMatchObject({ type: "approval.requested" });
  });

  it("holds masked arguments if the operator wants it", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r, { arguments: true }));
    await asked(h, "mail", { to: `ghp_${"a1B2".repeat(9)}` });
    await r.count(1);
    expect(bodyAt(r, 0).data.approval["arguments"]).toEqual({ to: expect.stringContaining("[") });
    expect(r.requests[0]?.body).not.toContain("ghp_");
  });

  it("has the decision, its author and reason, and is sent again after a 500 with the same id", async () => {
    await using r = await receiver();
    r.answers.push({ status: 500 });
    await using h = await fixtureWith(hook(r, { events: ["approval.decided"] }));
    const id = await asked(h);
    await h.runtime.approvals.decide(id, { decision: "denied", by: boss, reason: "not today" });
    await r.count(1);
    await settled(20);
    await h.clock.advance(6_000);
    await r.count(2);
    expect(r.requests[0]?.headers["webhook-id"]).toBe(r.requests[1]?.headers["webhook-id"]);
    expect(bodyAt(r, 1).data.approval["decision"]).toMatchObject({ as: "denied", by: "boss", reason: "not today" });
  });

  it("says how an approved call ended, and nothing of other calls", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r, { events: ["call.ended"] }));
    await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker);
    const id = await asked(h);
    await h.runtime.approvals.decide(id, { decision: "approved", by: boss });
    await h.runtime.resume(id);
    await r.count(1);
    expect(bodyAt(r, 0)).toMatchObject({
      type: "call.ended",
      data: { approval: { approval_id: id, tool: "mail" }, call: { state: "ok", duration_ms: expect.any(Number) } },
    });
  });

  it.each([301, 302, 307, 308])("does not follow a %i", async (status) => {
    await using other = await receiver();
    await using r = await receiver();
    r.answers.push({ status, headers: { location: other.url } });
    await using h = await fixtureWith(hook(r));
    await asked(h);
    await r.count(1);
    await expect.poll(() => channelOf(h)?.problem).toContain("redirect");
    expect(other.requests).toEqual([]);
  });

  it("goes to no machine of this network unless the operator permits it", async () => {
    await using r = await receiver();
    await using h = await fixtureWith({ ...hook(r), url: r.url.replace("http:", "https:"), allowPrivate: false });
    await asked(h);
    await expect.poll(() => channelOf(h)?.problem).toContain("allow_private");
    expect(r.requests).toEqual([]);
  });

  it("sends nothing if its secret is too short, and says why", async () => {
    await using r = await receiver();
    const short = { get: async () => ({ reveal: () => "too short" }) } as never;
    await using h = await runtimeFixture({ secrets: short, channels: { webhooks: [hook(r)] } });
    await asked(h);
    await expect.poll(() => channelOf(h)?.problem).toContain("24 bytes");
    expect(r.requests).toEqual([]);
  });

  it("hides its address if that is a secret", async () => {
    await using r = await receiver();
    urlOf.set("slack", `${r.url}/services/T0/B0/very-secret-part`);
    await using h = await fixtureWith(hook(r, { url: "secret://slack/url" }));
    r.answers.push({ status: 410 });
    await asked(h);
    await r.count(1);
    await expect.poll(() => channelOf(h)?.dead.map(({ type }) => type)).toEqual(["approval.requested", "alarm.opened"]);
    await settled(20);
    const events = await h.runtime.audit.query({ limit: 1_000 });
    expect(JSON.stringify([h.runtime.channels?.list(), events])).not.toContain("very-secret-part");
  });
});

describe("a message for Slack", () => {
  it("has what people need to decide, and a button to the approval", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r, { kind: "slack" }));
    const id = await asked(h);
    await r.count(1);
    const message = JSON.parse(r.requests[0]?.body ?? "{}") as { text: string; blocks: unknown[] };
    expect(message.text).toBe("Approval needed: mail");
    const text = JSON.stringify(message.blocks);
    for (const word of ["Risk: high", "Asked by: a for asker", "60 min left", "then it is denied", "Because: "])
      expect(text).toContain(word);
    expect(message.blocks.at(-1)).toMatchObject({
      type: "actions",
      elements: [{ type: "button", url: `${consoleUrl}/approvals/${id}` }],
    });
    expect(text).not.toContain('"to"');
  });

  it("masks what looks like a secret", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r, { kind: "slack", arguments: true }));
    await asked(h, "mail", { to: `ghp_${"a1B2".repeat(9)}` });
    await r.count(1);
    expect(r.requests[0]?.body).toContain("to");
    expect(r.requests[0]?.body).not.toContain("ghp_");
  });

  it("shows fillers, variation selectors and look-alike letters of the arguments", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r, { kind: "slack", arguments: true }));
    await asked(h, "mail", { to: "p\u0430ypal@acme.com\u3164\u{e0101}\ufe00" });
    await r.count(1);
    const { blocks } = JSON.parse(r.requests[0]?.body ?? "{}") as { blocks: { text?: { text: string } }[] };
    expect(blocks.map(({ text }) => text?.text).join("\n")).toContain(
      "p\\u{430}ypal@acme.com\\u{3164}\\u{e0101}\\u{fe00}",
    );
  });

  it("has no button for a critical call", async () => {
    await using r = await receiver();
    await using h = await fixtureWith(hook(r, { kind: "slack" }));
    await asked(h, "drop");
    await r.count(1);
    const body = r.requests[0]?.body ?? "";
    expect(body).not.toContain("button");
    expect(body).toContain("This call is critical: decide it <https://postern.example/approvals/");
  });

  it("shows texts of tools and agents without markup, mentions and hidden characters", async () => {
    await using r = await receiver();
    const nasty = "<!channel> <https://evil.example|ok> *bold* \u202egnp.exe \u001b[31m";
    await using h = await runtimeFixture(
      { secrets, channels: { webhooks: [hook(r, { kind: "slack" })], consoleUrl } },
      [
        {
          name: "sly",
          description: "Says a lot.",
          risk: "high",
          idempotent: false,
          input: { type: "object" },
          classifyRisk: () => ({ risk: "high", summary: nasty }),
          execute: async () => "done",
        },
      ],
    );
    await asked(h, "sly", {});
    await r.count(1);
    const message = JSON.parse(r.requests[0]?.body ?? "{}") as {
      text: string;
      blocks: { type: string; text?: { type: string; text: string } }[];
    };
    const markup = message.blocks.filter((block) => block.text?.type === "mrkdwn").map((block) => block.text?.text);
    expect(JSON.stringify([message.text, markup])).not.toContain("<!channel>");
    const shown = message.blocks.find((block) => block.text?.text.includes("The tool says"))?.text;
    expect(shown?.type).toBe("plain_text");
    expect(shown?.text).toContain("\\u{202e}gnp.exe \\u{1b}[31m");
  });
});
