import { expect, it, vi } from "vitest";
import { FakeClock } from "../../test/fakes/clock.ts";
import type { Json } from "../calls/json.ts";
import type { ContentBlock, ToolOutcome } from "../calls/outcome.ts";
import { directLimits, Session } from "../calls/session.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import type { ArtifactShelf, ArtifactStore, Needed } from "./artifact-store.ts";
import { memoryArtifacts as memoryArtifactsWith } from "./memory-artifacts.ts";
import type { RawResult } from "./raw-result.ts";
import { releasePins } from "./release-pins.ts";
import { type ShapeParts, shape } from "./shape.ts";

const owner = { tenant: "acme", agent: "writer" };
const nothingSecret: Redactor = { learn() {}, redact: (text) => text, finds: () => false };
const png: ContentBlock = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" };

function hiding(secret: string): Redactor {
  return {
    learn() {},
    redact: (text) => text.replaceAll(secret, "[redacted]"),
    finds: (text) => text.includes(secret),
  };
}

const nobody: Needed = async () => new Set();

function memoryArtifacts(): ArtifactShelf {
  return memoryArtifactsWith({ clock: new FakeClock(), retentionMs: 0 });
}

function newSession(): Session {
  return new Session(directLimits, new FakeClock());
}

interface Setting extends Partial<ShapeParts> {
  readonly limitBytes?: number;
  readonly session?: Session;
}

function shaped(raw: Partial<RawResult>, setting: Setting = {}): ToolOutcome | Promise<ToolOutcome> {
  const { limitBytes = 4096, session = newSession(), redactor = nothingSecret, ...parts } = setting;
  const order = { limitBytes, owner, session, tool: "draw" };
  return shape("call_1", { content: [], isError: false, ...raw }, order, { redactor, ...parts });
}

function text(...texts: readonly string[]): Pick<RawResult, "content"> {
  return { content: texts.map((one) => ({ type: "text", text: one })) };
}

async function kept(artifacts: ArtifactStore, digest: string | undefined): Promise<string> {
  return Buffer.from((await artifacts.open(digest ?? "", owner)).bytes).toString();
}

function failing(after = 0): ArtifactStore {
  const store = memoryArtifacts();
  let puts = 0;
  return {
    ...store,
    put: (...given) => {
      puts += 1;
      if (puts > after) return Promise.reject(new Error("the disk is full"));
      return store.put(...given);
    },
  };
}

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
  expect(await artifacts.sweep(nobody)).toBe(0);
  await releasePins(session, artifacts, expect.unreachable);
  expect(await artifacts.sweep(nobody)).toBe(1);
});

it("pins equal results of one session once, so that its close releases them", async () => {
  const artifacts = memoryArtifacts();
  const session = newSession();
  const result = text("x".repeat(8000));
  await Promise.all([1, 2, 3].map(() => shaped(result, { artifacts, session })));
  await releasePins(session, artifacts, expect.unreachable);
  expect(await artifacts.sweep(nobody)).toBe(1);
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
  expect(outcome.content).toEqual([{ type: "image", mediaType: "image/png", artifact: file?.artifact }]);
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
  const blob: ContentBlock = { type: "resource", uri: "file:///a", data: "A".repeat(8000) };
  const link: ContentBlock = { type: "link", uri: "https://example.org/" };
  const outcome = await shaped({ content: [blob, link] }, { artifacts });
  expect(JSON.parse(await kept(artifacts, outcome.artifact))).toEqual({ content: [blob, link] });
  expect(outcome.text).toMatch(/^\d+ bytes, kept as artifact [0-9a-f]{64}$/);
  const small = shaped({ content: [link] }, { artifacts });
  expect(small).toMatchObject({ content: [link], text: "" });
});

it("ends as an error when the store fails, and the pins made before are released at close (case 187)", async () => {
  const log = vi.fn();
  const session = newSession();
  const artifacts = failing(1);
  const content = [png, ...text("x".repeat(9000)).content];
  const outcome = await shaped({ content }, { artifacts, session, log });
  expect(outcome).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
  expect(session.pins).toHaveLength(1);
  expect(log.mock.calls).toEqual([["The result of `call_1` could not be kept: the disk is full."]]);
});

it("stays the tool's failure when an error's text cannot be kept", async () => {
  const raw = { ...text("e".repeat(9000)), isError: true };
  const outcome = await shaped(raw, { artifacts: failing() });
  expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
});

it("does not throw when redacting fails, and shows nothing of the result", () => {
  const redactor: Redactor = {
    ...nothingSecret,
    redact: () => {
      throw new Error("broken");
    },
  };
  const outcome = shaped(text("sesame"), { redactor });
  expect(outcome).toMatchObject({ refusal: { code: "result_unavailable" } });
  expect(JSON.stringify(outcome)).not.toContain("sesame");
});

it("shows a secret nowhere: not inline, not in the preview, not in the artifact", async () => {
  const artifacts = memoryArtifacts();
  const redactor = hiding("sesame");
  const structured = { sesame: ["open sesame"], n: 1 };
  const content: ContentBlock[] = [
    { type: "text", text: "sesame" },
    { type: "link", uri: "https://example.org/?key=sesame" },
    { type: "file", mediaType: "text/plain", data: "sesame", name: "sesame.txt" },
    { type: "resource", uri: "file:///sesame", text: "sesame" },
  ];
  expect(JSON.stringify(shaped({ content, structured }, { redactor }))).not.toContain("sesame");
  const inline = await shaped({ content, structured }, { artifacts, redactor });
  expect(JSON.stringify(inline)).not.toContain("sesame");
  expect(inline.structured).toEqual({ "[redacted]": ["open [redacted]"], n: 1 });
  const big = { content: [...content, ...text("x".repeat(9000)).content], structured };
  const outcome = await shaped(big, { artifacts, redactor });
  expect(JSON.stringify(outcome)).not.toContain("sesame");
  expect(await kept(artifacts, outcome.artifact)).not.toContain("sesame");
});

it("repairs half of a surrogate pair and NUL, so that every store and wire can carry the text", () => {
  expect(shaped(text("a\uD83Db\0c"))).toMatchObject({ text: "a\uFFFDb\uFFFDc" });
  const structured = { "\uDC00": "\\ud83d \0 \\\uD83D" };
  expect(shaped({ structured })).toMatchObject({
    structured: { "\uFFFD": "\\ud83d \uFFFD \\\uFFFD" },
  });
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
      expect(await shaped({ ...raw, spelled: true }, { ...setting, artifacts: memoryArtifacts() })).toEqual(apart);
      expect(JSON.stringify(apart)).not.toContain("hunter2");
    }
  }
});
