import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import type { Ended, PosternProcess } from "../../../../test/fakes/postern-process.ts";
import { createClient } from "../server/client/client.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

/** A script in a file of its own. */
function script(name: string, turns: unknown, prompt: string | null = "Go."): string {
  writeFileSync(join(cli.folder, name), JSON.stringify({ ...(prompt !== null && { prompt }), turns }));
  return name;
}

const sends = { uses: [{ name: "send", arguments: { text: "hi" } }] };

describe("with a running Postern", () => {
  const data = join(cli.folder, "running");
  const agent = (...words: readonly string[]): Promise<Ended> => cli.run("agent", ...words, "--data", data);
  let running: Awaited<ReturnType<PosternProcess["start"]>>;
  beforeAll(async () => {
    running = await cli.start(data);
  }, 60_000);
  afterAll(() => void running.child.kill("SIGKILL"));

  async function decideNext(verb: "approve" | "deny"): Promise<void> {
    let found: { approvals: { approval_id: string }[] } = { approvals: [] };
    while (found.approvals.length === 0)
      found = JSON.parse((await cli.run("approvals", "list", "--json", "--data", data)).out);
    const [first] = found.approvals;
    expect((await cli.run("approvals", verb, first?.approval_id ?? "", "--data", data)).code).toBe(0);
  }

  it("tells each call, ends with code 4 where a person must decide, and goes on by the run's id", async () => {
    const turns = [
      { text: "First an echo.", uses: [{ name: "echo", arguments: { text: "ha" } }] },
      sends,
      { text: "Sent." },
    ];
    const waiting = await agent("run", "--script", script("story.json", turns), "--run-id", "story");
    expect(waiting).toMatchObject({ code: 4, out: "" });
    expect(waiting.err).toMatch(/First an echo\.\n→ echo \{"text":"ha"\}\n← echo ok, ALLOW at risk safe: ha\n→ send/);
    expect(waiting.err).toMatch(/asked by {3}local-agent, run story\n(?:.*\n)*.*agent resume story/);
    const kept = await agent("list", "--json");
    expect(JSON.parse(kept.out)).toEqual({ runs: [{ run_id: "story", status: "waiting", steps: 2, prompt: "Go." }] });
    expect((await agent("resume", "story")).code).toBe(4);
    await decideNext("approve");
    expect(await agent("resume", "story")).toMatchObject({ code: 0, out: "Sent.\n" });
    expect(await agent("resume", "story")).toMatchObject({ code: 0, out: "Sent.\n" });
    expect(cli.runs).toEqual(["hi"]);
    expect((await agent("show", "story")).out).toMatch(
      /→ send \{"text":"hi"\}\n← send\n {2}sent hi\nagent\n {2}Sent\./,
    );
    const archived = await cli.run("runs", "show", "story", "--json", "--data", data);
    expect(JSON.parse(archived.out)).toMatchObject({
      run: { state: "completed", principal: { agent: "local-agent" } },
    });
  });

  it("waits for the decision with --wait, and the model reads a denial", async () => {
    const file = script("denied.json", [
      { uses: [{ name: "send", arguments: { text: "no" } }] },
      { text: "They said no." },
    ]);
    const waiting = agent("run", "--script", file, "--wait");
    await decideNext("deny");
    const ended = await waiting;
    expect(ended).toMatchObject({ code: 0, out: "They said no.\n" });
    expect(ended.err).toContain("approval_denied");
  });

  it("gives a run that is done its next prompt, with a script of its own", async () => {
    await agent("run", "--script", script("one.json", [{ text: "One." }]), "--run-id", "talk");
    const next = await agent(
      "run",
      "--script",
      script("two.json", [{ text: "Two." }]),
      "--run-id",
      "talk",
      "--prompt",
      "And?",
    );
    expect(next).toMatchObject({ code: 0, out: "Two.\n" });
    expect(JSON.parse((await agent("show", "talk", "--json")).out)).toMatchObject({ steps: 2, prompt: "And?" });
  });

  it("lets the model read what was wrong with its calls: no such tool, arguments that are none, a name without an end", async () => {
    const turns = [
      { uses: [{ name: "no_such_tool" }, { name: "echo", arguments: '{"text":' }, { name: "x".repeat(300) }] },
      { uses: [{ name: "echo", arguments: '{"text":"well"}' }] },
      { text: "Done." },
    ];
    const ended = await agent("run", "--script", script("mistakes.json", turns));
    expect(ended).toMatchObject({ code: 0, out: "Done.\n" });
    expect(ended.err).toMatch(/← no_such_tool tool_unknown.*\n← echo arguments_invalid.*\n← x+… arguments_invalid/);
    expect(ended.err).toContain("← echo ok, ALLOW at risk safe: well");
  });

  it("ends a run whose model repeats a refused call, and one that takes too many turns, with code 1 and a sentence", async () => {
    const again = Array.from({ length: 9 }, () => ({ uses: [{ name: "no_such_tool" }] }));
    const loop = await agent("run", "--script", script("loop.json", again));
    expect(loop).toMatchObject({ code: 1, out: "", err: expect.stringContaining("the same refused call 5 times") });
    const json = await agent("run", "--script", script("long.json", again), "--max-steps", "2", "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ status: "stopped", reason: "max_steps", steps: 2 });
    const ended = await agent(
      "run",
      "--script",
      script(
        "ended.json",
        [sends, sends].map(() => ({ uses: [{ name: "echo", arguments: { text: "a" } }] })),
      ),
    );
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("The script has 2 turns") });
  });

  it("says at Ctrl-C what became of a call or a request, and how to go on", async () => {
    const interrupted = async (turns: unknown, runId: string, says: string): Promise<Ended> => {
      const words = [
        "agent",
        "run",
        "--script",
        script(`${runId}.json`, turns),
        "--run-id",
        runId,
        "--wait",
        "--data",
        data,
      ];
      const { child, end } = cli.open(words);
      const output = Promise.withResolvers<void>();
      let text = "";
      child.stderr?.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes(says)) output.resolve();
      });
      await output.promise;
      child.kill("SIGINT");
      return end;
    };
    const asked = [{ uses: [{ name: "send", arguments: { text: "interrupted" } }] }, { text: "Sent." }];
    const waiting = await interrupted(asked, "asked", "This command waits");
    expect(waiting.code).toBe(130);
    const taken = await agent("run", "--script", script("taken.json", asked), "--run-id", "asked");
    expect(taken).toMatchObject({ code: 1, err: expect.stringContaining("is not done") });
    expect(waiting.err).toMatch(/approvals\/apr_[\w-]+\n(?:.*\n)*The run is kept: .*agent resume asked/);
    const slow = [{ uses: [{ name: "slow", arguments: { seconds: 60 } }] }, { text: "Done." }];
    const calling = await interrupted(slow, "calling", "→ slow");
    expect(calling.code).toBe(130);
    expect(calling.err).toMatch(
      /Interrupted after 1 turns? of the model\.\n(?:slow: .*\n)?The run is kept: .*resume calling/,
    );
  }, 30_000);

  it("keeps the runs of one agent from another", async () => {
    await agent("run", "--script", script("own.json", [{ text: "Mine." }]), "--run-id", "own");
    const made = await cli.run("tokens", "create", "other", "--json", "--data", data);
    const { token }: { token: string } = JSON.parse(made.out);
    const { url }: { url: string } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
    const other = createClient({ url, token });
    expect(await other.agentRuns.list()).toEqual({ run_ids: [] });
    await expect(other.agentRuns.show({ id: "own" })).rejects.toMatchObject({ code: "run_unknown" });
    expect(await other.agentRuns.save({ id: "own", state: { theirs: true }, expected_version: 0 })).toMatchObject({
      version: 1,
    });
    await expect(other.agentRuns.save({ id: "own", state: {}, expected_version: 0 })).rejects.toMatchObject({
      code: "run_contended",
    });
    expect((await agent("resume", "own")).out).toBe("Mine.\n");
  });
});

describe("without a running Postern", () => {
  it("starts one inside, and does not wait if no person could decide", async () => {
    const ended = await cli.run(
      "agent",
      "run",
      "--script",
      script("inside.json", [sends, { text: "Sent." }]),
      "--run-id",
      "in",
      "--wait",
    );
    expect(ended).toMatchObject({ code: 4, err: expect.stringContaining("agent resume in") });
    const id = /apr_[\w-]+/.exec(ended.err)?.[0] ?? "";
    expect((await cli.run("approvals", "approve", id)).code).toBe(0);
    expect(await cli.run("agent", "resume", "in")).toMatchObject({ code: 0, out: "Sent.\n" });
  });
});

describe("wrong input", () => {
  const ok = script("ok.json", [{ text: "Hello." }], null);
  const run = (...words: readonly string[]): Promise<Ended> => cli.run("agent", "run", ...words);

  it.each([
    [["--prompt", "Go."], "Name what answers"],
    [["--prompt", "Go.", "--model", "openai/x", "--script", ok], "do not go together"],
    [["--script", ok], "Say what the agent is to do"],
    [["--script", ok, "--prompt", "Go.", "--run-id", "a b"], "--run-id a b"],
    [["--script", "none.yaml", "--prompt", "Go."], "none.yaml"],
    [["--model", "gpt-5", "--prompt", "Go."], "names no model"],
    [["--model", "mistral/large", "--prompt", "Go."], "PACKAGE#EXPORT/MODEL"],
    [["--script", ok, "--prompt", "Go.", "--autonomy", "A9"], "A9"],
    [["--script", ok, "--prompt", "Go.", "--max-steps", "many"], "--max-steps many"],
  ])("refuses %j with code 2", async (words, says) => {
    expect(await run(...words)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(says) });
  });

  it("says which package a model needs", async () => {
    const missing = await run("--model", "@ai-sdk/none#none/large", "--prompt", "Go.");
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("npm install @ai-sdk/none") });
  });

  it("names each mistake of a script with its line", async () => {
    writeFileSync(join(cli.folder, "bad.yaml"), "turns:\n  - text: 1\n  - uses:\n      - nam: echo\n");
    const bad = await run("--script", "bad.yaml", "--prompt", "Go.");
    expect(bad).toMatchObject({
      code: 1,
      err: expect.stringMatching(/bad\.yaml:2:\d+ turns\[0\]\.text.*\n(?:.*\n)*.*bad\.yaml:4/),
    });
    writeFileSync(join(cli.folder, "empty.yaml"), "turns: []\n");
    expect(await run("--script", "empty.yaml", "--prompt", "Go.")).toMatchObject({
      code: 1,
      err: expect.stringContaining("turns"),
    });
  });

  it("does not know a run that was never started", async () => {
    expect(await cli.run("agent", "resume", "nowhere")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no run `nowhere`"),
    });
  });
});
