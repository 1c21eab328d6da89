import { expect, it } from "vitest";
import { contentOf } from "./adapter.ts";

it("image, resource with text, resource without text, unknown block: image block, text with uri, document link, string form", () => {
  expect(
    contentOf([
      { type: "image", data: "aGk=" },
      { type: "resource", resource: { uri: "file:///a", text: "hello", mimeType: "text/plain" } },
      { type: "resource", resource: { uri: "file:///b" } },
      { type: "hologram", depth: 3 },
    ]),
  ).toEqual([
    { type: "image", mediaType: "image/png", data: "aGk=" },
    { type: "resource", uri: "file:///a", mediaType: "text/plain", text: "hello" },
    { type: "link", uri: "file:///b" },
    { type: "text", text: '{"type":"hologram","depth":3}' },
  ]);
});

it("text, sound, bytes and links keep what they say of themselves", () => {
  expect(
    contentOf([
      { type: "text", text: "hi", annotations: { priority: 1 } },
      { type: "audio", data: "aGk=", mimeType: "audio/ogg" },
      { type: "resource", resource: { uri: "x:1", blob: "aGk=", mimeType: "application/gzip" } },
      { type: "resource_link", uri: "x:2", name: "two", mimeType: "text/csv" },
    ]),
  ).toEqual([
    { type: "text", text: "hi", annotations: { priority: 1 } },
    { type: "audio", mediaType: "audio/ogg", data: "aGk=" },
    { type: "resource", uri: "x:1", mediaType: "application/gzip", data: "aGk=" },
    { type: "link", uri: "x:2", name: "two", mediaType: "text/csv" },
  ]);
});

it.each([
  null,
  7,
  "text",
  [],
  {},
  { type: "text" },
  { type: "image", data: 5 },
  { type: "resource" },
  { type: "resource", resource: { uri: 1 } },
  { type: "resource_link" },
])("a broken block becomes its own text: %j", (block) => {
  expect(contentOf([block])).toEqual([{ type: "text", text: JSON.stringify(block) }]);
});
