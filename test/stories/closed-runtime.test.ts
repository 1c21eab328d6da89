/** What is asked of a runtime after its end: nothing runs, and the answer says why. */
import { expect, it } from "vitest";
import { createRuntime, defineTool } from "../../src/index.ts";

const ran: string[] = [];
const look = defineTool({
  ...{ name: "look", description: "Looks.", risk: "safe", effects: "read", idempotent: true },
  execute: () => void ran.push("look"),
});

it("a closed runtime says that it is closed, to calls, sessions and resumes", async () => {
  const runtime = await createRuntime({ tools: [look] });
  const session = runtime.openSession();
  expect(await runtime.resume("apr_zzz")).toBeUndefined();
  await runtime.close();
  const closed = { status: "error", refusal: { code: "session_closed", retry: "never" } };
  for (const outcome of [await runtime.invoke({ tool: "look" }), await session.invoke({ tool: "look" })]) {
    expect(outcome).toMatchObject(closed);
    expect(outcome.text).toContain("This runtime is closed");
  }
  await expect(runtime.resume("apr_zzz")).rejects.toMatchObject({ name: "RuntimeFault", code: "runtime_closed" });
  expect(ran).toEqual([]);
});
