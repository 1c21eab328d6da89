import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { openCredentials } from "../../server/credentials.ts";
import { bridgeStdio } from "./stdio-bridge.ts";

/** What a client over pipes gets for these lines, so many answers, when the Postern there answers like this. */
async function answersOf(lines: readonly object[], answering: RequestListener): Promise<readonly unknown[]> {
  const data = ownFolder();
  await openCredentials(data, { agentScopes: [] });
  const there = createServer(answering).listen(0, "127.0.0.1");
  await once(there, "listening");
  const { port } = there.address() as AddressInfo; // it listens on a port
  const [input, output] = [new PassThrough(), new PassThrough()];
  const at = { url: `http://127.0.0.1:${port}`, port, pid: process.pid };
  const bridging = bridgeStdio(at, data, { input, output });
  for (const line of lines) input.write(`${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`);
  let text = "";
  while (text.split("\n").length <= lines.length) text += String((await once(output, "data"))[0]);
  input.end();
  await bridging;
  there.closeAllConnections();
  there.close();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown); // one of ours a line
}

async function toldOf(status: number, body: string): Promise<unknown> {
  const [printed] = await answersOf([{ id: 5, method: "tools/list" }], (_request, response) =>
    response.writeHead(status).end(body),
  );
  return printed;
}

const refused = (code: number, message: unknown, more: object = {}): object => ({
  jsonrpc: "2.0",
  id: 5,
  error: { code, message, ...more },
});

it.each([
  ["a refusal in the protocol's words", 400, refused(-32_601, "No such method."), refused(-32_601, "No such method.")],
  [
    "that there is no session, without the headers that pipes have not",
    400,
    refused(-32_000, "Without a session … `Mcp-Session-Id` …"),
    refused(-32_000, "Send `initialize` first: nothing is answered before it."),
  ],
  [
    "one in HTTP's words",
    413,
    { error: { code: "body_too_large", message: "The body is larger than 10 bytes." } },
    refused(-32_603, "The body is larger than 10 bytes.", { data: { code: "body_too_large" } }),
  ],
  ["one without a code", 503, { error: { message: "Stopping." } }, refused(-32_603, "Stopping.")],
  [
    "none of ours",
    502,
    "<html>",
    refused(-32_603, expect.stringMatching(/^Postern did not take the message: .*<html>/)),
  ],
  ["nothing", 500, "", refused(-32_603, expect.stringMatching(/^Postern did not take the message: /))],
])("hands on %s", async (_, status, body, printed) => {
  expect(await toldOf(status, typeof body === "string" ? body : JSON.stringify(body))).toEqual(printed);
});

it("messages sent before the answer to `initialize` go into the session that opens", async () => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const lines = [
    { id: 1, method: "initialize", params },
    { id: 2, method: "tools/list" },
    { id: 3, method: "ping" },
  ];
  const answers = await answersOf(lines, async (request, response) => {
    const shownText = await textOf(request);
    if (shownText === "") return void response.writeHead(405).end();
    const { id, method }: { id: number; method: string } = JSON.parse(shownText);
    const session = request.headers["mcp-session-id"];
    const headers = { "content-type": "application/json", ...(method === "initialize" && { "mcp-session-id": "s1" }) };
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, result: { session } }));
  });
  expect(answers).toEqual([
    { jsonrpc: "2.0", id: 1, result: {} },
    ...[2, 3].map((id) => expect.objectContaining({ id, result: { session: "s1" } })),
  ]);
});
