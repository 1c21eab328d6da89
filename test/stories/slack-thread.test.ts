import { describe, expect, it } from "vitest";
import { channelOf } from "../fakes/channel-fixture.ts";
import { bodyOf, type HttpFixture, httpFixture } from "../fakes/http-fixture.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import {
  buttonIn,
  pressed,
  type SlackCall,
  type SlackServer,
  signedBySlack,
  slackServer,
  submitted,
} from "../fakes/slack-server.ts";

const key = "8f742231b10e8888abcd99yyyzzz85a5";
const secrets = {
  get: async (_: string, name: string) => ({ reveal: () => (name === "token" ? "xoxb-of-the-app" : key) }),
} as never;
const app = {
  ...{ name: "team", channel: "C1", token: "secret://slack/token", signingSecret: "secret://slack/signing" },
  ...{ users: { U1: "ann" }, allowPrivate: true },
};

interface Room extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly h: RuntimeFixture;
  readonly http: HttpFixture;
}

async function room(more: { readonly users?: undefined } = {}): Promise<Room> {
  const slack = await slackServer();
  const { users, ...unmapped } = app;
  const settings = { ...unmapped, ...("users" in more ? {} : { users }), apiUrl: slack.url };
  const channels = { slack: [settings], consoleUrl: "https://postern.example" };
  const h = await runtimeFixture({ secrets, channels }, [
    {
      ...{ name: "fail", description: "Fails.", idempotent: false, input: { type: "object" } },
      risk: "high",
      execute: () => Promise.reject(new Error("no such mailbox")),
    },
  ]);
  const http = await httpFixture(h.runtime, { clock: h.clock });
  return {
    ...{ slack, h, http },
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
      await h.runtime.close();
      await slack[Symbol.asyncDispose]();
    },
  };
}

/** Makes a call that needs approval. Resolves to its request and the message that asks for it. */
async function asked({ h, slack }: Room, tool = "mail"): Promise<{ readonly id: string; readonly message: SlackCall }> {
  const { length } = slack.calls.filter(({ method }) => method === "chat.postMessage");
  const { approvalId: id = "" } = await h.runtime.invoke({ tool, arguments: { to: "x" } }, asker);
  const message = (await slack.count("chat.postMessage", length + 1))[length];
  if (message === undefined) throw new Error("Slack got no message.");
  return { id, message };
}

const pressValueIn = (message: SlackCall): string => buttonIn(message, "approve")?.value ?? "";
const textIn = ({ sent }: SlackCall): string => JSON.stringify(sent["blocks"]);

async function send({ h, http }: Room, payload: object, by = key): Promise<readonly [number, unknown]> {
  const signed = signedBySlack(payload, by, Math.floor(h.clock.now() / 1_000));
  const answered = await http.ask("/v1/channels/team/slack", { method: "POST", ...signed });
  return [answered.status, await bodyOf(answered)];
}

describe("a request in a channel of Slack", () => {
  it("is approved by a button; its thread says by whom, and what became of the call", async () => {
    await using r = await room();
    const { id, message } = await asked(r);
    expect(message).toMatchObject({
      token: "Bearer xoxb-of-the-app",
      sent: { channel: "C1", text: "Approval needed: mail" },
    });
    expect(await send(r, pressed("U1", "approve", pressValueIn(message)))).toEqual([200, {}]);
    expect((await r.h.runtime.approvals.get(id))?.decision).toMatchObject({
      as: "approved",
      by: "ann",
      via: "channel:team",
    });
    const [updated] = await r.slack.count("chat.update", 1);
    expect(updated?.sent).toMatchObject({ channel: "C1", ts: "1.0", text: "mail: approved" });
    expect([buttonIn(updated as SlackCall, "approve"), textIn(updated as SlackCall)]).toEqual([
      undefined,
      expect.stringContaining("approved by ann"),
    ]);
    const [, decided] = await r.slack.count("chat.postMessage", 2);
    expect(decided?.sent).toMatchObject({ channel: "C1", thread_ts: "1.0", text: "approved by ann" });
    expect((await r.h.runtime.resume(id))?.status).toBe("ok");
    const [, , ended] = await r.slack.count("chat.postMessage", 3);
    expect(ended?.sent).toMatchObject({ thread_ts: "1.0", text: expect.stringMatching(/^Ran ok, after \d+ ms$/) });
  });

  it("is denied with a reason that is typed in Slack's dialog", async () => {
    await using r = await room();
    const { id, message } = await asked(r);
    const { value = "" } = buttonIn(message, "deny") ?? {};
    expect(await send(r, pressed("U1", "deny", value))).toEqual([200, {}]);
    const [opened] = await r.slack.count("views.open", 1);
    const view = opened?.sent["view"] as { readonly private_metadata: string }; // what Postern sent
    expect(opened?.sent["trigger_id"]).toBe("trigger.1");
    expect((await r.h.runtime.approvals.get(id))?.state).toBe("pending");
    const sent = submitted("U1", view.private_metadata, "wrong list");
    expect(await send(r, sent)).toEqual([200, { response_action: "clear" }]);
    const [, reply] = await r.slack.count("chat.postMessage", 2);
    expect(reply?.sent).toMatchObject({ thread_ts: "1.0", text: "denied by ann: wrong list" });
    expect(r.h.ran).toEqual([]);
    expect(await send(r, submitted("U1", view.private_metadata, null))).toEqual([
      200,
      { response_action: "errors", errors: { reason: expect.stringContaining("denied") } },
    ]);
  });

  it("says how a call failed, also when it was decided elsewhere", async () => {
    await using r = await room();
    const { id } = await asked(r, "fail");
    await r.h.runtime.approvals.decide(id, { decision: "approved", by: boss });
    expect((await r.h.runtime.resume(id))?.status).toBe("error");
    const replies = (await r.slack.count("chat.postMessage", 3)).slice(1);
    expect(replies.map(({ sent }) => [sent["thread_ts"], sent["text"]])).toEqual([
      ["1.0", "approved by boss"],
      ["1.0", expect.stringMatching(/^Failed, after /)],
    ]);
  });

  it("has no buttons for a critical call, or where no one may decide", async () => {
    await using r = await room();
    const { message } = await asked(r, "drop");
    expect([buttonIn(message, "approve"), textIn(message)]).toEqual([
      undefined,
      expect.stringContaining("is critical"),
    ]);
    await using none = await room({ users: undefined });
    expect(buttonIn((await asked(none)).message, "approve")).toBeUndefined();
  });

  it("is decided only by a mapped member, once, with Slack's signature of this minute", async () => {
    await using r = await room();
    const { id, message } = await asked(r);
    const press = pressed("U1", "approve", pressValueIn(message));
    expect(await send(r, press, "another key of another app 0000000")).toEqual([
      401,
      expect.objectContaining({ error: expect.objectContaining({ code: "signature_refused" }) }),
    ]);
    const old = signedBySlack(press, key, Math.floor(r.h.clock.now() / 1_000) - 301);
    expect((await r.http.ask("/v1/channels/team/slack", { method: "POST", ...old })).status).toBe(401);
    expect(await send(r, pressed("U2", "approve", pressValueIn(message)))).toEqual([200, {}]);
    const [told] = await r.slack.count("chat.postEphemeral", 1);
    expect(told?.sent).toMatchObject({
      channel: "C1",
      user: "U2",
      text: expect.stringContaining("may decide nothing"),
    });
    expect((await r.h.runtime.approvals.get(id))?.state).toBe("pending");
    expect(await send(r, press)).toEqual([200, {}]);
    expect((await r.h.runtime.approvals.get(id))?.state).toBe("approved");
  });

  it("refuses an approval of what the person did not see", async () => {
    await using r = await room();
    const { id, message } = await asked(r);
    const value = JSON.stringify({ ...JSON.parse(pressValueIn(message)), expected_digest: "0".repeat(64) });
    await send(r, pressed("U1", "approve", value));
    await r.slack.count("chat.postEphemeral", 1);
    expect((await r.h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("goes on in its thread after a message that Slack lost, and after a try that failed", async () => {
    await using r = await room();
    const { id } = await asked(r);
    r.slack.errors.push("message_not_found", "ratelimited");
    await r.h.runtime.approvals.decide(id, { decision: "denied", by: boss });
    await expect.poll(() => channelOf(r.h)?.problem).toContain("ratelimited");
    await r.h.clock.advance(7_000);
    const replies = await r.slack.count("chat.postMessage", 3); // one of them failed
    expect(replies.at(-1)?.sent).toMatchObject({ thread_ts: "1.0", text: "denied by boss" });
  });
});
