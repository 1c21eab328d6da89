import { refusal, type ToolOutcome } from "@postern/core";
import { expect, it } from "vitest";
import { answerOf as answerHere } from "./answer.ts";

const answerOf = (outcome: ToolOutcome, tool: string, console?: () => string | undefined) =>
  answerHere(outcome, tool, { console });

const ok: ToolOutcome = { status: "ok", callId: "call_1", content: [], text: "" };

it("every kind of block becomes the protocol's own", () => {
  const { content } = answerOf(
    {
      ...ok,
      content: [
        { type: "text", text: "hi" },
        { type: "image", mediaType: "image/png", data: "aGk=" },
        { type: "audio", mediaType: "audio/wav", data: "aGk=" },
        { type: "file", mediaType: "text/csv", data: "aGk=", name: "a b.csv" },
        { type: "image", mediaType: "image/png", artifact: "d1gest", name: "plot.png" },
        { type: "resource", uri: "x:1", mediaType: "text/plain", text: "t" },
        { type: "resource", uri: "x:2", data: "aGk=" },
        { type: "resource", uri: "x:3" },
        { type: "link", uri: "x:4", mediaType: "text/plain" },
      ],
    },
    "t",
  );
  expect(content).toEqual([
    { type: "text", text: "hi" },
    { type: "image", mimeType: "image/png", data: "aGk=" },
    { type: "audio", mimeType: "audio/wav", data: "aGk=" },
    { type: "resource", resource: { uri: "file:a%20b.csv", mimeType: "text/csv", blob: "aGk=" } },
    { type: "resource_link", uri: "artifact:d1gest", name: "plot.png", mimeType: "image/png" },
    { type: "resource", resource: { uri: "x:1", mimeType: "text/plain", text: "t" } },
    { type: "resource", resource: { uri: "x:2", blob: "aGk=" } },
    { type: "resource_link", uri: "x:3", name: "x:3" },
    { type: "resource_link", uri: "x:4", name: "x:4", mimeType: "text/plain" },
  ]);
});

it("a suspended call says that a person decides, to go on meanwhile and to send it again", () => {
  const { isError, structuredContent, content } = answerOf(
    { ...ok, status: "pending", approvalId: "apr_1", expiresAt: 0 },
    "send",
  );
  expect(isError).toBe(true);
  expect(structuredContent).toMatchObject({
    status: "approval_pending",
    approval_id: "apr_1",
    expires_at: "1970-01-01T00:00:00.000Z",
    meanwhile: "go on with other work",
    retry: "send the same call again",
  });
  expect(content).toEqual([
    {
      type: "text",
      text: expect.stringMatching(/a person must decide it.*Go on with other work.*send the same call again/),
    },
  ]);
});

it("never shows an agent the command that approves", () => {
  const held = { ...ok, status: "pending", approvalId: "apr_1", expiresAt: 0 } as const;
  expect(JSON.stringify(answerOf(held, "send", () => "http://127.0.0.1:7420"))).not.toMatch(/postern\b.*approv|POST/);
});

it("a held call links to its page of the console, once it is known where that is", () => {
  const held = { ...ok, status: "pending", approvalId: "apr_1", expiresAt: 0 } as const;
  const { structuredContent, content } = answerOf(held, "send", () => "http://127.0.0.1:7420");
  expect(structuredContent).toMatchObject({ url: "http://127.0.0.1:7420/approvals/apr_1" });
  expect(content).toEqual([{ type: "text", text: expect.stringContaining("(http://127.0.0.1:7420/approvals/apr_1)") }]);
  expect(answerOf(held, "send", () => undefined).structuredContent).not.toHaveProperty("url");
});

it("a refusal is typed, a preview is shown, and neither is a success", () => {
  const denied = answerOf({ ...ok, status: "denied", refusal: refusal("blocked") }, "t");
  expect(denied).toMatchObject({
    isError: true,
    structuredContent: { status: "denied", code: "blocked", retry: "never" },
  });
  const previewed = answerOf({ ...ok, status: "preview", preview: { summary: "mail to x", supported: true } }, "t");
  expect(previewed).toMatchObject({
    isError: true,
    structuredContent: { status: "preview", preview: { summary: "mail to x" } },
  });
});

it("what the call was is in `_meta`, replays and artifacts included", () => {
  expect(answerOf({ ...ok, replayed: true, artifact: "d1gest", structured: [1] }, "t")).toEqual({
    content: [],
    structuredContent: [1],
    isError: false,
    _meta: {
      "postern/call-id": "call_1",
      "postern/status": "ok",
      "postern/replayed": true,
      "postern/artifact": "d1gest",
    },
  });
});
