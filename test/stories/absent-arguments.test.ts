/** Models write null for optional arguments that they leave out. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Changing } from "../fakes/changing.ts";
import { probe } from "../fakes/probe.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const line = { type: "object", properties: { sku: { type: "string" }, note: { type: "string" } }, required: ["sku"] };
const orderSchema = {
  type: "object",
  properties: { to: { type: "string" }, limit: { type: "integer" }, lines: { type: "array", items: line } },
  required: ["to"],
};
const zodOrder = z.object({
  to: z.string(),
  limit: z.int().optional(),
  lines: z.array(z.object({ sku: z.string(), note: z.string().optional() })).optional(),
});
const sent = { to: "ada", limit: null, lines: [{ sku: "a", note: null }] };
const meant = { to: "ada", lines: [{ sku: "a" }] };

const order = (h: RuntimeFixture, given: object) =>
  h.runtime.invoke({ tool: "probe", arguments: given as never }, asker);

describe.each(storeKinds)("null for an optional argument, in %s", (kind) => {
  it.each([
    ["JSON Schema", orderSchema],
    ["zod", zodOrder],
  ])("is left out of card, record and tool: %s", async (_name, input) => {
    const given: unknown[] = [];
    const execute = (input: unknown): string => {
      given.push(input);
      return "ordered";
    };
    const tool = probe({ risk: "high", effects: "write", idempotent: false, input, execute } as never);
    await using h = await runtimeFixture({ store: newStore(kind) }, tool);
    const { approvalId = "" } = await order(h, sent);
    expect((await h.runtime.approvals.get(approvalId))?.arguments).toEqual(meant);
    expect((await order(h, meant)).approvalId).toBe(approvalId); // the same call
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect(await order(h, sent)).toMatchObject({ status: "ok", text: "ordered" });
    expect(given).toEqual([meant]);
    expect((await h.runtime.calls.list()).map(({ call }) => call.arguments)).toEqual([meant]);
  });

  it("is left out of arguments that a person edits", async () => {
    const given: unknown[] = [];
    const execute = (input: unknown): string => String(given.push(input));
    const tool = probe({ risk: "high", effects: "write", idempotent: false, input: orderSchema, execute } as never);
    await using h = await runtimeFixture({ store: newStore(kind) }, tool);
    const { approvalId = "" } = await order(h, { to: "bob" });
    const edit = { decision: "modified", arguments: sent, by: boss } as const;
    expect(await h.runtime.approvals.decide(approvalId, edit)).toMatchObject({ decided: true });
    await h.runtime.resume(approvalId, asker);
    expect(given).toEqual([meant]);
  });

  it("stays a refusal for a required argument, and stays where the schema takes it", async () => {
    const input = {
      ...orderSchema,
      properties: { ...orderSchema.properties, limit: { type: "integer", nullable: true } },
    };
    const tool = probe({ input, execute: (given: unknown) => JSON.stringify(given) } as never);
    await using h = await runtimeFixture({ store: newStore(kind) }, tool);
    expect(await order(h, { to: null })).toMatchObject({ refusal: { code: "arguments_invalid" } });
    expect(await order(h, { to: "ada", limit: null })).toMatchObject({ text: '{"limit":null,"to":"ada"}' });
  });
});

it("keeps null that a Standard Schema takes though its JSON Schema does not say so", async () => {
  const input = z.object({ limit: z.coerce.number().optional() });
  const tool = probe({ input, execute: (given: unknown) => JSON.stringify(given) } as never);
  await using h = await runtimeFixture({}, tool);
  expect(await order(h, { limit: null })).toMatchObject({ text: '{"limit":0}' });
});

it("never reaches a server whose schema takes no null", async () => {
  const server = closeAfterTest(new Changing({ name: "shot", inputSchema: orderSchema as never }));
  const { runtime } = await serveRuntime({ servers: { web: server.config({ risk: "safe" }) } });
  expect(await runtime.invoke({ tool: "web__shot", arguments: sent }, asker)).toMatchObject({ status: "ok" });
  expect(server.given).toEqual([meant]);
});
