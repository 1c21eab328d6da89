import type { ContentBlock } from "@postern/core";
import { expect, it, vi } from "vitest";
import {
  failing,
  hiding,
  kept,
  memoryArtifacts,
  newSession,
  nothingSecret,
  png,
  shaped,
  text,
} from "../../../../test/fakes/shaping.ts";
import type { Redactor } from "../secrets/secret-store.ts";

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

it("stays the tool's failure when an error's text cannot be stored", async () => {
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
