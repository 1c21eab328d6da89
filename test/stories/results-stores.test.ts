/** Large results without an artifact store, and in a store of the embedder. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { OwnArtifactStore } from "../../packages/postern/src/results/index.ts";
import { hashing, mebibytes } from "../fakes/streaming.ts";

const plain = { description: "A tool.", risk: "safe", effects: "read", idempotent: false } as const;
const long = "x".repeat(100_000);
const tools = [
  defineTool({ ...plain, name: "report", execute: () => long }),
  defineTool({
    ...plain,
    name: "draw",
    execute: () => ({ content: [{ type: "image", mediaType: "image/png", data: "aGk=" }] }),
  }),
  defineTool({
    ...plain,
    name: "rows",
    execute: () => ({ structured: { rows: Array.from({ length: 3_000 }, (_, id) => ({ id })) } }),
  }),
  defineTool({ ...plain, name: "dump", execute: () => mebibytes(1) }),
  defineTool({
    ...plain,
    name: "weigh",
    input: { type: "object", properties: { body: { type: "string" } } },
    execute: (given) => String(String(given["body"]).length),
  }),
  hashing,
];

async function opened(artifacts: NonNullable<RuntimeOptions["artifacts"]>): Promise<Runtime> {
  const runtime = await createRuntime({ tools, artifacts });
  onTestFinished(() => runtime.close());
  return runtime;
}

/** The four functions of the port over a Map. It refuses every principal without its own copy. */
function ownStore(): OwnArtifactStore & { readonly pins: Map<string, number>; readonly kept: Map<string, Uint8Array> } {
  const kept = new Map<string, Uint8Array>();
  const owners = new Map<string, Map<string, string>>();
  const pins = new Map<string, number>();
  const nameOf = (owner: object): string => JSON.stringify(owner);
  return {
    kept,
    pins,
    async put(bytes, mediaType, owner) {
      const digest = createHash("sha256").update(bytes).digest("hex");
      kept.set(digest, bytes);
      owners.set(digest, (owners.get(digest) ?? new Map()).set(nameOf(owner), mediaType));
      pins.set(digest, (pins.get(digest) ?? 0) + 1);
      return { digest, mediaType, bytes: bytes.length };
    },
    async open(digest, principal) {
      const bytes = kept.get(digest);
      const mediaType = owners.get(digest)?.get(nameOf(principal));
      if (bytes === undefined || mediaType === undefined) throw new Error("There is no such artifact.");
      return { meta: { digest, mediaType, bytes: bytes.length }, bytes };
    },
    async pin(digest) {
      pins.set(digest, (pins.get(digest) ?? 0) + 1);
    },
    async unpin(digest) {
      pins.set(digest, (pins.get(digest) ?? 0) - 1);
    },
  };
}

it("without an artifact store everything is inline, whatever its size", async () => {
  const runtime = await opened(false);
  expect(await runtime.invoke({ tool: "report" })).toMatchObject({ status: "ok", text: long });
  const drawn = await runtime.invoke({ tool: "draw" });
  expect(drawn.content).toEqual([{ type: "image", mediaType: "image/png", data: "aGk=" }]);
  expect((await runtime.invoke({ tool: "rows" })).structured).toMatchObject({ rows: { length: 3_000 } });
  const [dump] = (await runtime.invoke({ tool: "dump" })).content;
  expect(dump).toMatchObject({ type: "file", data: expect.stringMatching(/^.{1398104}$/) });
  for (const tool of ["report", "draw", "rows", "dump"]) {
    const outcome = await runtime.invoke({ tool });
    expect(outcome).not.toHaveProperty("artifact");
    expect(outcome).not.toHaveProperty("files");
  }
});

it("without an artifact store a reference is refused, and nothing can be put", async () => {
  const runtime = await opened(false);
  const body = { $artifact: "a".repeat(64) };
  expect((await runtime.invoke({ tool: "weigh", arguments: { body } })).refusal?.code).toBe("artifact_unavailable");
  const owner = { tenant: "t", agent: "a" };
  await expect(runtime.artifacts.put(Buffer.from("x"), "x/y", owner)).rejects.toMatchObject({ code: "artifacts_off" });
});

it("an own store keeps results, is read from, and gets its pins back", async () => {
  const store = ownStore();
  const runtime = await opened(store);
  const session = runtime.openSession();
  const { artifact = "", text } = await session.invoke({ tool: "report" });
  expect(text).toMatch(/^x+…$/);
  expect(Buffer.from(store.kept.get(artifact) ?? "").toString()).toBe(long);
  const weighed = await session.invoke({ tool: "weigh", arguments: { body: { $artifact: artifact } } });
  expect(weighed.text).toBe("100000");
  const [dump] = (await session.invoke({ tool: "dump" })).files ?? [];
  const hashed = await session.invoke({ tool: "hash", arguments: { file: { $artifact: dump?.artifact ?? "" } } });
  expect(hashed.text).toBe(`${dump?.artifact} of 1048576 bytes`);
  expect([...store.pins.values()]).toEqual([1, 1]);
  await session.close();
  expect([...store.pins.values()]).toEqual([0, 0]);
});

it("an own store protects what it keeps: another principal's reference is refused", async () => {
  const runtime = await opened(ownStore());
  const as = (agent: string) => ({ principal: { tenant: "acme", agent } });
  const { artifact = "" } = await runtime.invoke({ tool: "report" }, as("ann"));
  const weigh = { tool: "weigh", arguments: { body: { $artifact: artifact } } };
  expect((await runtime.invoke(weigh, as("bob"))).refusal?.code).toBe("artifact_unavailable");
  expect((await runtime.invoke(weigh, as("ann"))).text).toBe("100000");
});

it.each([[{}], [{ put() {}, open() {} }], ["folder"], [true]])(
  "%j is refused as an artifact store",
  async (artifacts) => {
    await expect(createRuntime({ artifacts: artifacts as never })).rejects.toMatchObject({
      code: "options_invalid",
      message: expect.stringContaining("`artifacts`"),
    });
  },
);
