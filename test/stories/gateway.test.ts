/** The gateway's main use with real processes: the sample's servers, real clients and a person in another terminal. */
import { readFileSync } from "node:fs";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { approvalOf, Gateway } from "../fakes/gateway.ts";
import { expectIntactLog, mcpRevisions, pending, runStory, timeoutMs, write } from "../fakes/gateway-story.ts";

describe.each(mcpRevisions)("the gateway story of the SDK's client (MCP %s)", (era) => {
  it("works over HTTP: held, approved elsewhere, written once, replayed, proven", { timeout: timeoutMs }, async () => {
    await using gateway = await Gateway.started();
    await runStory(gateway, await gateway.connect(era));
    await expectIntactLog(gateway);
  });

  it("works over the pipes of `postern start --stdio`, which another client joins", {
    timeout: timeoutMs,
  }, async () => {
    await using gateway = new Gateway();
    await runStory(gateway, await gateway.connectStdio(era));
    const second = await gateway.connectStdio(era);
    expect(await second.callTool(write)).toMatchObject({ _meta: { "postern/replayed": true } });
    await expectIntactLog(gateway);
  });
});

it("the gateway story works with the inspector's command line", { timeout: timeoutMs }, async () => {
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
