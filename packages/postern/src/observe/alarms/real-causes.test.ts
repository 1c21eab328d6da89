import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Failing, FaultyStore } from "../../../../../test/fakes/faulty-store.ts";
import { bodyOf, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { asker, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import type { Channel, Notice } from "../notify/channel.ts";
import { StoreAlarm } from "./store-alarm.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postern-causes-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Whoever is told of alarms, and what it was told. */
function listener(): Channel & { readonly received: Notice[] } {
  const received: Notice[] = [];
  return {
    ...{ name: "ops", kind: "pager", target: "ops", received },
    wants: ({ type }) => type.startsWith("alarm."),
    deliver: async (notice) => {
      received.push(notice);
      return { delivered: true };
    },
  };
}

const echo = { tool: "echo", arguments: { to: "x" } };
const toldOf = ({ received }: { readonly received: readonly Notice[] }) =>
  received.map(({ type, data }) => `${type} ${data["kind"]}`);

describe("a store that fails", () => {
  it("is raised once, acknowledged and resolved, with a notice each time it begins and ends", async () => {
    const [clock, ops] = [new FakeClock(), listener()];
    const failing: Failing = new Map();
    await using h = await runtimeFixture({ store: new FaultyStore(clock, failing), clock, channels: { also: [ops] } });
    await using http = await httpFixture(h.runtime, { clock });
    const alarm = async () => (await bodyOf(await http.ask("/v1/alarms", { as: "operator" })))["alarms"];
    const say = async (verb: string) =>
      (await http.ask(`/v1/alarms/alm_store_broken/${verb}`, { as: "operator", body: { reason: "seen" } })).status;
    const refused = async (times: number) => {
      failing.set("claim", times).set("note", times);
      for (let i = 0; i < times; i += 1)
        expect((await h.runtime.invoke(echo, asker)).refusal?.code).toBe("audit_unavailable");
      failing.clear();
      await settled();
    };
    expect(await say("ack")).toBe(404);
    await refused(3);
    const raised = { alarm_id: "alm_store_broken", kind: "store_broken", severity: "critical" };
    expect(await alarm()).toMatchObject([{ ...raised, state: "open", count: 3, data: { stopped: false } }]);
    expect(toldOf(ops)).toEqual(["alarm.opened store_broken"]);

    expect(await say("ack")).toBe(200);
    await refused(1);
    expect(await alarm()).toMatchObject([{ state: "acked", count: 4, acked: { by: "operator", reason: "seen" } }]);
    expect(toldOf(ops)).toHaveLength(1);

    expect(await say("resolve")).toBe(200);
    expect(await say("resolve")).toBe(409);
    await refused(1);
    expect(await alarm()).toMatchObject([{ state: "open", count: 1 }]);
    expect(toldOf(ops)).toEqual(
      ["alarm.opened", "alarm.resolved", "alarm.opened"].map((type) => `${type} store_broken`),
    );

    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    await settled();
    expect(await alarm()).toMatchObject([{ state: "open" }]); // one write says nothing of the next
    await clock.advance(60_000);
    await h.runtime.invoke(echo, asker);
    await settled();
    expect(await alarm()).toMatchObject([{ state: "resolved", resolved: { reason: "it is written again" } }]);
    expect(toldOf(ops)).toHaveLength(4);
  });
});

it("raises an alarm for a stopped store, also without a call", () => {
  const store: { broken: Error | undefined } = { broken: undefined };
  const alarm = new StoreAlarm({ store, clock: new FakeClock(), urgent: () => undefined });
  expect(alarm.alarm).toBeUndefined();
  alarm.refused("disk full");
  expect(alarm.alarm?.data).toEqual({ stopped: false });
  store.broken = new Error("it could not be synced");
  expect(alarm.alarm).toMatchObject({ kind: "store_broken", state: "open", data: { stopped: true } });
});

/** Another text of the same length wherever the first one stands, in the store's files, while they are open. */
function edit(text: string, other: string): void {
  for (const name of ["postern.db", "postern.db-wal"]) {
    const bytes = readFileSync(join(folder, name));
    const fd = openSync(join(folder, name), "r+");
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) writeSync(fd, other, at);
    closeSync(fd);
  }
}

/** Nothing but zeros in the pages, and the frames of the log beside them, that hold the text. */
function tearPagesOf(text: string): void {
  const files = [
    ["postern.db", 0, pageBytes],
    ["postern.db-wal", 32, pageBytes + 24],
  ] as const;
  for (const [name, head, frame] of files) {
    const bytes = readFileSync(join(folder, name));
    const fd = openSync(join(folder, name), "r+");
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
      const page = head + Math.floor((at - head) / frame) * frame + frame - pageBytes;
      writeSync(fd, Buffer.alloc(pageBytes), 0, pageBytes, page);
    }
    closeSync(fd);
  }
}

const pageBytes = 4096;

describe("a log that is edited under a Postern that runs", () => {
  it("is found by a verification, raised once, and resolved when the log is intact", async () => {
    const ops = listener();
    await using h = await runtimeFixture({
      ...{ store: `sqlite:${join(folder, "postern.db")}`, folder, channels: { also: [ops] } },
      limits: { maxToolCalls: 100_000 },
    });
    await using http = await httpFixture(h.runtime, { clock: h.clock });
    const ask = async (path: string, body?: object) =>
      bodyOf(await http.ask(path, { as: "operator", ...(body !== undefined && { body }) }));
    const first = (await h.runtime.invoke(echo, asker)).callId;
    for (let i = 0; i < 40; i += 1) await Promise.all(Array.from({ length: 250 }, () => h.runtime.invoke(echo, asker))); // more than is kept in memory
    await h.runtime.audit.checkpoint();
    expect(await ask("/v1/audit/verify")).toMatchObject({ intact: true });
    const other = `${first.slice(0, -1)}~`;
    /** Reads all calls and all of the log: what was read before is in memory no more. */
    const forget = async () => {
      for (const path of ["/v1/calls?tool=none", "/v1/audit?type=none", "/v1/calls?tool=none"]) await ask(path);
    };
    edit(first, other);
    await forget();
    for (let i = 0; i < 2; i += 1) expect(await ask("/v1/audit/verify")).toMatchObject({ intact: false });
    await settled(50);
    const { alarms } = (await ask("/v1/alarms")) as { alarms: { alarm_id: string }[] };
    expect(alarms).toMatchObject([{ kind: "audit_not_intact", severity: "critical", state: "open", count: 2 }]);
    const id = alarms[0]?.alarm_id;
    expect(await ask(`/v1/alarms/${id}/ack`, {})).toMatchObject({ state: "acked" });
    await ask("/v1/audit/verify");
    expect(await ask("/v1/alarms")).toMatchObject({ alarms: [{ state: "acked", count: 3 }] });
    edit(other, first);
    await forget();
    expect(await ask("/v1/audit/verify")).toMatchObject({ intact: true });
    await settled(50);
    expect(await ask("/v1/alarms")).toMatchObject({ alarms: [{ state: "resolved" }] });
    await settled(50);
    expect(toldOf(ops)).toEqual(["alarm.opened audit_not_intact", "alarm.resolved audit_not_intact"]);
  });

  it("is found in the background and raised once", async () => {
    const [ops, answered] = [listener(), [] as string[]];
    await using h = await runtimeFixture({
      ...{ store: `sqlite:${join(folder, "postern.db")}`, folder, channels: { also: [ops] } },
      log: (problem) => answered.push(problem),
    });
    await using http = await httpFixture(h.runtime, { clock: h.clock });
    const ask = async (path: string) => bodyOf(await http.ask(path, { as: "operator" }));
    const minutes = async (count: number) => {
      await h.clock.advance(count * 61_000);
      await settled(50);
    };
    const { callId } = await h.runtime.invoke(echo, asker);
    for (let i = 0; i < 19; i += 1) await h.runtime.invoke(echo, asker);
    await h.runtime.audit.checkpoint();
    await minutes(1);
    expect(await ask("/v1/audit?limit=1")).toMatchObject({ checked: { intact: true, events: 40 } });
    expect(await ask("/v1/alarms")).toEqual({ alarms: [] });

    edit(callId, `${callId.slice(0, -1)}~`); // though every page of so short a log is in memory
    await minutes(3);
    const broken = { intact: false, first_broken: 0, why: expect.stringContaining("0 to 39") };
    for (const path of ["/v1/audit?limit=1", "/v1/audit/latest?limit=1"])
      expect(await ask(path)).toMatchObject({ checked: broken });
    const raised = { kind: "audit_not_intact", severity: "critical", state: "open", count: 1 };
    expect(await ask("/v1/alarms")).toMatchObject({ alarms: [{ ...raised, data: { first_broken: 0 } }] });
    expect(toldOf(ops)).toEqual(["alarm.opened audit_not_intact"]);
    expect(answered).toEqual([expect.stringContaining("The audit log is not intact from entry 0 on: ")]);
  });

  it("is raised for a torn page, and not intact until it can be read", async () => {
    await using h = await runtimeFixture({ store: `sqlite:${join(folder, "postern.db")}`, folder });
    await using http = await httpFixture(h.runtime, { clock: h.clock });
    const ask = async (path: string) => bodyOf(await http.ask(path, { as: "operator" }));
    const ids: string[] = [];
    for (let i = 0; i < 300; i += 1) ids.push((await h.runtime.invoke(echo, asker)).callId);
    await h.runtime.audit.checkpoint();
    const recheck = async () => {
      for (let i = 0; i < 12; i += 1) {
        await h.clock.advance(10_000);
        await settled(50);
      }
    };
    await recheck();
    expect(h.runtime.audit.checked?.found).toMatchObject({ intact: true });

    tearPagesOf(ids[150] ?? "");
    await recheck();
    const unread = { intact: false, unreadable: "damaged", why: expect.stringContaining("malformed") };
    expect(await ask("/v1/audit/verify")).toMatchObject(unread);
    expect(h.runtime.audit.checked?.found).toMatchObject({ intact: false, unreadable: "damaged" });
    await settled(50);
    expect(h.runtime.alarms.list()).toMatchObject([
      {
        kind: "audit_not_intact",
        state: "open",
        count: 2,
        summary: expect.stringContaining("cannot be read from entry"),
      },
    ]);
  });

  it("is not found if the background check is off", async () => {
    const audit = { recheck: { enabled: false } };
    await using h = await runtimeFixture({ store: `sqlite:${join(folder, "postern.db")}`, folder, audit });
    await h.clock.advance(3_600_000);
    expect(h.runtime.audit.checked).toBeUndefined();
  });
});

/** An MCP server without tools, which dies with its last words at its start while a file `broken` is beside it. */
const fragile = `
  import { existsSync } from "node:fs";
  import { createInterface } from "node:readline";
  if (existsSync("broken")) {
    console.error("cannot log in with " + process.env.TOKEN);
    process.exit(1);
  }
  const facts = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const result = { initialize: facts, "tools/list": { tools: [] } }[method] ?? {};
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });`;

describe("a server that is killed", () => {
  it("is raised once when it does not come back, with its masked last words, until it is up", async () => {
    const [ops, value] = [listener(), "s3cret-value-of-the-server"];
    const args = ["--input-type=module", "-e", fragile];
    const files = { command: process.execPath, args, cwd: folder, env: { TOKEN: "secret://files/token" } };
    const secrets = { get: async () => ({ reveal: () => value }) };
    const clock = new FakeClock();
    await using h = await runtimeFixture({ clock, secrets, servers: { files }, channels: { also: [ops] } });
    await using http = await httpFixture(h.runtime, { clock });
    const alarms = async () => (await bodyOf(await http.ask("/v1/alarms", { as: "operator" })))["alarms"];
    const servers = () => h.runtime.health().servers as readonly { status: string; processId?: number }[];
    const until = (status: string) => expect.poll(() => servers()[0]?.status, { timeout: 30_000 }).toBe(status);
    /** Lets the next attempt begin, and end. */
    const attempt = async (ends: string) => {
      await clock.advance(37_500);
      await until(ends);
    };

    await until("connected");
    writeFileSync(join(folder, "broken"), "");
    process.kill(servers()[0]?.processId ?? Number.NaN, "SIGKILL");
    await until("disconnected");
    expect(await alarms()).toEqual([]);
    for (let n = 0; n < 3; n += 1) await attempt("disconnected");
    await settled(20);
    const last = expect.stringContaining("cannot log in with [redacted]");
    const raised = { kind: "server_down", severity: "warning", count: 1, data: { server: "files", last_error: last } };
    expect(await alarms()).toMatchObject([{ ...raised, state: "open" }]);
    expect(toldOf(ops)).toEqual(["alarm.opened server_down"]);
    expect(JSON.stringify([await alarms(), ops.received, await h.runtime.audit.query({})])).not.toContain(value);

    rmSync(join(folder, "broken"));
    await attempt("connected");
    await expect.poll(alarms).toMatchObject([{ kind: "server_down", state: "resolved" }]);
    await expect.poll(() => toldOf(ops)).toEqual(["alarm.opened server_down", "alarm.resolved server_down"]);
  }, 60_000);
});
