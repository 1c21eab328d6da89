import { expect, it, onTestFinished } from "vitest";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { rawHttp } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

/** For 20,000 lines; each costs ten times as much when it is parsed and checked. */
const mostWorkMs = 400;
const raw: ServerConfig = { command: process.execPath, args: ["test/fakes/raw-server.ts"], risk: "safe" };
const log =
  '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"row number $N was read"}}';
const kinds = {
  logs: log,
  "lines that are no messages": "INFO row number $N was read, and this is a line for people",
  "lines of JSON that are no messages": '{"level":"info","time":1790000000000,"msg":"row number $N was read"}',
  progress: '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":$N}}',
  "answers that nobody waits for": '{"jsonrpc":"2.0","id":"never-$N","result":{"content":[]}}',
  requests: '{"jsonrpc":"2.0","id":"ask-$N","method":"ping"}',
};

async function open(servers: Readonly<Record<string, ServerConfig>>): Promise<Runtime> {
  const runtime = await createRuntime({ servers });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

it.each(Object.entries(kinds))("a flood of %s is dropped without much work", async (_kind, line) => {
  const runtime = await open({ calm: raw, noisy: raw });
  await expectWork(mostWorkMs, async (at) => {
    const request = { tool: "noisy__flood", arguments: { line, count: 20_000, at } };
    expect(await runtime.invoke(request)).toMatchObject({ status: "ok", text: "done" });
  });
});

it("a server that floods waits, and its neighbours do not", async () => {
  const runtime = await open({ calm: raw, noisy: raw });
  let isOver = false;
  const flood = runtime.invoke({ tool: "noisy__flood", arguments: { line: kinds.logs, count: 50_000 } });
  void flood.then(() => {
    isOver = true;
  });
  const text = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}';
  let calls = 0;
  for (; !isOver; calls += 1)
    expect(await runtime.invoke({ tool: "calm__raw", arguments: { text, calls } })).toMatchObject({ status: "ok" });
  expect(await flood).toMatchObject({ status: "ok", text: "done" });
  expect(calls).toBeGreaterThan(20);
});

it.each(["pipes", "stream"])("5,000 events of progress over %s become as many as a reader can follow", async (way) => {
  const { url } = await rawHttp(({ method, id, params }, response) => {
    if (method !== "tools/call") return false;
    const token = String(Reflect.get(Reflect.get(params ?? {}, "_meta") ?? {}, "progressToken"));
    const event = (at: number): string =>
      `data: ${kinds.progress.replace("$TOKEN", token).replace("$N", String(at))}\n\n`;
    const answer = `data: {"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"done"}]}}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(Array.from({ length: 5_000 }, (_, at) => event(at)).join("") + answer);
    return true;
  });
  const runtime = await open({ one: way === "pipes" ? raw : { url, risk: "safe" } });
  const steps: unknown[] = [];
  const request =
    way === "pipes"
      ? { tool: "one__flood", arguments: { line: kinds.progress, count: 5_000 } }
      : { tool: "one__t", arguments: {} };
  const outcome = await runtime.invoke(request, { onProgress: (step) => void steps.push(step) });
  expect(outcome).toMatchObject({ status: "ok", text: "done" });
  expect(steps.length).toBeGreaterThan(50);
  expect(steps.length).toBeLessThan(1_000);
});

it("a few quick steps of progress all arrive", async () => {
  const runtime = await open({ one: raw });
  const steps: string[] = [];
  await runtime.invoke(
    { tool: "one__flood", arguments: { line: kinds.progress, count: 20 } },
    { onProgress: ({ content }) => void steps.push(content) },
  );
  expect(steps).toEqual(expect.arrayContaining(Array.from({ length: 20 }, (_, at) => String(at))));
});
