import { expect, it } from "vitest";
import { aCall } from "../../test/fakes/call.ts";
import type { Action, Tools } from "../tools/tool.ts";
import { ask } from "./budget.ts";
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

it("a script may not call what is not callable from a chain; anybody else may", () => {
  const call = aCall({ tool: "tool_chain" });
  const fromChain = { ...call, authority: { ...call.authority, fromChain: true } as const };
  expect(lookup(ask(fromChain), parts)).toMatchObject({
    ending: "refused",
    refusal: { code: "tool_not_callable", message: notFromChain },
  });
  expect(lookup(ask(aCall()), parts)).toMatchObject({ found });
});
