import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { guard } from "./guard.ts";

it("gives the function's own result, and throws what the gate refused", async () => {
  await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
  const definition = {
    name: "add",
    description: "Adds.",
    risk: "safe",
    input: z.object({ a: z.number(), b: z.number() }),
  } as const;
  const add = guard(runtime, definition, ({ a, b }) => ({ sum: a + b }));
  expect(await add({ a: 1, b: 2 })).toEqual({ sum: 3 });
  await expect(add({ a: "1", b: 2 } as never)).rejects.toMatchObject({
    name: "CallRefused",
    code: "arguments_invalid",
  });
  const wipe = guard(runtime, { ...definition, name: "wipe", risk: "critical" }, () => ({ gone: true }));
  await expect(wipe({ a: 1, b: 2 })).rejects.toMatchObject({ code: "pending" });
});

it("refuses a function without a risk", async () => {
  await using runtime = await createRuntime();
  expect(() => guard(runtime, { name: "f", description: "", input: z.object({}) }, () => 1)).toThrow("has no risk");
});
