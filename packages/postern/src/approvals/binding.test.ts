import type { Preview } from "@postern/core";
import { expect, it } from "vitest";
import { previewDigest } from "./binding.ts";

const shown: Preview = {
  supported: true,
  summary: "sends it",
  diff: "-a\n+b",
  details: { to: "x" },
  table: { columns: ["who", "what"], rows: [["ann", "1"]] },
  message: { to: ["x"], subject: "s", body: "b" },
};

it.each<readonly [string, Partial<Preview>]>([
  ["its summary", { summary: "sends all" }],
  ["its diff", { diff: "-a\n+c" }],
  ["its details", { details: { to: "y" } }],
  ["a cell of its table", { table: { columns: ["who", "what"], rows: [["ann", "2"]] } }],
  ["a column of its table", { table: { columns: ["who", "why"], rows: [["ann", "1"]] } }],
  ["whom its message is to", { message: { to: ["y"], subject: "s", body: "b" } }],
  ["the subject of its message", { message: { to: ["x"], subject: "t", body: "b" } }],
  ["the body of its message", { message: { to: ["x"], subject: "s", body: "c" } }],
])("a preview is another one when %s is", (_, change) => {
  expect(previewDigest({ ...shown, ...change })).not.toBe(previewDigest(shown));
  expect(previewDigest({ ...shown })).toBe(previewDigest(shown));
});

it.each(["table", "message", "diff", "details"] as const)("and when its %s is left out", (member) => {
  const { [member]: _left, ...rest } = shown;
  expect(previewDigest(rest)).not.toBe(previewDigest(shown));
});
