import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ToolContext } from "../../packages/postern/src/index.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { base, openRunArchive, safe, type Tool } from "../fakes/run-archive.ts";
import { boss } from "../fakes/runtime-fixture.ts";

/** No encoder changes letters and digits, so this much of the value stays readable in each encoding. */
const core = "Zq7Rk2Vb9Xw4";
const value = `p@ss & <"w+rd'>\\é/${core}\n=end;`;

const said: Readonly<Record<string, string>> = {
  plain: value,
  JSON: JSON.stringify({ a: JSON.stringify({ b: value }) }),
  "JSON of Go": JSON.stringify(value).replace(/[&<>]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
  HTML: value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`),
  URL: `https://ann:${encodeURIComponent(value)}@example.org/`,
};

/** Returns each name and the bytes of each file below the folder, hidden ones too. */
function everythingIn(folder: string): string {
  const paths = globSync(["**/*", "**/.*", "**/.*/**/*"], { cwd: folder });
  const files = paths.filter((path) => statSync(join(folder, path)).isFile());
  expect(files.length).toBeGreaterThan(5);
  return [...paths, ...files.map((path) => readFileSync(join(folder, path), "utf8"))].join("\n");
}

it.each(Object.entries(said))("a run's folder holds no secret in the encoding %s", async (_, text) => {
  const redactor = createRedactor();
  const secrets = environmentSecrets({ redactor, environment: { POSTERN_SECRET_MAIL_TOKEN: value } });
  const leaky: Tool = {
    ...{ ...safe, name: "leaky", description: "Leaks." },
    execute: async (_: unknown, context: ToolContext) => {
      context.progress(`step ${text}`);
      return { content: [{ type: "text", text: `result ${text}` }], structured: { [`key ${text}`]: [text] } };
    },
  };
  const failing: Tool = {
    ...{ ...safe, name: "failing", description: "Fails." },
    execute: () => Promise.reject(new Error(`failed with ${text}`)),
  };
  const held: Tool = {
    ...{ name: "held", description: "Asks.", risk: "high", effects: "write", idempotent: false, input: safe.input },
    classifyRisk: () => ({ risk: "high", summary: `will use ${text}`, target: text }),
    preview: async () => ({ summary: `would use ${text}` }),
    execute: () => `sent ${text} ${"word ".repeat(2_000)}${text}`,
  };
  await using k = await openRunArchive([leaky, failing, held], { redactor, secrets });
  const { runtime } = k.h;
  await runtime.runs?.begin({ runId: "run_1" }, { task: { [text]: text }, prompt: text, systemPrompt: text });
  for (const tool of ["leaky", "failing", "held", text]) {
    await runtime.invoke({ tool, arguments: {} }, base);
    await runtime.invoke({ tool, arguments: { [text]: { inner: [text] } } }, base);
  }
  for (const { id } of await runtime.approvals.list({ state: "pending" })) {
    await runtime.approvals.decide(id, { decision: "approved", by: boss, reason: text });
    await runtime.resume(id);
  }
  await runtime.note("example.said", text, { data: { [text]: text } });
  await runtime.runs?.describe({ runId: "run_1" }, { transcript: text });
  await runtime.runs?.finish({ runId: "run_1" }, { state: "failed", reason: text });
  await runtime.runs?.flush();
  const all = everythingIn(k.folder);
  expect(all).toContain("[redacted]");
  expect(all).not.toContain(core);
});
