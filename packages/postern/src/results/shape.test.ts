import type { ContentBlock, Json } from "@postern/core";
import { expect, it } from "vitest";
import {
  hiding,
  kept,
  memoryArtifacts,
  newSession,
  noneNeeded,
  owner,
  png,
  shaped,
  text,
} from "../../../../test/fakes/shaping.ts";
import { releasePins } from "./releases.ts";

it("keeps text of exactly 4096 bytes inline and offloads 4097 (case 173)", async () => {
  const artifacts = memoryArtifacts();
  const inline = shaped(text("x".repeat(4096)), { artifacts });
  expect(inline).toEqual({
    status: "ok",
    callId: "call_1",
    ...text("x".repeat(4096)),
    text: "x".repeat(4096),
  });
  const offloaded = await shaped(text("x".repeat(4097)), { artifacts });
  expect(offloaded.text).toBe(`${"x".repeat(4093)}…`);
  expect(await kept(artifacts, offloaded.artifact)).toBe("x".repeat(4097));
});

it("counts bytes, not characters, against the limit", async () => {
  const artifacts = memoryArtifacts();
  expect(shaped(text("é".repeat(2048)), { artifacts })).toMatchObject({ status: "ok" });
  const offloaded = await shaped(text("é".repeat(2049)), { artifacts });
  expect(offloaded.text).toBe(`${"é".repeat(2046)}…`);
});

it("previews 8000 × 'x', pins it while the session lives and releases it after (case 174)", async () => {
  const artifacts = memoryArtifacts();
  const session = newSession();
  const outcome = await shaped(text("x".repeat(8000)), { artifacts, session });
  expect(outcome.status).toBe("ok");
  expect(outcome.text.length).toBeLessThan(8000);
  expect(outcome.text.endsWith("…")).toBe(true);
  expect(outcome.content).toEqual([{ type: "text", text: outcome.text }]);
  expect(session.pins).toEqual([outcome.artifact]);
  expect(await artifacts.sweep(noneNeeded)).toBe(0);
  await releasePins(session, artifacts, expect.unreachable);
  expect(await artifacts.sweep(noneNeeded)).toBe(1);
});

it("pins equal results of one session once, so that its close releases them", async () => {
  const artifacts = memoryArtifacts();
  const session = newSession();
  const result = text("x".repeat(8000));
  await Promise.all([1, 2, 3].map(() => shaped(result, { artifacts, session })));
  await releasePins(session, artifacts, expect.unreachable);
  expect(await artifacts.sweep(noneNeeded)).toBe(1);
});

it("returns big text inline and whole without a store (case 176)", () => {
  const outcome = shaped(text("x".repeat(100_000)));
  expect(outcome).toMatchObject({ status: "ok", text: "x".repeat(100_000) });
  expect(outcome).not.toHaveProperty("artifact");
});

it("makes a big error an error with a reference (case 177)", async () => {
  const artifacts = memoryArtifacts();
  const outcome = await shaped({ ...text("e".repeat(9000)), isError: true }, { artifacts });
  expect(outcome.status).toBe("error");
  expect(await kept(artifacts, outcome.artifact)).toBe("e".repeat(9000));
  expect(outcome.refusal?.code).toBe("tool_failed");
  expect(outcome.refusal?.message).toBe(`${"e".repeat(497)}…`);
});

it("says an error's own words in its refusal, and the table's when it has none", () => {
  const failed = shaped({ ...text("no such file"), isError: true });
  expect(failed).toMatchObject({
    status: "error",
    text: "no such file",
    refusal: { code: "tool_failed", message: "no such file", retry: "never" },
  });
  const silent = shaped({ isError: true, retryable: true });
  expect(silent).toMatchObject({
    refusal: { code: "tool_failed", message: "The tool failed.", retry: "later" },
  });
});

it("makes an image one file with its media type, a reference and a path (case 178)", async () => {
  const artifacts = memoryArtifacts();
  const outcome = await shaped({ content: [png] }, { artifacts });
  const [file] = outcome.files ?? [];
  expect(outcome.files).toEqual([
    { path: "/workspace/media/draw_0.png", mediaType: "image/png", artifact: file?.artifact },
  ]);
  expect(outcome.content).toEqual([{ type: "image", mediaType: "image/png", artifact: file?.artifact, size: 8 }]);
  expect(outcome).not.toHaveProperty("artifact");
  const opened = await artifacts.open(file?.artifact ?? "", owner);
  expect(opened.meta.mediaType).toBe("image/png");
  expect(Buffer.from(opened.bytes).toString("base64")).toBe("iVBORw0KGgo=");
});

it("reaches the model with an image inline when there is no store (case 179)", () => {
  expect(shaped({ content: [png] })).toMatchObject({ status: "ok", content: [png] });
});

it("numbers the media of one result and keeps their place between the texts", async () => {
  const audio: ContentBlock = { type: "audio", mediaType: "audio/mpeg", data: "AAAA", name: "a" };
  const artifacts = memoryArtifacts();
  const content = [png, ...text("between").content, audio];
  const outcome = await shaped({ content }, { artifacts });
  expect(outcome.files?.map(({ path }) => path)).toEqual([
    "/workspace/media/draw_0.png",
    "/workspace/media/draw_1.mp3",
  ]);
  expect(outcome.content.map(({ type }) => type)).toEqual(["image", "text", "audio"]);
  expect(outcome.text).toBe("between");
  expect(outcome.content[2]).toMatchObject({ name: "a" });
});

it("offloads large structured content and leaves a summary (case 181)", async () => {
  const artifacts = memoryArtifacts();
  const structured = { rows: Array.from({ length: 1500 }, (_, n) => n), next: null };
  const outcome = await shaped({ ...text("1500 rows"), structured }, { artifacts });
  const whole = { text: "1500 rows", structured };
  expect(JSON.parse(await kept(artifacts, outcome.artifact))).toEqual(whole);
  expect((await artifacts.open(outcome.artifact ?? "", owner)).meta.mediaType).toBe("application/json");
  expect(outcome.structured).toEqual({
    $artifact: outcome.artifact,
    bytes: JSON.stringify(whole).length,
    keys: ["rows", "next"],
    length: 2,
  });
  expect(outcome.text).toBe("1500 rows");
});

it.each<[Json, object]>([
  [Array.from({ length: 9 }, () => "y".repeat(999)), { length: 9 }],
  ["z".repeat(5000), { length: 5000 }],
])("summarises structured content that is no object", async (structured, summary) => {
  const outcome = await shaped({ structured }, { artifacts: memoryArtifacts() });
  expect(outcome.structured).toMatchObject(summary);
  expect(outcome).toMatchObject({ text: "", content: [] });
});

it("counts text and structured content together", async () => {
  const artifacts = memoryArtifacts();
  const structured = "s".repeat(10);
  const fitting = shaped({ ...text("t".repeat(12)), structured }, { artifacts, limitBytes: 24 });
  expect(fitting).toMatchObject({ structured });
  const outcome = await shaped({ ...text("t".repeat(13)), structured }, { artifacts, limitBytes: 24 });
  expect(outcome.artifact).toMatch(/^[0-9a-f]{64}$/);
});

it("stays within the limit with head and summary together", async () => {
  const artifacts = memoryArtifacts();
  const structured = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${n} ${"käse".repeat(99)}`, n]));
  const outcome = await shaped({ ...text("€".repeat(9000)), structured }, { artifacts });
  const bytes = Buffer.byteLength(outcome.text + JSON.stringify(outcome.structured));
  expect(bytes).toBeLessThanOrEqual(4096);
  expect(outcome.structured).toMatchObject({ length: 500 });
});

it("leaves the media of a big result beside the head of its text", async () => {
  const content = [...text("x".repeat(9000)).content, png];
  const outcome = await shaped({ content }, { artifacts: memoryArtifacts() });
  expect(outcome.content.map(({ type }) => type)).toEqual(["text", "image"]);
  expect(outcome.files).toHaveLength(1);
});

it("keeps resources and links of a big result in its artifact, and tells where they are", async () => {
  const artifacts = memoryArtifacts();
  const long: ContentBlock = { type: "resource", uri: "file:///a", text: "A".repeat(8000) };
  const link: ContentBlock = { type: "link", uri: "https://example.org/" };
  const outcome = await shaped({ content: [long, link] }, { artifacts });
  expect(JSON.parse(await kept(artifacts, outcome.artifact))).toMatchObject({ content: [long, link] });
  const small = shaped({ content: [link] }, { artifacts });
  expect(small).toMatchObject({ content: [link], text: "[resource link: https://example.org/]" });
});

it("keeps the bytes of an embedded resource that is too big by themselves, and leaves the other blocks", async () => {
  const artifacts = memoryArtifacts();
  const blob: ContentBlock = { type: "resource", uri: "file:///a", data: "A".repeat(8000) };
  const link: ContentBlock = { type: "link", uri: "https://example.org/" };
  const { content, artifact, files, text } = await shaped({ content: [blob, link] }, { artifacts });
  const digest = files?.[0]?.artifact;
  expect(content).toEqual([{ type: "resource", uri: "file:///a", artifact: digest, size: 6000 }, link]);
  expect(await kept(artifacts, digest)).toBe(Buffer.from("A".repeat(8000), "base64").toString());
  expect(artifact).toBeUndefined();
  expect(text).toBe("[embedded resource: file:///a]\n[resource link: https://example.org/]");
});

it("structured content that is its own text goes back as it would with both looked at apart", async () => {
  const values: readonly Json[] = [
    { sum: 3 },
    ["a", null],
    { key: "hunter2-hunter2" },
    { "hunter2-hunter2": 1 },
    { nul: "\0" },
    42,
    "x".repeat(40),
  ];
  for (const structured of values) {
    const raw = { ...text(JSON.stringify(structured)), structured };
    for (const limitBytes of [20, 60, 4096]) {
      const setting = { redactor: hiding("hunter2-hunter2"), limitBytes };
      const apart = await shaped(raw, { ...setting, artifacts: memoryArtifacts() });
      expect(await shaped({ ...raw, isJsonText: true }, { ...setting, artifacts: memoryArtifacts() })).toEqual(apart);
      expect(JSON.stringify(apart)).not.toContain("hunter2");
    }
  }
});

it.each([true, false])(
  "an artifact of structured content that is its own text is that text: isJsonText %s",
  async (isJsonText) => {
    const structured = { rows: Array.from({ length: 1000 }, (_, at) => ({ at, name: "ünïcode" })) };
    const artifacts = memoryArtifacts();
    const raw = { ...text(JSON.stringify(structured)), structured, ...(isJsonText && { isJsonText }) };
    const { artifact = "", text: head } = await shaped(raw, { artifacts });
    const { bytes } = await artifacts.open(artifact, owner);
    expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(structured));
    expect(head.startsWith('{"rows":[{"at":0')).toBe(true);
  },
);

it.each([
  ["is the text", (value: Json) => JSON.stringify(value)],
  ["is the text, indented", (value: Json) => JSON.stringify(value, undefined, 1)],
])("JSON counts once against the limit when it %s", async (_what, spelledAs) => {
  const artifacts = memoryArtifacts();
  const structured = Array.from({ length: 100 }, (_, id) => ({ id, name: "somebody" }));
  const said = spelledAs(structured);
  const limitBytes = Buffer.byteLength(said);
  const raw = { ...text(said), structured };
  expect(await shaped(raw, { artifacts, limitBytes })).toMatchObject({ text: said, structured });
  expect(await shaped(raw, { artifacts, limitBytes: limitBytes - 1 })).toHaveProperty("artifact");
});

it("a text that is the only member of structured content counts once, one beside other content twice", async () => {
  const artifacts = memoryArtifacts();
  const said = "x".repeat(3_000);
  expect(await shaped({ ...text(said), structured: { content: said } }, { artifacts })).toMatchObject({ text: said });
  const other = await shaped({ ...text(said), structured: { content: said, more: 1 } }, { artifacts });
  expect(other).toHaveProperty("artifact");
});
