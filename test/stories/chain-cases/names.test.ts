/** The names that a script finds and calls on each engine (CASES 204 to 215). */
import { expect } from "vitest";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { resultOf } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, language, name, room: open, check }) => {
  check(
    "a script finds the tool names, the handle type, tools and artifacts; frames have the chain's id (case 204)",
    async () => {
      await using at = await open();
      const { output_text } = resultOf(await at.runtime.runChain(code("prelude")));
      expect(output_text).toBe(language === "python" ? "a,2,ok" : "function,function,true,function,function");
      expect(at.seen.programs[0]?.chainId).toMatch(/^chain_[0-9a-f]{32}$/);
    },
  );

  check("a call of `echo` returns 'hi' (case 205)", async () => {
    await using at = await open();
    expect(resultOf(await at.runtime.runChain(code("echo")))).toMatchObject({
      ...{ status: "ok", output_text: "hi", engine: name },
      call_trace: [{ tool: "echo", status: "ok" }],
    });
  });

  check("the program sent to the sandbox has the registry's names (case 211)", async () => {
    await using at = await open();
    await at.runtime.runChain(code("echo"));
    expect(at.seen.programs[0]?.tools.map((tool) => tool.name)).toEqual([
      "count",
      "echo",
      "hold",
      "mail",
      "note",
      "query_db",
      "report",
    ]);
  });

  check(
    "a high tool without approval raises a permission exception, and is recorded as denied (case 214)",
    async () => {
      await using at = await open({ approvals: { patience: "deny" } });
      const result = resultOf(await at.runtime.runChain(code("denied")));
      expect(result.output_text).toMatch(/^(true,approval_unavailable|permission: )/);
      expect(result.call_trace).toMatchObject([{ tool: "mail", status: "denied", code: "approval_unavailable" }]);
      expect(at.ran).toEqual([]);
    },
  );

  check("an unknown tool raises an exception that lists the tools (case 215)", async () => {
    await using at = await open();
    const outcome = await at.runtime.runChain(code("unknown"));
    expect(outcome.text).toMatch(
      /ehco[\s\S]*Did you mean `?echo`?\?[\s\S]*(There are|Available)[\s\S]*count[\s\S]*echo/,
    );
    expect(resultOf(outcome).call_trace).toEqual([]);
  });
});
