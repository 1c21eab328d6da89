import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPolicyText, readTestsText } from "../../../packages/postern/src/config/policy-text.ts";
import { type HttpFixture, httpFixture } from "../../fakes/http-fixture.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-viewer-"));
const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";
let h: RuntimeFixture;
let http: HttpFixture;
let headers: Readonly<Record<string, string>>;
beforeAll(async () => {
  mkdirSync(join(folder, ".postern"));
  mkdirSync(join(folder, "folder.cedar"));
  writeFileSync(join(folder, ".postern", "operator.token"), `${secret}\n`, { mode: 0o600 });
  writeFileSync(join(folder, "house.cedar"), "permit(principal, action, resource);");
  symlinkSync(join(folder, ".postern", "operator.token"), join(folder, "linked.cedar"));
  symlinkSync(join(folder, ".postern"), join(folder, "kept"));
  h = await runtimeFixture({ accounts: { passwordCost: cheap } });
  http = await httpFixture(h.runtime, {
    accounts: h.runtime.accounts,
    clock: h.clock,
    policies: {
      policy: (text) => readPolicyText(text, folder),
      tests: async (text) => readTestsText(text),
    },
  });
  const eve = await h.runtime.accounts.add({ name: "eve", roles: ["viewer"], tenant: "acme" }, holder);
  const { text } = await h.runtime.accounts.makeToken({ name: "cli", kind: "person" }, eve, holder);
  headers = { authorization: `Bearer ${text}` };
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
  rmSync(folder, { recursive: true });
});

const files: readonly string[] = [
  ".postern/operator.token",
  "./.postern/./operator.token",
  "a/../.postern/operator.token",
  ".postern/operator.token\u0000.cedar",
  "kept/operator.token",
  "linked.cedar",
  "folder.cedar",
  "../../etc/passwd",
  "/etc/passwd",
  join(folder, ".postern/operator.token"),
];

/** A viewer of another tenant may simulate any policy; Postern itself reads the files that the policy names. */
describe.each(["simulate", "test"])("a policy that a viewer sends to %s", (verb) => {
  async function answerTo(cedar: object): Promise<{ readonly status: number; readonly text: string }> {
    const text = JSON.stringify({ policy: { cedar } });
    const answered = await http.ask(`/v1/policy/${verb}`, {
      headers,
      body: { configuration: { name: "postern.yaml", text } },
    });
    return { status: answered.status, text: await answered.text() };
  }

  it.each(files)("reveals nothing of the content of %j", async (file) => {
    for (const cedar of [{ policies: file }, { policies: "house.cedar", schema: file }]) {
      const { status, text } = await answerTo(cedar);
      expect(status).toBe(422);
      expect(text).not.toContain(secret.slice(0, 8));
      expect(text).not.toContain("root:");
      expect(text).not.toMatch(/token `/);
    }
  });

  it("may name a Cedar file beside the configuration", async () => {
    expect(readFileSync(join(folder, "house.cedar"), "utf8")).toContain("permit");
    expect((await answerTo({ policies: "house.cedar" })).status).toBe(200);
  });
});
