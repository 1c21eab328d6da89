import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { type Receiver, receiver } from "../../../../../test/fakes/receiver.ts";
import { post } from "./send.ts";

const here = { address: "127.0.0.1", family: 4 } as const;
const going = new AbortController().signal;

function to(r: Pick<Receiver, "url">, host = "127.0.0.1"): Parameters<typeof post>[0] {
  return { allowed: true, url: new URL(r.url.replace("127.0.0.1", host)), address: here };
}

const notice = { body: '{"a":"ü"}', headers: { "webhook-id": "msg_1" } };

describe("sending", () => {
  it("goes to the checked address, even if the name has changed", async () => {
    await using r = await receiver();
    expect(await post(to(r, "means-something-else.invalid"), notice, going)).toEqual({ delivered: true });
    expect(r.requests).toEqual([expect.objectContaining({ body: notice.body })]);
    expect(r.requests[0]?.headers).toMatchObject({
      host: expect.stringContaining("means-something-else.invalid"),
      "webhook-id": "msg_1",
      "content-length": "10",
    });
  });

  it.each([
    [204, {}, { delivered: true }],
    [400, {}, { delivered: false, problem: "It answered 400.", final: false }],
    [410, {}, { delivered: false, problem: "It answered 410.", final: true, gone: true }],
    [
      429,
      { "retry-after": "120" },
      { delivered: false, problem: "It answered 429.", final: false, retryAfterMs: 120_000 },
    ],
    [
      503,
      { "retry-after": "999999" },
      { delivered: false, problem: "It answered 503.", final: false, retryAfterMs: 3_600_000 },
    ],
    [
      503,
      { "retry-after": "Fri, 20 Nov 2026 09:00:00 GMT" },
      { delivered: false, problem: "It answered 503.", final: false },
    ],
  ])("takes a %i with %j for what it is", async (status, headers, delivered) => {
    await using r = await receiver();
    r.answers.push({ status, headers });
    expect(await post(to(r), notice, going)).toEqual(delivered);
  });

  it("reports why it failed, without the address", async () => {
    const r = await receiver();
    await r[Symbol.asyncDispose]();
    const sent = await post({ ...to(r), url: new URL("/very-secret", r.url) }, notice, going);
    expect(sent).toEqual({ delivered: false, problem: "It could not be sent: ECONNREFUSED." });
  });

  it("ends with Postern", async () => {
    const server = createServer(() => {}); // takes it and says nothing
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const ending = new AbortController();
    const sending = post(to({ url: `http://127.0.0.1:${port}` }), notice, ending.signal);
    server.once("request", () => ending.abort());
    expect(await sending).toMatchObject({ delivered: false });
    server.closeAllConnections();
    server.close();
  });

  it("reads only the beginning of an answer", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (response.write("x".repeat(65_536)));
        response.once("drain", more);
      };
      more();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    expect(await post(to({ url: `http://127.0.0.1:${port}` }), notice, going)).toEqual({ delivered: true });
    server.closeAllConnections();
    server.close();
  });
});
