import { expect, it, onTestFinished } from "vitest";
import { createRuntime, type Runtime, type ToolOutcome } from "../index.ts";

const row = { id: 1, name: "somebody", mail: "somebody@example.com" };
const part = Array.from({ length: 1_000 }, () => row);

async function answered(
  answer: () => unknown,
  maxBytes?: number,
): Promise<readonly [ToolOutcome, readonly string[], Runtime]> {
  const tool = { name: "export", description: "Exports.", risk: "safe", idempotent: false, execute: answer } as const;
  const runtime = await createRuntime({ tools: [tool], ...(maxBytes !== undefined && { results: { maxBytes } }) });
  onTestFinished(() => runtime.close());
  const outcome = await runtime.invoke({ tool: "export" });
  const events = await runtime.audit.query({ callId: outcome.callId });
  return [outcome, events.map(({ type }) => type).filter((type) => /succeeded|failed|unknown/.test(type)), runtime];
}

it.each([
  ["text", () => "x".repeat(200_000_000), 200_000_000],
  ["bytes", () => Buffer.alloc(200_000_000), 200_000_000],
  ["an image", () => ({ content: [{ type: "image", data: "A".repeat(200_000_000) }] }), 150_000_000],
])("200 MB of %s are kept as an artifact without any configuration", async (_what, answer, bytes) => {
  const [outcome, terminal, runtime] = await answered(answer);
  expect(outcome.status).toBe("ok");
  const digest = outcome.artifact ?? outcome.files?.[0]?.artifact ?? "";
  expect(await runtime.artifacts.meta(digest, { tenant: "default", agent: "default" })).toMatchObject({ bytes });
  expect(terminal).toEqual(["tool_call.succeeded"]);
});

it.each([
  ["rows", () => Array.from({ length: 4_000 }, () => part)],
  ["structured content", () => ({ structured: { pages: Array.from({ length: 4_000 }, () => part) } })],
])("a tool that returns 200 MB of %s has run, and its answer is refused: one terminal event", async (_what, answer) => {
  const [outcome, terminal] = await answered(answer);
  expect(outcome).toMatchObject({ status: "error", refusal: { code: "result_unavailable", retry: "never" } });
  expect(outcome.text).toContain("more than 33554432 bytes, the most that is taken (`results.max_bytes`)");
  expect(terminal).toEqual(["tool_call.succeeded"]);
});

it("stores whole results up to the limit, wherever the operator sets it", async () => {
  const answer = (): unknown => Array.from({ length: 5 }, () => part);
  const [kept] = await answered(answer, 1_000_000);
  expect(kept).toMatchObject({ status: "ok", artifact: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const [refused] = await answered(answer, 100_000);
  expect(refused).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
});

it.each([
  [1, "`1` is too small. Write at least 65536."],
  [64 * 1024 - 1, "`65535` is too small. Write at least 65536."],
  [2 ** 40, "`1099511627776` is too big. Write at most 268435456."],
  [1.5, "`1.5` is not a whole number."],
  ["1", '`"1"` is not a number.'],
])("a limit of %s bytes is refused", async (maxBytes, reason) => {
  // What a configuration in JavaScript may say.
  await expect(createRuntime({ results: { maxBytes: maxBytes as number } })).rejects.toMatchObject({
    code: "options_invalid",
    message: expect.stringContaining(`\`results.maxBytes\`: ${reason}`),
  });
});
