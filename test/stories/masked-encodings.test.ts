import { describe, expect, it } from "vitest";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

/** No encoder changes letters and digits, so this much of the value stays readable in each encoding. */
const core = "Zq7Rk2Vb9Xw4";
const value = `p@ss & <"w+rd'>\\é/${core}\n=end;`;
const anything = { type: "object" } as const;

const go = (json: string): string => json.replace(/[&<>]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
const dotNet = (json: string): string =>
  json.replace(/[&<>+'é]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const html = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => `&#x${sign.charCodeAt(0).toString(16).padStart(4, "0")};`);

const written: Readonly<Record<string, string>> = {
  "JSON of Go": go(JSON.stringify({ password: value })),
  "JSON of .NET": dotNet(JSON.stringify({ password: value })),
  "JSON in JSON": JSON.stringify({ body: JSON.stringify({ password: value }) }),
  "HTML in JSON": JSON.stringify({ page: `<b title="${html(value)}">` }),
  XML: `<password>${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("'", "&apos;")}</password>`,
  "a URL": `https://ann:${encodeURIComponent(value)}@example.org/`,
  "Python's quote": encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("'", "%27"),
  "a form": new URLSearchParams({ password: value }).toString(),
};

/** A tool that borrows the value and returns a test's encoding of it. */
async function encodingTool(result: unknown): Promise<RuntimeFixture> {
  const redactor = createRedactor();
  const secrets = environmentSecrets({ redactor, environment: { POSTERN_SECRET_MAIL_TOKEN: value } });
  const execute = async (): Promise<unknown> => result;
  const tell = { name: "tell", description: "Tells.", risk: "safe", effects: "read", idempotent: false } as const;
  return runtimeFixture({ redactor, secrets, policy: { default: "allow" } }, [
    { ...tell, inputSchema: anything, execute: execute as () => Promise<string> },
  ]);
}

async function answered(result: unknown): Promise<string> {
  await using made = await encodingTool(result);
  const outcome = await made.runtime.invoke({ tool: "tell", arguments: {} }, asker);
  expect(outcome.status).toBe("ok");
  const kept = await made.runtime.calls.list();
  const { artifact } = outcome;
  const { bytes = new Uint8Array() } =
    artifact === undefined ? {} : await made.runtime.artifacts.open(artifact, asker.principal);
  return JSON.stringify([outcome, kept, Buffer.from(bytes).toString()]);
}

describe.each(Object.entries(written))("a secret in %s", (_, text) => {
  it("is masked in the text of a result", async () => {
    expect(await answered(text)).toContain("[redacted]");
    expect(await answered(text)).not.toContain(core);
  });

  it("is masked in a structured result, as a value and as a key", async () => {
    const seen = await answered({ structured: { list: [{ inner: text }], [`key ${text}`]: 1 } });
    expect(seen).toContain("[redacted]");
    expect(seen).not.toContain(core);
  });

  it("is masked in a long result at any cut between pieces", async () => {
    const pieces = Array.from({ length: 64 }, (_, i) => `${"word ".repeat(1500 + 7 * i)}${text}`);
    const seen = await answered(pieces.join("\n"));
    expect(seen).not.toContain(core);
  });

  it("is refused in arguments", async () => {
    await using made = await encodingTool("");
    const outcome = await made.runtime.invoke({ tool: "tell", arguments: { text } }, asker);
    expect(outcome.refusal?.code).toBe("secret_in_arguments");
  });
});
