import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakePolicyInForce } from "../../../../test/fakes/policy-in-force.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import { openPolicyFile, type PolicyFileOptions } from "./policy-file.ts";
import { findSection, withSection } from "./policy-section.ts";
import { ConfigProblems } from "./problem.ts";

const before = `# ours
listen: { port: 0 }

# what agents may do
policy:
  # two rules
  rules:
    - { effect: deny, tool: rm }

# keep this
servers:
  files: { command: npx }
`;
const section = "policy:\n  # two rules\n  rules:\n    - { effect: deny, tool: rm }\n";
const other = "policy:\n  rules:\n    - { effect: deny, tool: mail }\n";
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-policy-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function opened(text = before, more: Partial<PolicyFileOptions> & { readonly name?: string } = {}) {
  const { name = "postern.yaml", ...rest } = more;
  const file = join(folder, name);
  await writeFile(file, text, { mode: 0o640 });
  const options = {
    file,
    mayEdit: true,
    clock: new FakeClock(),
    redact: (given: string) => given,
    ...fakePolicyInForce(),
    ...rest,
  };
  return { file, desk: openPolicyFile(options) };
}
const quiet = async (): Promise<void> => {};

describe("the policy in the operator's file", () => {
  it("is read with its comments, and without other sections", async () => {
    const { desk } = await opened();
    expect(await desk.read()).toMatchObject({ name: "postern.yaml", text: section, line: 5 });
    expect((await desk.read()).whyNot).toBeUndefined();
  });

  it("is saved in its place: all other text, the old file and its mode stay", async () => {
    const { file, desk } = await opened();
    const { digest } = await desk.read();
    const told: object[] = [];
    const saved = await desk.save({ text: other, expectedDigest: digest }, async (change) => void told.push(change));
    expect(saved).toMatchObject({ saved: true, name: "postern.yaml" });
    expect(await readFile(file, "utf8")).toBe(before.replace(section, other));
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe("640");
    const [kept = ""] = (await readdir(folder)).filter((name) => name.includes(".before-"));
    expect(saved).toHaveProperty("kept", kept);
    expect(await readFile(join(folder, kept), "utf8")).toBe(before);
    expect(told).toEqual([{ name: "postern.yaml", before: digest, after: (await desk.read()).digest }]);
    expect((await desk.read()).text).toBe(other);
  });

  it("does not overwrite a version that was saved meanwhile", async () => {
    const { file, desk } = await opened();
    const { digest } = await desk.read();
    const [one, two] = await Promise.all([
      desk.save({ text: other, expectedDigest: digest }, quiet),
      desk.save({ text: "policy: {}", expectedDigest: digest }, quiet),
    ]);
    expect([one.saved, two]).toEqual([true, expect.objectContaining({ saved: false, why: "policy_changed" })]);
    const now = (await desk.read()).digest;
    const late = await desk.save({ text: section, expectedDigest: now }, () => writeFile(file, "autonomy: A0\n"));
    expect(late).toMatchObject({ saved: false, why: "policy_changed" });
    expect(await readFile(file, "utf8")).toBe("autonomy: A0\n");
  });

  it("is not saved when its event cannot be written", async () => {
    const { file, desk } = await opened();
    const { digest } = await desk.read();
    const fails = desk.save({ text: other, expectedDigest: digest }, async () => {
      throw new Error("disk full");
    });
    await expect(fails).rejects.toThrow("disk full");
    expect(await readFile(file, "utf8")).toBe(before);
    expect(await readdir(folder)).toEqual(["postern.yaml"]);
  });

  it.each([
    ["policy:\n  ruls: []", "postern.yaml:6:3 policy.ruls"],
    ["policy: {}\nlisten: { port: 1 }", "it has `policy`, `listen`"],
    ["", "it has nothing"],
    ["- policy", "it has nothing"],
    ["policy: [", "cannot be saved: the policy:5"],
    ["policy: &a {}\n<<: *a", "it has"],
    ["  policy: {}", "not indented like the lines"],
    ["policy: {}\n---\npolicy: {}", "---"],
  ])("refuses %j, and says what is wrong", async (text, why) => {
    const { file, desk } = await opened();
    const { digest } = await desk.read();
    await expect(desk.save({ text, expectedDigest: digest }, quiet)).rejects.toThrow(why);
    expect(await readFile(file, "utf8")).toBe(before);
  });

  it("is read only where the configuration does not let it be saved, the file is no YAML, or it is mixed with others", async () => {
    const whyNot = async (text: string, more: Parameters<typeof opened>[1] = {}): Promise<string | undefined> => {
      const { desk } = await opened(text, more);
      const read = await desk.read();
      const saved = await desk.save({ text: other, expectedDigest: read.digest }, quiet);
      expect(saved).toMatchObject({ saved: false, why: "policy_not_editable", message: read.whyNot });
      return read.whyNot;
    };
    expect(await whyNot(before, { mayEdit: false })).toContain("console.edit_policy: true");
    expect(await whyNot('{"policy":{}}', { name: "postern.json" })).toContain("not a YAML file");
    expect(await whyNot("{ policy: {} }")).toContain("separated");
    expect(await whyNot("a: &x [1]\npolicy:\n  rules: *x\n")).toContain("separated");
    expect(await whyNot("policy: [")).toContain("separated");
    expect(await whyNot(before, { redact: (text) => text.replace("rm", "[redacted]") })).toContain("a secret");
  });

  it("never shows a secret in it", async () => {
    const { desk } = await opened(before, { redact: (text) => text.replace("rm", "[redacted]") });
    expect((await desk.read()).text).toContain("tool: [redacted]");
  });

  it("is written through a link, into the file behind it", async () => {
    await writeFile(join(folder, "real.yaml"), before);
    await symlink("real.yaml", join(folder, "link.yaml"));
    const desk = openPolicyFile({
      file: join(folder, "link.yaml"),
      mayEdit: true,
      clock: new FakeClock(),
      redact: (text) => text,
      ...fakePolicyInForce(),
    });
    await desk.save({ text: other, expectedDigest: (await desk.read()).digest }, quiet);
    expect(await readFile(join(folder, "real.yaml"), "utf8")).toBe(before.replace(section, other));
  });

  it("says so when the file is gone, or is no text", async () => {
    const { file, desk } = await opened();
    await writeFile(file, Buffer.from([0xff, 0xfe, 0x00]));
    expect((await desk.read()).whyNot).toContain("cannot be read");
    await rm(file);
    expect((await desk.read()).whyNot).toContain("cannot be read");
  });

  it("comes after all else where there was none, in files of any line ending", () => {
    for (const [file, wanted] of [
      ["", other],
      ["# nothing\n", `# nothing\n${other}`],
      ["autonomy: A1", `autonomy: A1\n${other}`],
      ["autonomy: A1\r\npolicy: {}\r\nlog: {}\r\n", `autonomy: A1\r\n${other.replaceAll("\n", "\r\n")}log: {}\r\n`],
    ] as const) {
      const found = findSection("p.yaml", file);
      expect(found && withSection(file, found, other)).toBe(wanted);
    }
  });

  it("can be taken out and put in again anywhere between other sections, and nothing else changes", async () => {
    const sections = [
      "listen:\n  port: 0\n",
      "# alone\n",
      "autonomy: A2 # so\n",
      "\n",
      "log: { level: info }\n",
      section,
    ];
    await fc.assert(
      fc.property(fc.shuffledSubarray(sections), (parts) => {
        const file = parts.join("");
        const found = findSection("p.yaml", file);
        if (found === undefined) return false;
        const changed = withSection(file, found, other);
        const again = findSection("p.yaml", changed);
        return (
          again !== undefined &&
          changed.split("\n")[found.line - 1] === "policy:" &&
          withSection(changed, again, found.text).trimEnd() ===
            (file.includes(section) ? file : `${file}policy: {}\n`).trimEnd()
        );
      }),
    );
  });
});

describe("the policy of the file, put in force", () => {
  it("is read and replaced one after another, so that the last one asked for stays", async () => {
    const steps: string[] = [];
    const { inForce, replaced } = fakePolicyInForce(async () => {
      const autonomy = steps.length === 0 ? "A0" : "A1";
      steps.push(`read, ${replaced.length} replaced`);
      return { policy: {}, guardrails: [], autonomy, sections: {} };
    });
    const { desk } = await opened(before, { inForce });
    const author = { by: { by: "ada", via: "test" } };
    expect(await Promise.all([desk.reload(author), desk.reload(author)])).toMatchObject([
      { reloaded: true, after: "p2" },
      { reloaded: true, after: "p3" },
    ]);
    expect(steps).toEqual(["read, 0 replaced", "read, 1 replaced"]);
    expect(replaced.map(({ autonomy }) => autonomy)).toEqual(["A0", "A1"]);
  });

  it("leaves the file as it was if what is saved cannot come into force", async () => {
    const { inForce, replaced } = fakePolicyInForce(() =>
      Promise.reject(ConfigProblems.of({ source: "postern.yaml", line: 3, message: "No.", fix: "Yes." })),
    );
    const { file, desk } = await opened(before, { inForce });
    const { digest: expectedDigest } = await desk.read();
    const activate = { by: { by: "ada", via: "test" } };
    await expect(desk.save({ text: other, expectedDigest, activate }, quiet)).rejects.toMatchObject({
      code: "policy_invalid",
      message: "postern.yaml:3:1: No. Fix: Yes.",
    });
    expect([await readFile(file, "utf8"), replaced]).toEqual([before, []]);
  });

  it("keeps a guardrail that did not change, and names the sections that wait for a restart", async () => {
    const name = { use: "personal_data" } as const;
    const guardrail = (): Guardrail => ({ name: "personal_data", on: "arguments", check: () => [] });
    const sections = [
      { guardrails: [name], servers: {}, policy: {} },
      { guardrails: [name], policy: { default: "deny" }, log: { level: "info" } },
    ] as const;
    let reads = 0;
    const { inForce, replaced } = fakePolicyInForce(async () => ({
      ...{ policy: {}, guardrails: [guardrail()], autonomy: "A2", sections: sections[reads++] ?? {} },
    }));
    const { desk } = await opened(before, { inForce });
    const author = { by: { by: "ada", via: "test" } };
    expect(await desk.reload(author)).toMatchObject({ restart: ["servers"] });
    expect(await desk.reload(author)).toMatchObject({ restart: ["log"] });
    expect(replaced[1]?.guardrails?.[0]).toBe(replaced[0]?.guardrails?.[0]);
  });

  it("is not read again from a file that is code", async () => {
    const { desk } = await opened("export default {};", { name: "postern.ts" });
    const reloaded = await desk.reload({ by: { by: "ada", via: "test" } });
    expect(reloaded).toEqual({
      reloaded: false,
      message: "`postern.ts` is code, which is run once. Stop Postern and start it again.",
    });
  });
});
