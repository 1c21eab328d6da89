/** A script that needs a person, on each engine. */
import { expect } from "vitest";
import { onEachEngine } from "../../fakes/engine-cases.ts";
import { resultOf } from "../../fakes/engine-fixture.ts";
import { boss } from "../../fakes/runtime-fixture.ts";

await onEachEngine(({ expectReleased, language, room: open, check }) => {
  check("a script that needs a person waits without a process, and continues when it is sent again", async () => {
    await using at = await open();
    const asks = {
      language,
      code:
        language === "python"
          ? "a = tools.note(text='first')\nb = tools.mail(text=a.text)\n[a.text, b.text]"
          : 'const a = await tools.note({ text: "first" }); const b = await tools.mail({ text: a.text }); return [a.text, b.text];',
    };
    const pending = await at.runtime.runChain(asks);
    expect(pending).toMatchObject({ status: "pending", approvalId: expect.stringMatching(/^apr_/) });
    await expectReleased(at.seen.sessions[0]);
    await at.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const done = resultOf(await at.runtime.runChain(asks));
    expect([done.error, done.output_text]).toEqual([null, '["did first","did did first"]']);
    expect(at.ran).toEqual(["first", "did first"]);
  });
});
