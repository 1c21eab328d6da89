/** The gateway's main use with real processes, and `kill -9` in the middle of it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { approvalOf, Gateway } from "../fakes/gateway.ts";
import { expectIntactLog, expectReplay, mcpRevisions, pending, timeoutMs, write } from "../fakes/gateway-story.ts";
import type { Ended } from "../fakes/postern-process.ts";

describe("after `kill -9` and a new start", () => {
  it("a held call can be decided, and runs once", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started({ holdMs: 20_000 });
    const client = await gateway.connect("2026-07-28");
    const lost = client.callTool(write).catch((error: unknown) => error);
    const before = await gateway.operator();
    await expect.poll(async () => (await before.approvals.list({ state: "pending" })).approvals).toHaveLength(1);
    await gateway.killAndStart();
    expect(await lost).toBeInstanceOf(Error);
    const [asked] = (await (await gateway.operator()).approvals.list({ state: "pending" })).approvals;
    expect(asked).toMatchObject({ what: { tool: write.name, arguments: write.arguments } });
    expect(await gateway.command("approvals", "approve", asked?.approval_id ?? "")).toMatchObject({ code: 0 });
    const again = await gateway.connect("2026-07-28");
    await expectReplay(gateway, again, await again.callTool(write));
    await expectIntactLog(gateway);
  });

  it("an approval is used, and a stored outcome is replayed", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connect("2025-11-25");
    await (await gateway.operator()).approvals.approve({ id: approvalOf(await client.callTool(write)) });
    await gateway.killAndStart();
    expect(existsSync(gateway.file("hello.txt"))).toBe(false);
    const written = await (await gateway.connect("2025-11-25")).callTool(write);
    expect(written).toMatchObject({ isError: false });
    expect(readFileSync(gateway.file("hello.txt"), "utf8")).toBe("hi");
    await gateway.killAndStart();
    await expectReplay(gateway, await gateway.connect("2025-11-25"), written);
    await expectIntactLog(gateway);
  });

  it("a call that ran is unknown, and does not run again until it is settled", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connect("2026-07-28");
    const work = { name: "work", arguments: { job: "work" } };
    const send = { name: "send", arguments: { job: "send" } };
    await (await gateway.operator()).approvals.approve({ id: approvalOf(await client.callTool(send)) });
    const lost = [work, send].map((call) => client.callTool(call).catch((error: unknown) => error));
    await expect.poll(() => [...gateway.diary].sort()).toEqual(["send", "work"]);
    await gateway.killAndStart();
    for (const answer of lost) expect(await answer).toBeInstanceOf(Error);
    for (const job of ["work", "send"]) gateway.letGo(job);

    const again = await gateway.connect("2026-07-28");
    for (const call of [work, send])
      expect(await again.callTool(call)).toMatchObject({
        isError: true,
        structuredContent: { code: "outcome_unknown" },
      });
    expect(gateway.diary).toHaveLength(2);
    const { calls } = await (await gateway.operator()).calls.list({ state: "unknown" });
    const idOf = (tool: string): string => calls.find((call) => call.tool === tool)?.call_id ?? "";
    const settle = (...words: readonly string[]) =>
      gateway.command("calls", "settle", ...words, "--reason", "I looked");
    expect(await settle(idOf("send"), "succeeded")).toMatchObject({ code: 0 });
    expect(await settle(idOf("work"), "retry")).toMatchObject({ code: 0 });
    expect(await again.callTool(send)).toMatchObject({ isError: false, _meta: { "postern/replayed": true } });
    expect(gateway.diary).toHaveLength(2);
    expect(await again.callTool(work)).toMatchObject({ isError: false, content: [{ text: "did work" }] });
    expect(gateway.diary.slice(2)).toEqual(["work"]);
    await expectIntactLog(gateway);
  });
});

describe.each(mcpRevisions)("after `kill -9`, a joined client over pipes (MCP %s)", (era) => {
  it("learns at once that its calls are lost, starts again, and completes the story", {
    timeout: timeoutMs,
  }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connectStdio(era);
    await (await gateway.operator()).approvals.approve({ id: approvalOf(await client.callTool(write)) });
    const lost = client.callTool({ name: "work", arguments: { job: "work" } }).catch((error: unknown) => error);
    await expect.poll(() => gateway.diary).toEqual(["work"]);
    await gateway.signal("SIGKILL");
    expect(await lost).toBeInstanceOf(Error); // the client's own patience is 60 s
    await gateway.start();
    const again = await gateway.connectStdio(era);
    await expectReplay(gateway, again, await again.callTool(write));
    expect(gateway.diary).toEqual(["work"]);
  });
});

it("is asked again for the same call when the approval's lifetime is over", { timeout: timeoutMs }, async () => {
  await using gateway = await Gateway.started({ ttlSeconds: 4 });
  const operator = await gateway.operator();
  const client = await gateway.connect("2026-07-28");
  const first = approvalOf(await client.callTool(write));
  await operator.approvals.approve({ id: first });
  await expectReplay(gateway, client, await client.callTool(write));
  await expect
    .poll(() => client.callTool(write))
    .toMatchObject({ ...pending, structuredContent: { approval_id: expect.not.stringContaining(first) } });
  expect(readFileSync(gateway.file("hello.txt"), "utf8")).toBe("changed since");
  expect((await operator.approvals.list({ state: "pending" })).approvals).toHaveLength(1);
});

describe("a stop lets running calls end", () => {
  it("on SIGTERM, also calls of a server", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connect("2026-07-28");
    const operator = await gateway.operator();
    const far = { name: "everything__trigger-long-running-operation", arguments: { duration: 3, steps: 1 } };
    await operator.approvals.approve({ id: approvalOf(await client.callTool(far)) });
    const answers = [client.callTool({ name: "work", arguments: { job: "work" } }), client.callTool(far)];
    await expect.poll(async () => (await operator.calls.list({ state: "attempted" })).calls).toHaveLength(2);
    await expectDrained(gateway, gateway.signal("SIGTERM"), answers);
  });

  it("on Ctrl-C, which a terminal sends to the servers too, calls of our own tools", {
    timeout: timeoutMs,
  }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connect("2025-11-25");
    const answer = client.callTool({ name: "work", arguments: { job: "work" } });
    await expect.poll(() => gateway.diary).toEqual(["work"]);
    await expectDrained(gateway, gateway.signal("SIGINT", "group"), [answer], 130);
  });
});

async function expectDrained(
  gateway: Gateway,
  end: Promise<Ended>,
  answers: readonly Promise<CallToolResult>[],
  code = 0,
): Promise<void> {
  const serverFile = join(gateway.folder, ".postern/server.json");
  await expect.poll(() => readFileSync(serverFile, "utf8")).toContain('"stopping"'); // the signal was heard
  gateway.letGo("work");
  for (const answer of answers) expect(await answer).toMatchObject({ isError: false });
  expect(await end).toMatchObject({ code, err: expect.stringContaining("Stopping") });
  const { calls }: { calls: { state: string }[] } = JSON.parse((await gateway.command("calls", "--json")).out);
  expect(calls.map(({ state }) => state)).toEqual(answers.map(() => "ok"));
}
