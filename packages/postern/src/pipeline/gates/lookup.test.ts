import { expect, it } from "vitest";
import { aCall } from "../../../../../test/fakes/call.ts";
import { probe } from "../../../../../test/fakes/probe.ts";
import { asker, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import type { Action, Tools } from "../../tools/tool.ts";
import { uncountedCall } from "./budget.ts";
import { lookup } from "./lookup.ts";

const notFromChain = "`tool_chain` cannot be called from a chain: no recursion.";
const found: Pick<Action, "notFromChain"> = { notFromChain };
const tools: Pick<Tools, "find" | "unavailable"> = {
  find: () => found as Action, // the gate looks at nothing else of it
  unavailable: () => undefined,
};
const parts = {
  tools: tools as Tools,
  controls: { state: { paused: false, autonomy: undefined, offTools: [], offServers: [] } },
};

it("a script may not call what is not callable from a chain; another caller may", () => {
  const call = aCall({ tool: "tool_chain" });
  const fromChain = { ...call, authority: { ...call.authority, fromChain: true } as const };
  expect(lookup(uncountedCall(fromChain), parts)).toMatchObject({
    ending: "refused",
    refusal: { code: "tool_not_callable", message: notFromChain },
  });
  expect(lookup(uncountedCall(aCall()), parts)).toMatchObject({ found });
});

it("suggests the near name of a mistyped one, of those the caller may see and no other", async () => {
  const named = (name: string) => ({ ...probe()[0], name });
  const rules = [{ effect: "deny", tool: "send_fax", principal: { agent: "a" } }] as const;
  await using h = await runtimeFixture({ policy: { rules } }, ["send_mail", "send_fax"].map(named));
  const told = async (tool: string) => (await h.runtime.invoke({ tool }, asker)).refusal?.message;
  expect(await told("send_mial")).toBe(
    "No tool is named `send_mial`; did you mean `send_mail`? Else list the tools to see what there is.",
  );
  for (const hidden of ["send_fxa", "something_else"])
    expect(await told(hidden)).toBe(`No tool is named \`${hidden}\`; list the tools to see what there is.`);
});

it("suggests nothing without a list of visible tools", () => {
  const none = { ...parts, tools: { ...parts.tools, find: () => undefined, has: () => false } };
  expect(lookup(uncountedCall(aCall({ tool: "mial" })), none)).toMatchObject({ refusal: { code: "tool_unknown" } });
});
