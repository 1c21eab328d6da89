import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import type { Ended, PosternProcess } from "../../../../test/fakes/postern-process.ts";

const cli = new CommandLine();
const ran = join(cli.folder, "posted");
writeFileSync(
  join(cli.folder, "tools.ts"),
  `${readFileSync(join(cli.folder, "tools.ts"), "utf8")}
export const post = defineTool({ name: "post", description: "Ignores that it shall end.", risk: "medium", effects: "write", idempotent: false,
  inputSchema: any, execute: () => { appendFileSync(${JSON.stringify(ran)}, "post"); return new Promise((done) => setTimeout(done, 60_000)); } });
`,
);
afterAll(() => cli[Symbol.dispose]());
writeFileSync(
  join(cli.folder, "postern.yaml"),
  "tools: { modules: [./tools.ts] }\nlisten: { port: 0 }\nautonomy: A3 # medium calls run, high ones ask\n",
);

/** A call in a process of its own, which gets Ctrl-C once `when` holds. */
async function interrupted(words: readonly string[], when: () => Promise<boolean>): Promise<Ended> {
  const { child, end } = cli.open(["call", ...words]);
  child.stdin?.end();
  await expect.poll(when).toBe(true);
  child.kill("SIGINT");
  return end;
}

async function pending(data: string): Promise<number> {
  return JSON.parse((await cli.run("approvals", "--json", "--data", data)).out).approvals.length;
}

describe("Ctrl-C of a call to a running Postern", () => {
  const data = join(cli.folder, "running");
  const to = ["--data", data];
  let running: Awaited<ReturnType<PosternProcess["start"]>>;
  beforeAll(async () => {
    running = await cli.start(data);
  });
  afterAll(() => void running.child.kill("SIGKILL"));

  it("says that a started call is unknown, with its id and how to settle it", async () => {
    const { code, err } = await interrupted(["post", ...to], async () => existsSync(ran));
    expect(code).toBe(130);
    const [, id] = /Interrupted\. (call_\S+) had started, and its outcome is unknown/.exec(err) ?? [];
    expect(err).toContain(`calls settle ${id} succeeded|failed|retry`);
    expect(JSON.parse((await cli.run("calls", "show", id ?? "", "--json", ...to)).out).state).toBe("unknown");
    const settled = await cli.run("calls", "settle", id ?? "", "retry", "--reason", "it is not there", ...to);
    expect(settled.code).toBe(0);
    expect(settled.out).toMatch(/nothing runs by itself\. It runs when its caller sends it again/);
    expect(settled.out).not.toContain("Settle it:");
  });

  it("says that a held call was not run, and how to go on or take it back", async () => {
    const { code, err } = await interrupted(
      ["send", "text=later", "--wait", "60", ...to],
      async () => (await pending(data)) > 0,
    );
    expect(code).toBe(130);
    expect(err).toMatch(/Interrupted\. call_\S+ was not run\. Its request (apr_\S+) is still open: .* withdraw \1`\./);
    expect(cli.runs).not.toContain("later");
  });

  it("says it as JSON too", async () => {
    const before = await pending(data);
    const words = ["send", "text=json", "--wait", "60", "--json", ...to];
    const { code, out } = await interrupted(words, async () => (await pending(data)) > before);
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({
      interrupted: true,
      state: "held",
      approval_id: expect.stringMatching(/^apr_/),
    });
  });
});

it("says it of a call without a running Postern as well", async () => {
  rmSync(ran, { force: true });
  const words = ["post", "--data", cli.dataFolder("inside")];
  const { code, err } = await interrupted(words, async () => existsSync(ran));
  expect(code).toBe(130);
  expect(err).toMatch(/Interrupted\. call_\S+ had started, and its outcome is unknown/);
});
