/** An artifact as an argument: bytes fit every schema that takes text; other schemas refuse them before anything runs. */

import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../packages/core/src/json.ts";
import { createRuntime, defineTool, type LocalTool, type Runtime } from "../../packages/postern/src/index.ts";
import { legacyTool } from "../../packages/postern/src/tools/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";

const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0x00, 0x01]);
const base64 = picture.toString("base64");
const words = Buffer.from("größe");
const plain = { description: "A tool.", risk: "safe", effects: "read", idempotent: false } as const;

function taking(name: string, body: JsonObject, more: object = {}): LocalTool {
  const input: JsonObject = { type: "object", properties: { body }, required: ["body"] };
  return defineTool({
    ...plain,
    name,
    input,
    ...more,
    execute: (given: JsonObject) => ({ got: given["body"] ?? null }),
  });
}

async function opened(
  ...tools: LocalTool[]
): Promise<{ runtime: Runtime; keep: (bytes: Uint8Array) => Promise<string> }> {
  const runtime = await createRuntime({ folder: ownFolder(), tools });
  onTestFinished(() => runtime.close());
  const owner = { tenant: "default", agent: "default" };
  const keep = async (bytes: Uint8Array) => (await runtime.artifacts.put(bytes, "x/y", owner)).digest;
  return { runtime, keep };
}

it.each([
  ["a plain string", { type: "string" }, base64, "größe"],
  ["contentEncoding base64", { type: "string", contentEncoding: "base64" }, base64, words.toString("base64")],
  ["the format byte", { type: "string", format: "byte" }, base64, words.toString("base64")],
  ["the format binary", { type: "string", format: "binary" }, base64, words.toString("base64")],
  [
    "a choice of base64 or nothing",
    { anyOf: [{ type: "string", contentEncoding: "base64" }, { type: "null" }] },
    base64,
    words.toString("base64"),
  ],
  ["anything", {}, base64, "größe"],
])("a JSON Schema that takes %s gets bytes and text", async (_what, body, forPicture, forWords) => {
  const { runtime, keep } = await opened(taking("take", body));
  const take = async (bytes: Uint8Array) =>
    (await runtime.invoke({ tool: "take", arguments: { body: { $artifact: await keep(bytes) } } })).structured;
  expect(await take(picture)).toEqual({ got: forPicture });
  expect(await take(words)).toEqual({ got: forWords });
});

it("bytes fit inside lists, definitions and bare tools as well", async () => {
  const inner = { type: "array", items: { $ref: "#/$defs/file" } };
  const defined = defineTool({
    ...plain,
    name: "defined",
    inputSchema: {
      type: "object",
      properties: { files: inner },
      $defs: { file: { type: "object", properties: { data: { type: "string", contentEncoding: "base64" } } } },
    },
    execute: (given) => ({ got: given["files"] ?? null }),
  });
  const bare = legacyTool({
    name: "bare",
    description: "A bare tool.",
    input_schema: { type: "object", properties: { body: { type: "string", format: "byte" } } },
    execute: (_context: unknown, given: { readonly body: string }) => ({ got: given.body }),
  });
  const { runtime, keep } = await opened(defined, bare);
  const reference = { $artifact: await keep(picture) };
  const files = [{ data: "as it is" }, { data: reference }];
  expect((await runtime.invoke({ tool: "defined", arguments: { files } })).structured).toEqual({
    got: [{ data: "as it is" }, { data: base64 }],
  });
  expect((await runtime.invoke({ tool: "bare", arguments: { body: reference } })).structured).toEqual({ got: base64 });
});

it("a schema in code may take bytes, text or base64", async () => {
  const taken: unknown[] = [];
  const coded = (name: string, body: z.ZodType) =>
    defineTool({
      ...plain,
      name,
      input: z.object({ body }),
      inputSchema: { type: "object", properties: { body: {} } },
      execute: ({ body: got }) => void taken.push(got),
    });
  const { runtime, keep } = await opened(coded("bytes", z.instanceof(Uint8Array)), coded("text", z.string()));
  const body = { $artifact: await keep(picture) };
  expect((await runtime.invoke({ tool: "bytes", arguments: { body } })).status).toBe("ok");
  expect((await runtime.invoke({ tool: "text", arguments: { body } })).status).toBe("ok");
  expect((await runtime.invoke({ tool: "bytes", arguments: { body: { $artifact: await keep(words) } } })).status).toBe(
    "ok",
  );
  expect(taken).toEqual([picture, base64, words]);
});

it.each([
  ["a number", { type: "number" }],
  ["a short text", { type: "string", maxLength: 2 }],
  ["a text of another form", { type: "string", pattern: "^[0-9]+$" }],
])("bytes for a schema that takes %s are refused before the approval and before the claim", async (_what, body) => {
  const { runtime, keep } = await opened(taking("take", body, { risk: "high", effects: "write" }));
  const outcome = await runtime.invoke({ tool: "take", arguments: { body: { $artifact: await keep(words) } } });
  expect(outcome).toMatchObject({ status: "error", refusal: { code: "arguments_invalid" } });
  const types = (await runtime.audit.query({ callId: outcome.callId })).map(({ type }) => type);
  expect(types).toEqual(["tool_call.refused"]);
});

it("a text of 120 MiB fits a schema that takes a text", async () => {
  const counting = defineTool({
    ...plain,
    name: "count",
    input: { type: "object", properties: { body: { type: "string" } }, required: ["body"] },
    execute: (given) => String(String(given["body"]).length),
  });
  const { runtime, keep } = await opened(counting, taking("short", { type: "string", maxLength: 1000 }));
  const body = { $artifact: await keep(Buffer.alloc(120 * 2 ** 20, "\n")) };
  expect(await runtime.invoke({ tool: "count", arguments: { body } })).toMatchObject({
    status: "ok",
    text: "125829120",
  });
  expect((await runtime.invoke({ tool: "short", arguments: { body } })).status).toBe("error");
});
