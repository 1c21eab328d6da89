import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { policyOptionsFrom, policySchema } from "../../src/policy/policy-config.ts";
import { policyWarnings } from "../../src/policy/warnings.ts";
import { PosternProcess } from "../fakes/postern-process.ts";

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guide/policy.md"), "utf8");

function blocks(language: string): readonly string[] {
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);
}

/** `npx postern call …   # denied: why` */
const commands = blocks("sh")
  .flatMap((block) => block.split("\n"))
  .flatMap((line) => {
    const [, words, outcome] = /^npx postern (call .*?)\s+# (\w+)/.exec(line) ?? [];
    return words === undefined || outcome === undefined ? [] : [{ words: words.split(/\s+/), outcome }];
  });
const codes: ReadonlyMap<string, number> = new Map([
  ["runs", 0],
  ["denied", 3],
  ["waits", 4],
]);

describe("the guide to the least an agent needs", () => {
  const postern = new PosternProcess();
  let running: Awaited<ReturnType<PosternProcess["start"]>> | undefined;

  beforeAll(async () => {
    const sample = parse(readFileSync(join(root, "postern.yaml"), "utf8"));
    const { policy } = parse(blocks("yaml")[0] ?? "");
    for (const folder of ["node_modules", "examples"]) symlinkSync(join(root, folder), join(postern.folder, folder));
    mkdirSync(join(postern.folder, "workspace/notes"), { recursive: true });
    writeFileSync(
      join(postern.folder, "postern.yaml"),
      stringify({ ...sample, policy, data: "data", listen: { port: 0 } }),
    );
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

  it("shows only policies that load, and that say what they mean", () => {
    const policies = blocks("yaml").map((text) => policyOptionsFrom(policySchema.parse(parse(text).policy)));
    expect(policies.length).toBeGreaterThan(3);
    for (const policy of policies) expect(policyWarnings(policy)).toEqual([]);
  });
});
