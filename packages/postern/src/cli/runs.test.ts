import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

describe("the runs of a Postern that is started for each command", () => {
  const data = ["--data", cli.dataFolder("inside")];
  const run = join(cli.folder, "inside", "runs", "run_1");

  it("each call goes into the run's folder, with the effective configuration", async () => {
    await cli.run("call", "echo", "text=12", "--run", "run_1", ...data);
    await cli.run("call", "fail", "--run", "run_1", ...data);
    expect(readFileSync(join(run, "config.yaml"), "utf8")).toContain("autonomy: A2");
    const listed = await cli.run("runs", ...data);
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toMatch(/^RUN .*\nrun_1 +stopped +incomplete +2 +1 +0 /);
  });

  it("shows one: how it stands and its events, all or some", async () => {
    const shown = await cli.run("runs", "show", "run_1", ...data);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain("2 ran: 1 completed, 1 failed");
    expect(shown.out).toContain("The run is not finished.");
    expect(shown.out).toMatch(/tool\.failed +local-agent +`fail` failed: tool_failed/);
    const some = await cli.run("runs", "show", "run_1", "--type", "tool.", "--limit", "2", "--json", ...data);
    expect(JSON.parse(some.out)).toMatchObject({
      run: { run_id: "run_1" },
      events: [{ type: "tool.started" }, { type: "tool.failed" }],
    });
    const next = await cli.run("runs", "show", "run_1", "--after", "1", "--limit", "1", "--json", ...data);
    expect(JSON.parse(next.out)).toMatchObject({ events: [{ sequence: 2 }] });
  });

  it("show of a run that is not there ends with 1", async () => {
    for (const id of ["nope", "../run_1", "%2e%2e"]) {
      const { code, err } = await cli.run("runs", "show", id, ...data);
      expect(code).toBe(1);
      expect(err).toContain("There is no run");
    }
  });

  it("says what one is for, and ends it with its result as exit code", async () => {
    writeFileSync(join(cli.folder, "prompt.md"), "Write the report.");
    const about = ["--task", "Report", "--prompt", join(cli.folder, "prompt.md"), "--deliverable", "a.md", "b.md"];
    const begun = await cli.run("runs", "begin", "run_2", ...about, "--json", ...data);
    expect(JSON.parse(begun.out)).toMatchObject({ state: "started", deliverables: { expected: ["a.md", "b.md"] } });
    const papers = join(cli.folder, "inside", "runs", "run_2");
    expect(readFileSync(join(papers, "prompt.md"), "utf8")).toContain("Write the report.");
    const finished = await cli.run("runs", "finish", "run_2", ...data);
    expect(finished).toMatchObject({ code: 1, err: "" });
    expect(finished.out).toContain("missing      a.md, b.md");
    for (const name of ["a.md", "b.md"]) writeFileSync(join(papers, "deliverables", name), "done");
    expect(await cli.run("runs", "finish", "run_2", ...data)).toMatchObject({ code: 0 });
    expect(await cli.run("runs", "begin", "run_3", "--prompt", "/nowhere.md", ...data)).toMatchObject({ code: 2 });
  });

  it.each(["runs", "calls"])(
    "a list of %s that is cut says so, and where it goes on; a whole one does not",
    async (list) => {
      const cut = await cli.run(list, "--limit", "1", ...data);
      expect(cut).toMatchObject({ code: 0, err: "There are more; `--limit` shows them.\n" });
      expect(cut.out.trimEnd().split("\n")).toHaveLength(2);
      const printed = await cli.run(list, "--limit", "1", "--json", ...data);
      expect(JSON.parse(printed.out)).toHaveProperty(list === "runs" ? "next_after" : "next_before");
      expect(printed.err).toBe("");
      const whole = await cli.run(list, "--limit", "2000", ...data);
      expect(whole).toMatchObject({ code: 0, err: "" });
      expect(whole.out.trimEnd().split("\n")).toHaveLength(3);
    },
  );

  it("typed wrong ends with 2", async () => {
    expect((await cli.run("runs", "list", "--limit", "many", ...data)).code).toBe(2);
    expect((await cli.run("runs", "show", ...data)).code).toBe(2);
  });
});

it("keeps none when the configuration says so, and another folder when it names one", async () => {
  const config = readFileSync(join(cli.folder, "postern.yaml"), "utf8");
  writeFileSync(join(cli.folder, "off.yaml"), `${config}runs: { enabled: false }\n`);
  const off = ["--config", "off.yaml", "--data", cli.dataFolder("off")];
  expect((await cli.run("call", "echo", "text=1", ...off)).code).toBe(0);
  expect(existsSync(join(cli.folder, "off", "runs"))).toBe(false);
  const printed = await cli.run("runs", ...off);
  expect(printed.code).toBe(1);
  expect(printed.err).toContain("`runs.enabled`");

  writeFileSync(join(cli.folder, "elsewhere.yaml"), `${config}runs: { folder: my-runs }\n`);
  const elsewhere = ["--config", "elsewhere.yaml", "--data", cli.dataFolder("elsewhere")];
  await cli.run("call", "echo", "text=1", "--run", "run_1", ...elsewhere);
  expect(existsSync(join(cli.folder, "my-runs", "run_1", "events.jsonl"))).toBe(true);
});

it("a secret in the configuration is in no run", async () => {
  const config = readFileSync(join(cli.folder, "postern.yaml"), "utf8");
  const server =
    "servers:\n  far: { url: 'https://me:pass1word@example.test/mcp?key=sesame', enabled: false, headers: { authorization: 'Bearer sesame' } }\n" +
    "  near: { command: node, args: [--token, sesame, '--key=sesame'], enabled: false, env: { TOKEN: sesame, OTHER: 'secret://near/other' } }\n";
  writeFileSync(join(cli.folder, "secret.yaml"), config + server);
  const data = cli.dataFolder("secret");
  await cli.run("call", "echo", "text=1", "--run", "run_1", "--config", "secret.yaml", "--data", data);
  const kept = readFileSync(join(data, "runs", "run_1", "config.yaml"), "utf8");
  expect(kept).toContain("https://example.test/mcp");
  expect(kept).toContain("secret://near/other");
  expect(kept).toContain("--token");
  expect(kept).not.toMatch(/sesame|pass1word/);
});
