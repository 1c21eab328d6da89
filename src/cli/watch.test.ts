import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/fakes/own-folder.ts";
import { asker, runtimeFixture } from "../../test/fakes/runtime-fixture.ts";
import { SystemClock } from "../core/clock.ts";
import { openCredentials } from "../server/credentials.ts";
import { createHttpServer } from "../server/http/http-server.ts";
import { type Listening, listen, loopbackHosts } from "../server/http/serve.ts";
import type { HiddenInput } from "./hidden-input.ts";
import type { Host } from "./host.ts";
import { writeServerFile } from "./server-file.ts";
import { watchApprovals, watchRun } from "./watch.ts";

const folders = ownFolder();
let count = 0;

async function room(interactive: boolean, more: Parameters<typeof runtimeFixture>[0] = {}) {
  const clock = new SystemClock();
  const h = await runtimeFixture({ clock, ...more });
  count += 1;
  const folder = `${folders}/${count}`;
  const credentials = await openCredentials(folder);
  const listening: Listening = await listen({
    handler: createHttpServer({ runtime: h.runtime, credentials, hosts: () => loopbackHosts(listening.port) }),
    port: 0,
  });
  writeServerFile(folder, { port: listening.port, pid: process.pid, url: listening.url });
  const screen = { out: "", aside: "", last: "" };
  const terminal = {
    out: (text: string) => {
      screen.out += text;
      screen.last = text;
    },
    aside: (text: string) => {
      screen.aside += text;
    },
    ...{ colour: false, columns: 100, rows: 60, interactive, screen: interactive },
  };
  const host = { terminal, clock, dataFolder: async () => folder, wantedPort: () => undefined } as unknown as Host; // what a client needs
  const input: HiddenInput = Object.assign(new PassThrough(), { isTTY: interactive, setRawMode: () => {} });
  const ending = new AbortController();
  return {
    ...{ h, host, screen, input, ending },
    mail: (to: string) => h.runtime.invoke({ tool: "mail", arguments: { to } }, asker),
    drop: () => h.runtime.invoke({ tool: "drop", arguments: { to: "x" } }, asker),
    type: (text: string) => (input as unknown as PassThrough).write(text),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await h.runtime.close();
      await listening.close(100);
    },
  };
}

const seen = (read: () => string, text: string) => expect.poll(read).toContain(text);

/** What is looked at was there for a second: its keys work. */
const armed = (r: { readonly screen: { readonly last: string } }) => seen(() => r.screen.last, "a approve once");

describe("postern approvals watch", () => {
  it("shows what waits as it comes, and decides what is looked at", async () => {
    await using r = await room(true);
    const watching = watchApprovals(r.host, {}, { input: r.input, until: r.ending.signal });
    await seen(() => r.screen.last, "nothing waits for you");
    const { approvalId = "" } = await r.mail("ann");
    await seen(() => r.screen.last, "1 waiting");
    r.type("j");
    await seen(() => r.screen.last, "to = ann");
    r.type("a");
    await seen(() => r.screen.last, "It has just appeared");
    expect((await r.h.runtime.approvals.get(approvalId))?.state).toBe("pending");
    await armed(r);
    r.type("a");
    await seen(() => r.screen.last, "Approved. mail runs once");
    expect((await r.h.runtime.approvals.get(approvalId))?.decision).toMatchObject({ as: "approved", by: "operator" });
    await seen(() => r.screen.last, "nothing waits for you");
    r.type("q");
    expect(await watching).toBe(0);
  });

  it("denies with the reason that was typed", async () => {
    await using r = await room(true);
    const { approvalId = "" } = await r.mail("ann");
    const watching = watchApprovals(r.host, {}, { input: r.input, until: r.ending.signal });
    await seen(() => r.screen.last, "to = ann");
    await armed(r);
    for (const key of ["d", ..."no", "\r"]) r.type(key) && (await new Promise(setImmediate));
    await seen(() => r.screen.last, "Denied. mail does not run");
    expect((await r.h.runtime.approvals.get(approvalId))?.decision).toMatchObject({ as: "denied", reason: "no" });
    r.type("\u0003");
    expect(await watching).toBe(0);
  });

  it("approves what is critical by its name alone", async () => {
    await using r = await room(true);
    const { approvalId = "" } = await r.drop();
    const watching = watchApprovals(r.host, {}, { input: r.input, until: r.ending.signal });
    await seen(() => r.screen.last, "critical");
    await armed(r);
    r.type("a");
    await seen(() => r.screen.last, "Type drop and Enter");
    expect((await r.h.runtime.approvals.get(approvalId))?.state).toBe("pending");
    for (const key of [..."drop", "\r"]) r.type(key) && (await new Promise(setImmediate));
    await seen(() => r.screen.last, "Approved. drop runs once");
    r.type("q");
    expect(await watching).toBe(0);
  });

  it("tells that it was decided elsewhere, and a key that comes then decides nothing", async () => {
    await using r = await room(true);
    const { approvalId = "" } = await r.mail("ann");
    const other = await r.mail("bob");
    const watching = watchApprovals(r.host, {}, { input: r.input, until: r.ending.signal });
    await seen(() => r.screen.last, "to = ann");
    await r.h.runtime.approvals.decide(approvalId, { decision: "denied", by: { user: "boss", via: "session" } });
    await seen(() => r.screen.last, "decided elsewhere");
    r.type("a");
    await seen(() => r.screen.last, "Nothing is selected");
    expect((await r.h.runtime.approvals.get(other.approvalId ?? ""))?.state).toBe("pending");
    r.type("q");
    await watching;
  });

  it("without a terminal prompts for nothing: a line an event, what waits already first", async () => {
    await using r = await room(false);
    await r.mail("ann");
    const watching = watchApprovals(r.host, {}, { input: r.input, until: r.ending.signal });
    await seen(() => r.screen.out, "pending  apr_");
    await r.mail("bob");
    await seen(() => r.screen.out, "gate.required");
    r.ending.abort();
    expect(await watching).toBe(0);
    expect(r.screen.out).not.toContain("\u001b");
  });

  it("with --json is a line of JSON each", async () => {
    await using r = await room(true);
    await r.mail("ann");
    const watching = watchApprovals(r.host, { json: true }, { input: r.input, until: r.ending.signal });
    await seen(() => r.screen.out, '"pending"');
    await r.mail("bob");
    await seen(() => r.screen.out, "gate.required");
    r.ending.abort();
    await watching;
    const types = r.screen.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(["pending", "gate.required"]);
  });
});

describe("postern runs watch", () => {
  it("tells what one run does, and nothing of others", async () => {
    await using r = await room(false);
    const watching = watchRun(r.host, { id: "mine", until: r.ending.signal }, {});
    await expect
      .poll(async () => {
        await r.h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, { ...asker, runId: "mine" });
        await r.h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...asker, runId: "other" });
        return r.screen.out;
      })
      .toContain("tool_call.succeeded");
    r.ending.abort();
    await watching;
    expect(r.screen.out).not.toContain("gate.required");
  });

  it("says of a run that is not there that it is waited for, and tells it when it begins", async () => {
    await using r = await room(false, { archive: { folder: `${folders}/runs` } });
    const watching = watchRun(r.host, { id: "yet", until: r.ending.signal }, {});
    await seen(() => r.screen.aside, "There is no run `yet` yet; waiting for it.");
    await expect
      .poll(async () => {
        await r.h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, { ...asker, runId: "yet" });
        return r.screen.out;
      })
      .toContain("tool_call.succeeded");
    r.ending.abort();
    await watching;
  });
});
