import { expect, it } from "vitest";
import { runBatch as runNamed } from "./batch.ts";
import { settled } from "./testing/clock.ts";

const runBatch = (
  names: readonly string[],
  invoke: (name: string) => Promise<string>,
  isSafe: (name: string) => boolean,
) =>
  runNamed(
    names.map((tool) => ({ tool })),
    ({ tool }) => isSafe(tool),
    ({ tool }) => invoke(tool),
  );

it("runs concurrency-safe calls together and others one by one, in order (case 265)", async () => {
  const started: string[] = [];
  const open = new Map<string, (result: string) => void>();
  const invoke = (call: string): Promise<string> => {
    started.push(call);
    return new Promise((resolve) => open.set(call, resolve));
  };
  const batch = runBatch(["s1", "s2", "u1", "u2", "s3"], invoke, (call) => call.startsWith("s"));
  const finish = async (...calls: readonly string[]): Promise<void> => {
    for (const call of calls) open.get(call)?.(call.toUpperCase());
    await settled();
  };
  expect(started).toEqual(["s1", "s2"]);
  await finish("s2", "s1");
  expect(started).toEqual(["s1", "s2", "u1"]);
  await finish("u1");
  expect(started).toEqual(["s1", "s2", "u1", "u2"]);
  await finish("u2");
  await finish("s3");
  expect(await batch).toEqual(["S1", "S2", "U1", "U2", "S3"]);
});

it("a caller's cancellation ends the batch, after its neighbours have ended", async () => {
  const ended: string[] = [];
  const invoke = async (call: string): Promise<string> => {
    await settled(Number(call));
    ended.push(call);
    if (call === "1") throw new Error("cancelled");
    return call;
  };
  await expect(runBatch(["1", "2", "3"], invoke, () => true)).rejects.toThrow("cancelled");
  expect(ended).toEqual(["1", "2", "3"]);
  expect(await runBatch([], invoke, () => true)).toEqual([]);
});
