/** Bytes that do not fit in memory: one tool gives a stream, another reads it, and no part holds all of it. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { hashing, mebibytes, producing, watchedMemory } from "../fakes/streaming.ts";

const plain = { description: "A tool.", risk: "safe", effects: "read", idempotent: false } as const;

async function opened(tools: RuntimeOptions["tools"], more: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await createRuntime({ folder: ownFolder(), tools: tools ?? [], ...more });
  onTestFinished(() => runtime.close());
  return runtime;
}

const answering = (name: string, execute: () => unknown) => defineTool({ ...plain, name, execute });
const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

it("a stream of 96 MiB passes from tool to tool by reference, in less memory than its size", async () => {
  const runtime = await opened([producing, hashing]);
  await using session = runtime.openSession();
  const peak = watchedMemory();
  const made = await session.invoke({ tool: "produce", arguments: { mebibytes: 96 } });
  expect(made).toMatchObject({ status: "ok", text: "", files: [{ mediaType: "application/x-dump" }] });
  const [file] = made.files ?? [];
  const hashed = await session.invoke({ tool: "hash", arguments: { file: { $artifact: file?.artifact ?? "" } } });
  expect(hashed).toMatchObject({ status: "ok", text: `${file?.artifact} of ${96 * 2 ** 20} bytes` });
  expect(peak.end()).toBeLessThan(64);
});

it.each([
  ["a ReadableStream", () => ReadableStream.from(mebibytes(2))],
  [
    "an async generator of texts",
    async function* () {
      for (let n = 0; n < 3; n += 1) yield "text, ";
    },
  ],
  ["a Blob", () => new Blob(["a blob"])],
  ["a block of a stream", () => ({ content: [{ type: "image", mimeType: "image/png", data: mebibytes(1) }] })],
  ["many bytes", () => new Uint8Array(3 * 2 ** 20)],
])("%s is kept as an artifact that can be opened", async (_what, execute) => {
  const runtime = await opened([answering("make", execute)]);
  await using session = runtime.openSession();
  const { status, files = [], content } = await session.invoke({ tool: "make" });
  expect(status).toBe("ok");
  expect(content).toHaveLength(1);
  const { bytes } = await runtime.artifacts.open(files[0]?.artifact ?? "", { tenant: "default", agent: "default" });
  expect(digestOf(bytes)).toBe(files[0]?.artifact);
  expect(bytes.length).toBeGreaterThan(5);
});

it("a stream that breaks off fails its tool, and one without an end is no answer", async () => {
  const breaking = answering("breaking", async function* () {
    yield "a";
    throw new Error("the disk went away");
  });
  const endless = answering("endless", async function* () {
    for (;;) yield new Uint8Array(65_536);
  });
  const runtime = await opened([breaking, endless], { results: { maxArtifactBytes: 2 ** 20 } });
  expect(await runtime.invoke({ tool: "breaking" })).toMatchObject({
    status: "error",
    refusal: { code: "tool_failed", message: expect.stringContaining("the disk went away") },
  });
  expect(await runtime.invoke({ tool: "endless" })).toMatchObject({
    status: "error",
    refusal: { code: "result_unavailable", message: expect.stringContaining("more than 1048576 bytes") },
  });
});

it("a stream that stalls ends with its call's time", async () => {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const still = answering(
    "still",
    () => new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => resolve() }),
  );
  const runtime = await opened([still], { limits: { callTimeoutMs: 50, approvalWaitMs: 10 } });
  expect(await runtime.invoke({ tool: "still" })).toMatchObject({ status: "error", refusal: { code: "timed_out" } });
  await stopped;
});

it("does not store a stream with a known secret, also if it spans two pieces", async () => {
  const secrets = { get: async () => ({ reveal: () => "sesame-open-sesame" }) };
  const telling = defineTool({
    ...plain,
    name: "telling",
    execute: async (_input, context) => {
      await context.secrets.get("vault", "door");
      return ReadableStream.from([Buffer.from("it is sesame-"), Buffer.from("open-sesame, you know")]);
    },
  });
  const runtime = await opened([telling], { secrets });
  const outcome = await runtime.invoke({ tool: "telling" });
  expect(outcome).toMatchObject({ status: "ok", text: "[redacted: this file held a secret]" });
  expect(outcome).not.toHaveProperty("files");
});

it("an artifact that is not the caller's cannot be opened by its tool either", async () => {
  const runtime = await opened([producing, hashing]);
  const as = (agent: string) => ({ principal: { tenant: "acme", agent } });
  const { files = [] } = await runtime.invoke({ tool: "produce", arguments: { mebibytes: 2 } }, as("ann"));
  const file = { $artifact: files[0]?.artifact ?? "" };
  expect(await runtime.invoke({ tool: "hash", arguments: { file } }, as("bob"))).toMatchObject({
    refusal: { code: "artifact_unavailable" },
  });
  expect(await runtime.invoke({ tool: "hash", arguments: { file } }, as("ann"))).toMatchObject({ status: "ok" });
});
