import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { ownFolder } from "../../../test/fakes/own-folder.ts";
import { openCredentials } from "../credentials.ts";
import { bridgeStdio } from "./stdio-bridge.ts";

/** What a client over pipes is told when the Postern there answers like this. */
async function toldOf(status: number, body: string): Promise<unknown> {
  const data = ownFolder();
  await openCredentials(data, { agentScopes: [] });
  const there = createServer((_request, response) => response.writeHead(status).end(body)).listen(0, "127.0.0.1");
  await once(there, "listening");
  const { port } = there.address() as AddressInfo; // it listens on a port
  const [input, output] = [new PassThrough(), new PassThrough()];
  const at = { url: `http://127.0.0.1:${port}`, port, pid: process.pid };
  const bridging = bridgeStdio(at, data, { input, output });
  input.write('{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n');
  const [line] = await once(output, "data");
  input.end();
  await bridging;
  there.close();
  return JSON.parse(String(line));
}

const refused = (code: number, message: unknown, more: object = {}): object => ({
  jsonrpc: "2.0",
  id: 5,
  error: { code, message, ...more },
});

it.each([
  [
    "a refusal in the protocol's words",
    400,
    refused(-32_000, "Without a session …"),
    refused(-32_000, "Without a session …"),
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
])("hands on %s", async (_, status, body, told) => {
  expect(await toldOf(status, typeof body === "string" ? body : JSON.stringify(body))).toEqual(told);
});
