import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { policyOptionsFrom } from "../../packages/postern/src/policy/options.ts";
import { policyWarnings } from "../../packages/postern/src/policy/report/warnings.ts";
import { policySchemas } from "../../packages/postern/src/policy/schema.ts";
import { CommandLine } from "../fakes/command-line.ts";
import type { PosternProcess } from "../fakes/postern-process.ts";

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guide/policy.md"), "utf8");

function blocks(language: string): readonly string[] {
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);
}

/** Reads `npx postern call …   # denied: why`. */
const commands = blocks("sh")
  .flatMap((block) => block.split("\n"))
  .flatMap((line) => {
    const [, words, outcome] = /^npx postern (call .*?)\s+# (\w+)/.exec(line) ?? [];
    return words === undefined || outcome === undefined ? [] : [{ words: words.split(/\s+/), outcome }];
  });
/** Splits `npx postern policy …` as a shell does. */
const questions = blocks("sh")
  .flatMap((block) => block.split("\n"))
  .flatMap((line) => /^npx postern (policy\b[^#]*)/.exec(line)?.[1]?.trim() ?? [])
  .map((words) => words.split(/\s+/).map((word) => word.replaceAll("'", "")));
const codes: ReadonlyMap<string, number> = new Map([
  ["runs", 0],
  ["denied", 3],
  ["waits", 4],
]);

describe("the guide to least privilege", () => {
  const postern = new CommandLine();
  let running: Awaited<ReturnType<PosternProcess["start"]>> | undefined;

  const sample = parse(readFileSync(join(root, "postern.yaml"), "utf8"));
  const withPolicy = (block: string | undefined): string =>
    stringify({ ...sample, ...parse(block ?? ""), data: "data", listen: { port: 0 } });

  beforeAll(async () => {
    for (const folder of ["node_modules", "examples"]) symlinkSync(join(root, folder), join(postern.folder, folder));
    mkdirSync(join(postern.folder, "workspace/notes"), { recursive: true });
    writeFileSync(join(postern.folder, "postern.yaml"), withPolicy(blocks("yaml")[0]));
    writeFileSync(join(postern.folder, "other.yaml"), withPolicy(blocks("yaml")[1]));
    running = await postern.start("data");
  }, 60_000);
  afterAll(async () => {
    running?.child.kill();
    await running?.end;
    postern[Symbol.dispose]();
  });

  it("has commands, and each outcome among them", () => {
    expect(commands.length).toBeGreaterThan(6);
    expect(new Set(commands.map(({ outcome }) => outcome))).toEqual(new Set(codes.keys()));
  });

  it.each(commands)("$outcome: $words", { timeout: 60_000 }, async ({ words, outcome }) => {
    const { code, out, err } = await postern.run(...words, "--data", "data");
    expect(code, out + err).toBe(codes.get(outcome));
    if (outcome === "denied") expect(out + err).toContain("default: deny");
  });

  it("has a question of every kind", () => {
    expect(new Set(questions.map(([, verb = "policy"]) => verb))).toEqual(
      new Set(["policy", "show", "explain", "warnings", "simulate"]),
    );
  });

  it.each(questions.filter(([, verb]) => verb !== "simulate"))(
    "has the right answer for: postern %s %s %s",
    { timeout: 60_000 },
    async (...words) => {
      const { code, out, err } = await postern.run(...words, "--data", "data");
      expect(code, out + err).toBe(0);
      expect(out).not.toBe("");
    },
  );

  it("keeps its expectations beside the policy, and shows what the edit would change", {
    timeout: 90_000,
  }, async () => {
    const expecting = blocks("yaml").find((block) => block.includes("tests:"));
    writeFileSync(join(postern.folder, "postern.yaml"), withPolicy(expecting));
    const tested = await postern.run("policy", "test", "--data", "data");
    expect(tested, tested.out + tested.err).toMatchObject({ code: 0 });
    for (const words of questions.filter(([, verb]) => verb === "simulate")) {
      const { code, out, err } = await postern.run(...words, "--data", "data");
      expect(code, out + err).toBe(0);
      if (words.length === 2) expect(out).toContain("everything__get-sum"); // it waited, and would be denied now
    }
  });

  it("shows only policies that load and have no warnings", () => {
    const policies = blocks("yaml").map((text) => policyOptionsFrom(policySchemas().section.parse(parse(text).policy)));
    expect(policies.length).toBeGreaterThan(3);
    for (const policy of policies) expect(policyWarnings(policy)).toEqual([]);
  });
});
