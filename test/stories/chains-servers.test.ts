import { describe, expect, it } from "vitest";
import { chainGateway } from "../fakes/chain-gateway.ts";
import { approvalOf } from "../fakes/gateway.ts";

describe("a script over three real servers", () => {
  it("is a tool for MCP clients too, which see what it can call", async () => {
    await using gateway = await chainGateway();
    const client = await gateway.connect("2025-11-25");
    const { tools } = await client.listTools();
    const chain = tools.find(({ name }) => name === "tool_chain");
    expect(chain?.description).toContain("tools.filesystem.read_text_file(args: { path: string");
    expect(chain?.description).not.toContain("get-env");
    const code = 'const r = await tools.everything.echo({ message: "x" }); return r.text;';
    const result = await client.callTool({ name: "tool_chain", arguments: { code } });
    expect(result.structuredContent).toMatchObject({ status: "ok", output_text: "Echo: x" });
    const path = gateway.file("new.txt");
    const asks = `await tools.filesystem.write_file({ path: ${JSON.stringify(path)}, content: "hi" }); return "written";`;
    const pending = await client.callTool({ name: "tool_chain", arguments: { code: asks } });
    expect(pending.structuredContent).toMatchObject({ status: "approval_pending" });
    await (await gateway.operator()).approvals.approve({ id: approvalOf(pending) });
    const done = await client.callTool({ name: "tool_chain", arguments: { code: asks } });
    expect(done.structuredContent).toMatchObject({ status: "ok", output_text: "written" });
  }, 120_000);
});
