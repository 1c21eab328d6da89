/** What a script finds and calls on each engine (CASES 204 to 215). */
import { expect } from "vitest";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { resultOf } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, language, name, room, says }) => {
  says(
    "the prelude has the tools' names, the handle's type, tools and artifacts; the frames bear the chain's id (case 204)",
    async () => {
      await using at = await room();
      const { output_text } = resultOf(await at.runtime.runChain(code("prelude")));
      expect(output_text).toBe(language === "python" ? "a,2,ok" : "function,function,true,function,function");
      expect(at.seen.programs[0]?.chainId).toMatch(/^chain_[0-9a-f]{32}$/);
    },
  );

  says("a call of `echo` is answered with 'hi' (case 205)", async () => {
    await using at = await room();
    expect(resultOf(await at.runtime.runChain(code("echo")))).toMatchObject({
      ...{ status: "ok", output_text: "hi", engine: name },
      call_trace: [{ tool: "echo", status: "ok" }],
    });
  });

  says("what is sent to the sandbox holds the registry's names (case 211)", async () => {
    await using at = await room();
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

  says("a high tool without approval is a permission exception inside, and recorded as denied (case 214)", async () => {
    await using at = await room({ approvals: { patience: "deny" } });
    const result = resultOf(await at.runtime.runChain(code("denied")));
    expect(result.output_text).toMatch(/^(true,approval_unavailable|permission: )/);
    expect(result.call_trace).toMatchObject([{ tool: "mail", status: "denied", code: "approval_unavailable" }]);
    expect(at.ran).toEqual([]);
  });

  says("an unknown tool is an exception that lists what there is (case 215)", async () => {
    await using at = await room();
    const outcome = await at.runtime.runChain(code("unknown"));
    expect(outcome.text).toMatch(
      /ehco[\s\S]*Did you mean `?echo`?\?[\s\S]*(There are|Available)[\s\S]*count[\s\S]*echo/,
    );
    expect(resultOf(outcome).call_trace).toEqual([]);
  });
});
