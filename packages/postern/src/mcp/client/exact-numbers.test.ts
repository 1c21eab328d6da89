import { expect, it, onTestFinished } from "vitest";
import { rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type ToolOutcome } from "../../index.ts";

const big = "1915883588174806058";
const ways = ["pipes", "json", "stream"] as const;

async function answered(body: string, way: (typeof ways)[number]): Promise<ToolOutcome> {
  const text = `{"jsonrpc":"2.0","id":$ID,${body}}`;
  const { url } = await rawHttp(({ method, id }, response) => {
    if (method !== "tools/call") return false;
    const filled = text.replaceAll("$ID", String(id));
    if (way === "json") return reply(response, filled);
    return reply(response, `data: ${filled}\n\n`, 200, { "content-type": "text/event-stream" });
  });
  const server = way === "pipes" ? { command: process.execPath, args: ["test/fakes/raw-server.ts"] } : { url };
  const runtime = await createRuntime({
    servers: { one: { ...server, risk: "safe" } },
    limits: { maxInlineResultBytes: 65_536 },
  });
  onTestFinished(() => runtime.close(0));
  return runtime.invoke({ tool: way === "pipes" ? "one__raw" : "one__t", arguments: way === "pipes" ? { text } : {} });
}

it.each(ways)("numbers beyond 2^53 in an answer over %s are exact texts, and a note names them", async (way) => {
  const structured = `{"rows":[{"id":${big},"n":1},{"id":${big.replace("058", "059")},"n":2}],"total":1e400}`;
  const outcome = await answered(
    `"result":{"content":[{"type":"text","text":"row ${big}"}],"structuredContent":${structured}}`,
    way,
  );
  expect(outcome.structured).toEqual({
    rows: [
      { id: big, n: 1 },
      { id: "1915883588174806059", n: 2 },
    ],
    total: "1e400",
  });
  expect(outcome.text).toContain(`row ${big}`);
  expect(outcome.text).toContain("`structuredContent.rows[].id`, `structuredContent.total`");
});

it.each(ways)("without a text of its own the answer's JSON over %s comes before the note", async (way) => {
  const outcome = await answered(`"result":{"content":[],"structuredContent":{"id":${big}}}`, way);
  expect(outcome.content).toEqual([
    { type: "text", text: `{"id":"${big}"}` },
    { type: "text", text: expect.stringContaining("`structuredContent.id`") },
  ]);
});

it.each(ways)("a number in the data of an error over %s is exact", async (way) => {
  const outcome = await answered(`"error":{"code":-32000,"message":"row is locked","data":{"row":${big}}}`, way);
  expect(outcome.refusal?.details).toEqual({
    rpc_error: { code: -32_000, message: "row is locked", data: { row: big } },
  });
  expect(outcome.text).toContain("numbers given as text: `error.data.row`");
});

it.each(ways)("numbers in an answer over %s that is read on the worker thread are exact", async (way) => {
  const rows = Array.from({ length: 40_000 }, (_, at) => `{"id":${big},"name":"somebody number ${at}"}`);
  const outcome = await answered(`"result":{"content":[],"structuredContent":{"rows":[${rows.join(",")}]}}`, way);
  expect(outcome.status).toBe("ok");
  expect(outcome.text).toContain("`structuredContent.rows[].id`");
});

it.each(ways)("ordinary numbers in an answer over %s stay numbers, and there is no note", async (way) => {
  const outcome = await answered('"result":{"content":[],"structuredContent":{"a":9007199254740991,"b":0.1}}', way);
  expect(outcome).toMatchObject({ structured: { a: 9_007_199_254_740_991, b: 0.1 } });
  expect(outcome.text).not.toContain("Note from Postern");
});
