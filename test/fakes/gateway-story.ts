/** The gateway's main use as an agent sees it, through any client. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { approvalOf, type Gateway } from "./gateway.ts";

export const write: { readonly name: string; readonly arguments: { readonly path: string; readonly content: string } } =
  { name: "filesystem__write_file", arguments: { path: "hello.txt", content: "hi" } };
export const pending: { readonly isError: true; readonly structuredContent: Readonly<Record<string, unknown>> } = {
  isError: true,
  structuredContent: {
    status: "approval_pending",
    approval_id: expect.stringMatching(/^apr_/),
    expires_at: expect.stringMatching(/Z$/),
    retry: "send the same call again",
  },
};
export const mcpRevisions = ["2025-11-25", "2026-07-28"] as const;
export const timeoutMs = 120_000;

/** Lists tools, makes a call that needs approval and reads the stored outcome; a person approves in another process. */
export async function runStory(gateway: Gateway, client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["everything__get-sum", "filesystem__write_file", "work"]));
  expect(names).not.toContain("everything__get-env");
  expect(await client.callTool({ name: "everything__get-sum", arguments: { a: 2, b: 3 } })).toMatchObject({
    isError: false,
    content: [{ type: "text", text: expect.stringContaining("5") }],
  });

  const held = await client.callTool(write);
  expect(held).toMatchObject(pending);
  expect(await client.callTool(write)).toMatchObject({ structuredContent: { approval_id: approvalOf(held) } });
  expect(existsSync(gateway.file("hello.txt"))).toBe(false);
  expect(await gateway.command("approvals", "approve", approvalOf(held))).toMatchObject({
    code: 0,
    out: expect.stringContaining("filesystem__write_file"),
  });
  expect(existsSync(gateway.file("hello.txt"))).toBe(false);
  const written = await client.callTool(write);
  expect(written).toMatchObject({ isError: false });
  expect(written._meta).not.toHaveProperty("postern/replayed");
  expect(readFileSync(gateway.file("hello.txt"), "utf8")).toBe("hi");
  await expectReplay(gateway, client, written);
}

/** Expects that the same call gets the stored outcome, and that a file changed since stays unchanged. */
export async function expectReplay(gateway: Gateway, client: Client, written: CallToolResult): Promise<void> {
  writeFileSync(gateway.file("hello.txt"), "changed since");
  expect(await client.callTool(write)).toMatchObject({
    isError: false,
    content: [{ type: "text", text: expect.stringContaining("did not run again") }, ...written.content],
    _meta: { "postern/replayed": true },
  });
  expect(readFileSync(gateway.file("hello.txt"), "utf8")).toBe("changed since");
}

export async function expectIntactLog(gateway: Gateway): Promise<void> {
  expect(await gateway.command("audit", "verify")).toMatchObject({ code: 0, out: expect.stringContaining("intact") });
}
