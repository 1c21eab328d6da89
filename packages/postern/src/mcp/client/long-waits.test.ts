import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { rawHttp } from "../../../../../test/fakes/raw-http.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { createRuntime } from "../../index.ts";
import { Exchange, PendingRequests } from "./exchange.ts";

/** As the five minutes of the library, in a hundredth of a second. */
function shortLimits(): void {
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 10, bodyTimeout: 10 }));
  onTestFinished(() => setGlobalDispatcher(before));
}

const answer = (id: unknown): string =>
  `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"late"}]}}`;
const afterMs = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

it.each(["headers", "body"])("the library's own limit on %s ends no call that may take longer", async (what) => {
  const { url } = await rawHttp(async ({ method, id }, response) => {
    if (method !== "tools/call") return false;
    if (what === "headers") await afterMs(2_500); // undici looks once a second
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    if (what === "body") await afterMs(2_500);
    response.end(`data: ${answer(id)}\n\n`);
    return true;
  });
  shortLimits();
  const runtime = await createRuntime({ servers: { one: { url, risk: "safe", revision: "2025-11-25" } } });
  onTestFinished(() => runtime.close(0));
  expect(await runtime.invoke({ tool: "one__t" })).toMatchObject({ status: "ok", text: "late" });
});

it("a stream that breaks off is resumed after the time its server asks for, and its id may come in pieces", async () => {
  const { url, asked } = await rawHttp(async ({ method, id, headers }, response) => {
    if (method !== "tools/call" && method !== "resume") return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (method === "resume") {
      response.end(`id: 8\ndata: ${answer(headers["last-event-id"])}\n\n`);
      return true;
    }
    response.write("retry: 300\ni");
    await afterMs(20);
    response.write(`d: ${id}\ndata: \n\n`);
    await afterMs(20);
    response.destroy();
    return true;
  });
  const runtime = await createRuntime({ servers: { one: { url, risk: "safe", revision: "2025-11-25" } } });
  onTestFinished(() => runtime.close(0));
  expect(await runtime.invoke({ tool: "one__t" })).toMatchObject({ status: "ok", text: "late" });
  expect(asked.at(-1)).toBe("resume");
});

const ended = async (exchange: Exchange): Promise<void> => {
  const stream = exchange.follow(new ReadableStream({ start: (controller) => controller.close() }));
  await stream.getReader().read();
};

it("a call waits as long as its server asked before the stream is resumed, and for ten seconds more", async () => {
  const clock = new FakeClock();
  let broken = 0;
  const exchange = new Exchange(
    clock,
    () => {},
    () => (broken += 1),
  );
  exchange.lastEventId = "7";
  exchange.retryAfter(15_000);
  await ended(exchange);
  await clock.advance(25_000);
  expect(broken).toBe(0);
  exchange.resuming(); // the server was not there yet: it asks for another 15 s
  await clock.advance(25_000);
  expect(broken).toBe(1);
});

it("a stream without ids that breaks off ends its call at once", async () => {
  const clock = new FakeClock();
  let broken = 0;
  const exchange = new Exchange(
    clock,
    () => {},
    () => (broken += 1),
  );
  await ended(exchange);
  await clock.advance(100);
  expect(broken).toBe(1);
});

it("nothing is kept of a call that was answered, also when its stream had ids", () => {
  const pending = new PendingRequests();
  const exchange = new Exchange(
    new FakeClock(),
    () => {},
    () => {},
  );
  pending.begin(1, exchange);
  pending.resumable(exchange, "event");
  pending.end(1);
  expect(pending.resumed("event")).toBeUndefined();
  expect(pending.isAwaited(1)).toBe(false);
});
