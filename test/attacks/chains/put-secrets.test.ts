import { expect, it } from "vitest";
import { createRedactor } from "../../../packages/postern/src/secrets/redactor.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { scriptFixture } from "../../fakes/script-fixture.ts";

it.each([
  ["plain letters", "correct-horse-battery"],
  ["letters that take several bytes", "schlüssel-größe-éàü"],
  ["no Latin letters at all", "пароль-секретный-ключ"],
])("a script cannot put away a secret of %s, however the text was built", async (_, value) => {
  const redactor = createRedactor();
  redactor.learn(value);
  await using h = await scriptFixture({ redactor });
  const half = Math.floor(value.length / 2);
  const [left, right] = [value.slice(0, half), value.slice(half)];
  const code = `const both = ${JSON.stringify(left)} + ${JSON.stringify(right)};
    const tries = [{ text: both }, { base64: Buffer.from(both).toString("base64") }, { base64: Buffer.from(both, "utf16le").toString("base64") }];
    const codes = [];
    for (const given of tries) try { await host("artifact", given); codes.push("kept"); } catch (error) { codes.push(error.code); }
    return codes.join();`;
  const outcome = await h.runtime.runChain({ code }, asker);
  expect(outcome.text).toContain("secret_in_arguments,secret_in_arguments,secret_in_arguments");
});
