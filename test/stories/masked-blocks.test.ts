import { expect, it } from "vitest";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const value = "Zq7Rk2Vb9Xw4 & p@ss\nTt5Yy6Uu7Ii8";
const encoded = Buffer.from(value).toString("base64");

/** A tool that answers with these texts, and an image between them. */
function blocksTool(...texts: readonly string[]): Promise<RuntimeFixture> {
  const redactor = createRedactor();
  const secrets = environmentSecrets({ redactor, environment: { POSTERN_SECRET_MAIL_TOKEN: value } });
  const blocks = texts.map((text) => ({ type: "text", text }) as const);
  const image = { type: "image", data: "AAAA", mediaType: "image/png" } as const;
  const content = [...blocks.slice(0, 1), image, ...blocks.slice(1)];
  return runtimeFixture({ redactor, secrets, policy: { default: "allow" } }, [
    {
      ...{ name: "tell", description: "Tells.", risk: "safe", effects: "read", idempotent: false },
      inputSchema: { type: "object" },
      execute: async () => ({ content }),
    },
  ]);
}

it.each([
  ["in two", [value.slice(0, 5), value.slice(5)]],
  ["in two at its line break", value.split("\n")],
  ["letter by letter", [...value]],
  [
    "behind and before long texts",
    [`${"a ".repeat(90_000)}${value.slice(0, 9)}`, `${value.slice(9)}${" b".repeat(90_000)}`],
  ],
  ["with an empty text between", [value.slice(0, 20), "", value.slice(20)]],
  ["as base64", [encoded.slice(0, 18), encoded.slice(18)]],
  ["as JSON", [JSON.stringify(value).slice(0, 12), JSON.stringify(value).slice(12)]],
])("masks a value that is split over text blocks %s", async (_, [first = "", ...rest]) => {
  await using made = await blocksTool(`before ${first}`, ...rest.slice(0, -1), `${rest.at(-1)} after`);
  const outcome = await made.runtime.invoke({ tool: "tell", arguments: {} }, asker);
  expect(outcome.status).toBe("ok");
  const bytes =
    outcome.artifact === undefined ? "" : (await made.runtime.artifacts.open(outcome.artifact, asker.principal)).bytes;
  const seen = JSON.stringify([outcome, await made.runtime.calls.list(), Buffer.from(bytes ?? "").toString()]);
  expect(seen).toContain("[redacted]");
  for (const part of [...(value.match(/\w{4}/g) ?? []), ...(encoded.match(/\w{4}/g) ?? [])])
    expect(seen).not.toContain(part);
});

it("leaves texts without a value as they are", async () => {
  await using made = await blocksTool("one", "two", value.slice(0, 5));
  const { text } = await made.runtime.invoke({ tool: "tell", arguments: {} }, asker);
  expect(text).toBe(`one\ntwo\n${value.slice(0, 5)}`);
});
