/** A result too large for one answer reaches its reader completely: over MCP, over HTTP and in a terminal. */
import { readFileSync, writeFileSync } from "node:fs";
import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approvalOf, Gateway } from "../fakes/gateway.ts";
import { mcpRevisions, timeoutMs } from "../fakes/gateway-story.ts";

const lines = Array.from({ length: 4_000 }, (_, n) => `line ${n}: größer als ein Brief, kürzer als ein Buch\n`);
const original = `${lines.join("")}the last line, which must not be lost`;
let gateway: Gateway;
beforeAll(async () => {
  gateway = await Gateway.started({ holdMs: 50 });
  writeFileSync(gateway.file("book.txt"), original);
}, timeoutMs);
afterAll(() => gateway[Symbol.asyncDispose]());

function first({ content }: CallToolResult): string {
  const [block] = content;
  return block?.type === "text" ? block.text : "";
}

/** Reads the sentence at the end of a cut text. */
function readOn(text: string): { readonly artifact: string; readonly offset: number } {
  const [, call = ""] = /call `read_artifact` with (\{[^}]*\})/.exec(text) ?? [];
  return JSON.parse(call);
}

/** Reads every part as a model does, each from the position that the part before names. */
async function whole(client: Client, from: { readonly artifact: string; readonly offset: number }): Promise<string> {
  const parts: string[] = [];
  for (let offset: number | undefined = from.offset; offset !== undefined; ) {
    const answer = await client.callTool({ name: "read_artifact", arguments: { artifact: from.artifact, offset } });
    expect(answer.isError).toBe(false);
    parts.push(first(answer));
    const [, next] = /read on with "offset": (\d+)/.exec(JSON.stringify(answer.content).replaceAll("\\", "")) ?? [];
    offset = next === undefined ? undefined : Number(next);
  }
  return parts.join("");
}

describe.each(mcpRevisions)("an agent that reads a file of 200 kB through the real file server (MCP %s)", (era) => {
  it("edits it and writes it back without losing its tail", { timeout: timeoutMs }, async () => {
    writeFileSync(gateway.file("book.txt"), original);
    const client = await gateway.connect(era);
    const read = await client.callTool({ name: "filesystem__read_text_file", arguments: { path: "book.txt" } });
    const text = first(read);
    const totalBytes = Buffer.byteLength(original);
    expect(Buffer.byteLength(text)).toBeGreaterThan(60_000);
    expect(text).toMatch(
      new RegExp(`\\[Cut: the first \\d+ of ${totalBytes} bytes are shown\\. To read on, call .+\\]$`),
    );
    const from = readOn(text);
    const head = Buffer.from(text).subarray(0, from.offset).toString();
    const found = head + (await whole(client, from));
    expect(found).toBe(original);
    const content = found.replace("line 2000:", `line of ${era}:`);
    const write = { name: "filesystem__write_file", arguments: { path: "book.txt", content } };
    const held = await client.callTool(write);
    expect((await gateway.command("approvals", "approve", approvalOf(held))).code).toBe(0);
    expect(await client.callTool(write)).toMatchObject({ isError: false });
    expect(readFileSync(gateway.file("book.txt"), "utf8")).toBe(original.replace("line 2000:", `line of ${era}:`));
  });

  it("reads all of it as a resource, and its members by a pattern", { timeout: timeoutMs }, async () => {
    writeFileSync(gateway.file("book.txt"), original);
    const client = await gateway.connect(era);
    const read = await client.callTool({ name: "filesystem__read_text_file", arguments: { path: "book.txt" } });
    const { artifact } = readOn(first(read));
    expect(read.content).toContainEqual(
      expect.objectContaining({ type: "resource_link", uri: `artifact:${artifact}` }),
    );
    expect((await client.readResource({ uri: `artifact:${artifact}` })).contents).toEqual([
      { uri: `artifact:${artifact}`, mimeType: "text/plain", text: original },
    ]);
    await expect(client.readResource({ uri: `artifact:${"0".repeat(64)}` })).rejects.toThrow(/not yours/);
    const grep = await client.callTool({ name: "read_artifact", arguments: { artifact, grep: "^line 39[0-9]8:" } });
    expect(first(grep).split("\n")).toHaveLength(10);
    expect(first(grep)).toMatch(/^\d+: line 3908: /);
  });
});

it("gets an artifact instead of large structured content, and the text names it", {
  timeout: timeoutMs,
}, async () => {
  const client = await gateway.connect("2025-11-25");
  for (let n = 0; n < 900; n += 1) writeFileSync(gateway.file(`${"long-name-".repeat(9)}${n}.txt`), "");
  const listed = await client.callTool({ name: "filesystem__list_directory", arguments: { path: "." } });
  expect(JSON.stringify(listed.structuredContent ?? {})).not.toContain("$artifact");
  const text = first(listed);
  const from = readOn(text);
  const all = Buffer.from(text).subarray(0, from.offset).toString() + (await whole(client, from));
  expect(all.match(/long-name-\d+\.txt/g)).toHaveLength(900);
});

it("reads in the text over HTTP how to continue, and the artifact is complete", { timeout: timeoutMs }, async () => {
  writeFileSync(gateway.file("book.txt"), `${"plain\n".repeat(30_000)}the end`);
  const { out: json } = await gateway.command("call", "filesystem__read_text_file", "path=book.txt", "--json");
  const outcome = JSON.parse(json);
  expect(outcome.text).toMatch(
    /\[Cut: the first \d+ of \d+ bytes are shown\. To read on, .*\/v1\/artifacts\/[0-9a-f]{64}\.\]$/,
  );
  const printed = await gateway.command("artifacts", "get", outcome.artifact);
  expect(printed).toMatchObject({ code: 0, out: readFileSync(gateway.file("book.txt"), "utf8") });
  const file = gateway.file("printed.txt");
  expect(await gateway.command("artifacts", "get", outcome.artifact, file)).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).toBe(printed.out);
  expect((await gateway.command("artifacts", "get", "0".repeat(64))).code).not.toBe(0);
  expect((await gateway.command("artifacts", "get", "nonsense")).code).toBe(2);
});
