import type { JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import { filledInput, wantedIn } from "./filled-input.ts";

const digest = "a".repeat(64);

/** A store with one artifact: its bytes, or only what it says of their number. */
function holding(bytes: Uint8Array, size = bytes.length): ArtifactStore {
  return { open: async () => ({ bytes }), meta: async () => ({ bytes: size }) } as unknown as ArtifactStore;
}

type Filled = Parameters<typeof filledInput>[0];

function callOf(body: JsonObject, found: object = {}): Filled {
  const inputSchema = { type: "object", properties: { body } };
  const action = { inputSchema, facts: {}, parse: (input: JsonObject) => ({ input }), ...found };
  return {
    arguments: { body: { $artifact: digest } },
    authority: { principal: {} },
    found: action,
  } as unknown as Filled;
}

const long = Buffer.alloc(2 * 1024 * 1024, "x");

it("refuses an artifact that no text can hold, and names its size", async () => {
  const refused = await filledInput(callOf({ type: "string" }), holding(long, 500 * 2 ** 20));
  expect(refused).toMatchObject({ issues: [{ path: ["body"], message: expect.stringContaining("524288000 bytes") }] });
});

it("does not hand a long text to a validator that would only copy it", async () => {
  const parse = (): never => {
    throw new Error("the validator was asked");
  };
  for (const facts of [{}, { server: "files" }])
    expect(await filledInput(callOf({ type: "string" }, { parse, facts }), holding(long))).toEqual({
      input: { body: long.toString() },
    });
});

it("hands a long text to a validator that looks into it, and a short one to any", async () => {
  const looked = callOf({ type: "string", pattern: "^x" });
  expect(await filledInput(looked, holding(long))).toMatchObject({ input: { body: long.toString() } });
  expect(await filledInput(callOf({ type: "string" }), holding(Buffer.from("short")))).toEqual({
    input: { body: "short" },
  });
});

it("sends a server a text that one message holds, and refuses more", async () => {
  const call = callOf({ type: "string" }, { facts: { server: "files" } });
  const sent = await filledInput(call, holding(Buffer.alloc(65 * 2 ** 20, "x")));
  expect("input" in sent).toBe(true);
  // JSON writes each of these bytes as six, which no text holds.
  const refused = await filledInput(call, holding(Buffer.alloc(90 * 2 ** 20, "\u0001")));
  expect(refused).toMatchObject({ issues: [{ message: "are too large for one message to the tool's server" }] });
});

it("sends a server a long text beside a reference that the tool reads for itself", async () => {
  const file = { type: "object", properties: { $artifact: { type: "string" } } };
  const inputSchema = { type: "object", properties: { body: { type: "string" }, file } };
  const call = callOf({}, { inputSchema, facts: { server: "files" } });
  const given = { body: { $artifact: digest }, file: { $artifact: digest } };
  expect(await filledInput({ ...call, arguments: given }, holding(long))).toEqual({
    input: { body: long.toString(), file: { $artifact: digest } },
  });
});

it("keeps the reference for a tool that reads for itself", async () => {
  const call = callOf({ type: "object", properties: { $artifact: { type: "string" } } });
  expect(wantedIn(call)).toEqual([{ path: ["body"], digest, wants: "reference" }]);
  expect(await filledInput(call, holding(Buffer.from("x")))).toEqual({ input: { body: { $artifact: digest } } });
});

it("tries text, bytes and base64 on a schema in code, and tells the first issue when none fits", async () => {
  const tried: unknown[] = [];
  const parse = ({ body }: JsonObject): object => {
    tried.push(body);
    return { issues: [{ path: ["body"], message: `issue ${tried.length}` }] };
  };
  const bytes = Buffer.from([0xff, 0xfe]);
  const refused = await filledInput(callOf({}, { takesBytes: true, parse }), holding(bytes));
  expect(tried).toEqual([bytes, bytes, "//4="]);
  expect(refused).toMatchObject({ issues: [{ message: "issue 1" }] });
});
