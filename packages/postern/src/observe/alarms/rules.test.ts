import { describe, expect, it } from "vitest";
import { asker, eventTypes, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { settled } from "../../../../core/src/testing/clock.ts";

import { onVerified } from "./open-alarms.ts";
import type { AlarmRepository } from "./repository.ts";

const anything = { type: "object" } as const;
const open = (h: RuntimeFixture): readonly string[] =>
  h.runtime.alarms
    .list()
    .filter(({ state }) => state !== "resolved")
    .map(({ kind }) => kind);

async function moodyHouse(says = "no luck"): Promise<RuntimeFixture & { mood: { fails: boolean } }> {
  const mood = { fails: true };
  const h = await runtimeFixture({}, [
    {
      name: "moody",
      description: "Fails or not.",
      risk: "safe",
      idempotent: true,
      input: anything,
      execute: async () => {
        if (mood.fails) throw Object.assign(new Error(says), { retryable: true });
        return "ok";
      },
    },
  ]);
  return Object.assign(h, { mood });
}

const moody = { tool: "moody", arguments: {} };

describe("alarm rules", () => {
  it("a tool that fails five times in a row, until it succeeds", async () => {
    await using h = await moodyHouse();
    for (let call = 0; call < 4; call += 1) await h.runtime.invoke(moody, asker);
    await settled();
    expect(open(h)).toEqual([]);
    for (let call = 0; call < 3; call += 1) await h.runtime.invoke(moody, asker);
    await settled();
    expect(h.runtime.alarms.list()).toEqual([
      expect.objectContaining({ kind: "tool_errors", severity: "warning", count: 3, tenant: "default" }),
    ]);
    h.mood.fails = false;
    await h.runtime.invoke(moody, asker);
    await settled();
    expect(open(h)).toEqual([]);
    expect((await eventTypes(h.runtime)).filter((type) => type.startsWith("alarm."))).toEqual([
      "alarm.tool_errors",
      "alarm.resolved",
    ]);
  });

  it.each(["HTTP 401 Unauthorized", "the token has expired", "Invalid API key given"])(
    "a tool that is not let in: %s",
    async (says) => {
      await using h = await moodyHouse(says);
      for (let call = 0; call < 2; call += 1) await h.runtime.invoke(moody, asker);
      await settled();
      expect(open(h)).toEqual(["auth_failed"]);
      h.mood.fails = false;
      await h.runtime.invoke(moody, asker);
      await settled();
      expect(open(h)).toEqual([]);
    },
  );

  it("more approvals than people read, until it is quiet for ten minutes", async () => {
    await using h = await runtimeFixture();
    for (let call = 0; call < 52; call += 1)
      await h.runtime.invoke({ tool: "mail", arguments: { to: `${call}` } }, asker);
    await settled();
    expect(open(h)).toEqual(["approval_storm"]);
    const { authority } = (await h.runtime.calls.list({ limit: 1 }))[0]?.call ?? {};
    expect(h.runtime.alarms.list()[0]?.data).toMatchObject({ tool: "mail", run: authority?.runId, agent: "a" });
    await h.clock.advance(600_000);
    await h.clock.advance(60_000);
    expect(open(h)).toEqual([]);
  });

  it("a server's tool that changed, until its definition is approved or comes back", async () => {
    await using h = await runtimeFixture();
    const note = (type: string) => h.runtime.note(type, `\`fs_read\` ${type}`, { data: { tool: "fs_read" } });
    await note("mcp.tool_changed");
    await settled();
    expect(open(h)).toEqual(["tool_changed"]);
    await note("operator.action.tool_approved");
    await settled();
    expect(open(h)).toEqual([]);
    await note("mcp.tool_changed");
    await note("mcp.tool_restored");
    await settled();
    expect(open(h)).toEqual([]);
  });

  it("a server that refuses Postern, until it is connected", async () => {
    await using h = await runtimeFixture();
    const note = (type: string, summary: string) => h.runtime.note(type, summary, { data: { server: "github" } });
    await note("mcp.disconnected", "Server `github` is not connected: the process ended");
    await settled();
    expect(open(h)).toEqual([]);
    await note("mcp.disconnected", "Server `github` is not connected: HTTP 401 Unauthorized");
    await settled();
    expect(open(h)).toEqual(["auth_failed"]);
    await note("mcp.connected", "Server `github` is connected.");
    await settled();
    expect(open(h)).toEqual([]);
  });

  it("a server that does not come back, until it is connected", async () => {
    await using h = await runtimeFixture();
    const data = { server: "files", problem: "the process ended" };
    for (let time = 0; time < 2; time += 1) await h.runtime.note("mcp.down", "Server `files` is down", { data });
    await settled();
    expect(h.runtime.alarms.list()).toMatchObject([
      { kind: "server_down", state: "open", count: 2, data: { server: "files", last_error: "the process ended" } },
    ]);
    await h.runtime.note("mcp.connected", "Server `other` is connected.", { data: { server: "other" } });
    await settled();
    expect(open(h)).toEqual(["server_down"]);
    await h.runtime.note("mcp.connected", "Server `files` is connected.", { data: { server: "files" } });
    await settled();
    expect(open(h)).toEqual([]);
  });

  it("sign-ins that fail again and again", async () => {
    await using h = await runtimeFixture();
    for (let time = 0; time < 11; time += 1) await h.runtime.note("operator.action.sign_in_failed", "no");
    await settled();
    expect(h.runtime.alarms.list()).toEqual([
      expect.objectContaining({ kind: "sign_in_failures", severity: "critical" }),
    ]);
  });

  it("an API token that expires within three days, until it has expired", async () => {
    await using h = await runtimeFixture();
    const { accounts } = h.runtime;
    const admin = { by: "operator", via: "token:operator" };
    const ann = await accounts.add({ name: "ann", roles: ["viewer"] }, admin);
    const day = 86_400_000;
    await accounts.makeToken({ name: "ci", kind: "person", permissions: ["alarms:read"], ttlMs: 10 * day }, ann, admin);
    await h.clock.advance(6 * day);
    await settled();
    expect(open(h)).toEqual([]);
    await h.clock.advance(day + 3_600_000);
    await settled();
    expect(h.runtime.alarms.list()).toEqual([
      expect.objectContaining({ kind: "token_expiring", count: 1, summary: expect.stringContaining("`ci` of ann") }),
    ]);
    await h.clock.advance(3 * day);
    await settled();
    expect(open(h)).toEqual([]);
  });

  it("a secret in the log: critical, and without the secret", async () => {
    await using h = await runtimeFixture();
    const token = `ghp_${"a1B2".repeat(9)}`;
    await h.runtime.note("operator.action.test", `with ${token}`);
    await settled();
    await settled();
    const [alarm] = h.runtime.alarms.list();
    expect(alarm).toMatchObject({ kind: "secret_in_payload", severity: "critical", state: "open" });
    expect(JSON.stringify(alarm)).not.toContain(token);
  });

  it("an audit log that is not intact, after a verification", async () => {
    await using h = await runtimeFixture();
    await h.runtime.audit.verify();
    await settled();
    expect(open(h)).toEqual([]);
    await h.runtime.audit.verify("not a note").catch(() => undefined);
    await settled();
    expect(open(h)).toEqual([]);
    const broken = { intact: false, events: 3, firstBroken: 1, why: "it was changed" } as const;
    onVerified(h.runtime.alarms as AlarmRepository, { ...broken, unreadable: "failing" }); // who asked may ask again
    await settled();
    expect(open(h)).toEqual([]);
    onVerified(h.runtime.alarms as AlarmRepository, broken); // what it is
    await settled();
    expect(open(h)).toEqual(["audit_not_intact"]);
    await h.runtime.audit.verify();
    await settled();
    expect(open(h)).toEqual([]);
  });
});
