/** The main job with real processes: the sample's servers, real clients, a person in another terminal, and `kill -9`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { approvalOf, Gateway } from "../fakes/gateway.ts";
import {
  eras,
  expectIntactLog,
  expectReplay,
  patient,
  pending,
  tellStory,
  timeoutMs,
  write,
} from "../fakes/gateway-story.ts";
import type { Ended } from "../fakes/postern-process.ts";

describe.each(eras)("the story, told by the SDK's client (MCP %s)", (era) => {
  it("over HTTP: held, approved elsewhere, written once, told again, proven", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started();
    await tellStory(gateway, await gateway.connect(era));
    await expectIntactLog(gateway);
  });

  it("over the pipes of `postern start --stdio`, which another one joins", { timeout: timeoutMs }, async () => {
    await using gateway = new Gateway();
    await tellStory(gateway, await gateway.connectStdio(era));
    const second = await gateway.connectStdio(era);
    expect(await second.callTool(write)).toMatchObject({ _meta: { "postern/replayed": true } });
    await expectIntactLog(gateway);
  });
});

it("the story, told by the inspector's command line", { timeout: timeoutMs }, async () => {
  await using gateway = await Gateway.started();
  const call = ["--method", "tools/call", "--tool-name"];
  const listed = await gateway.inspect("--method", "tools/list");
  expect(listed).toMatchObject({ code: 0, out: expect.stringContaining('"filesystem__write_file"') });
  const sum = await gateway.inspect(...call, "everything__get-sum", "--tool-arg", "a=2", "b=3");
  expect(sum).toMatchObject({ code: 0, out: expect.stringContaining("5") });
  const words = [...call, write.name, "--tool-arg", "path=hello.txt", "content=hi"];
  const held = await gateway.inspect(...words);
  const { result }: { result: CallToolResult } = JSON.parse(held.out);
  expect(result).toMatchObject(pending);
  const id = approvalOf(result);
  expect(await gateway.command("approvals", "approve", id)).toMatchObject({ code: 0 });
  expect(await gateway.inspect(...words)).toMatchObject({ code: 0 });
  expect(readFileSync(gateway.file("hello.txt"), "utf8")).toBe("hi");
});

it("when the approval's lifetime is over, the same call asks anew", { timeout: timeoutMs }, async () => {
  await using gateway = await Gateway.started({ ttlSeconds: 4 });
  const operator = await gateway.operator();
  const client = await gateway.connect("2026-07-28");
  const first = approvalOf(await client.callTool(write));
  await operator.decide(first, "approve");
  await expectReplay(gateway, client, await client.callTool(write));
  await expect
    .poll(() => client.callTool(write), patient)
    .toMatchObject({ ...pending, structuredContent: { approval_id: expect.not.stringContaining(first) } });
  expect(readFileSync(gateway.file("hello.txt"), "utf8")).toBe("changed since");
  expect(await operator.approvals({ state: "pending" })).toHaveLength(1);
});

describe("stopping lets calls in flight end", () => {
  it("on SIGTERM, also those at a server", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connect("2026-07-28");
    const operator = await gateway.operator();
    const far = { name: "everything__trigger-long-running-operation", arguments: { duration: 3, steps: 1 } };
    await operator.decide(approvalOf(await client.callTool(far)), "approve");
    const answers = [client.callTool({ name: "work", arguments: { job: "work" } }), client.callTool(far)];
    await expect.poll(async () => (await operator.calls({ state: "attempted" })).calls, patient).toHaveLength(2);
    await expectDrained(gateway, gateway.signal("SIGTERM"), answers);
  });

  it("on Ctrl-C, which a terminal sends to the servers too: those of our own tools", {
    timeout: timeoutMs,
  }, async () => {
    await using gateway = await Gateway.started();
    const client = await gateway.connect("2025-11-25");
    const answer = client.callTool({ name: "work", arguments: { job: "work" } });
    await expect.poll(() => gateway.diary, patient).toEqual(["work"]);
    await expectDrained(gateway, gateway.signal("SIGINT", "group"), [answer]);
  });
});

async function expectDrained(
  gateway: Gateway,
  end: Promise<Ended>,
  answers: readonly Promise<CallToolResult>[],
): Promise<void> {
  await expect.poll(() => existsSync(join(gateway.folder, ".postern/server.json")), patient).toBe(false); // the signal was heard
  gateway.letGo("work");
  for (const answer of answers) expect(await answer).toMatchObject({ isError: false });
  expect(await end).toMatchObject({ code: 0, err: expect.stringContaining("Stopping") });
  const { calls }: { calls: { state: string }[] } = JSON.parse((await gateway.command("calls", "--json")).out);
  expect(calls.map(({ state }) => state)).toEqual(answers.map(() => "ok"));
}
