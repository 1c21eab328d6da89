import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

it("helps and tells its version quickly, without loading what it does not need", async () => {
  const help = await cli.asProcess("--help");
  expect(help).toMatchObject({ code: 0, err: "" });
  for (const word of ["start", "call", "tools", "approvals", "calls", "audit", "controls", "doctor", "Exit codes"])
    expect(help.out).toContain(word);
  expect((await cli.asProcess("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it("typed wrong ends with 2 and one sentence that helps", async () => {
  const typed = await cli.run("tools", "--port", "http");
  expect(typed).toMatchObject({ code: 2, out: "" });
  expect(typed.err).toBe(
    "postern: command line --port: `http` is not a port. Fix: Write a whole number from 0 to 65535; 0 takes a free one.\n",
  );
  expect((await cli.run("calls", "settle", "call_1", "failed")).code).toBe(2);
});

it("as a process of its own it writes and ends as the tests here have it", async () => {
  const data = ["--data", cli.dataFolder("own")];
  expect(await cli.asProcess("call", "echo", "text=12", ...data)).toEqual({ code: 0, out: "12\n", err: "" });
  const asked = await cli.asProcess("call", "send", "text=hi", "--json", ...data);
  expect(asked).toMatchObject({ code: 4, out: expect.stringContaining(`"status": "pending"`) });
  expect((await cli.asProcess("calls", "settle", "call_1", "failed", ...data)).code).toBe(2);
  expect(await cli.asProcess("calls", "show", "none", ...data)).toMatchObject({ code: 1, out: "" });
});

it("`key=value` is read by the tool's schema, in a Postern inside and in one that runs", async () => {
  const sum = `export const sum = defineTool({ name: "sum", description: "Adds.", risk: "safe", idempotent: true, execute: (given) => JSON.stringify(given),
  inputSchema: { type: "object", properties: { numbers: { type: "array", items: { type: "number" } }, exact: { type: "boolean" }, unit: { type: "string" } } } });\n`;
  using own = new CommandLine();
  appendFileSync(join(own.folder, "tools.ts"), sum);
  const words = ["sum", "numbers=[1,2.5]", "exact=true", "unit=5"];
  const out = `${JSON.stringify({ exact: true, numbers: [1, 2.5], unit: "5" })}\n`;
  expect(await own.run("call", ...words)).toEqual({ code: 0, out, err: "" });
  const { child, end } = await own.start(".postern");
  expect(await own.run("call", ...words)).toMatchObject({ code: 0, out });
  const refused = await own.run("call", "sum", "exact=perhaps");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("`exact`: expected boolean, got string")]);
  expect((await own.run("call", "smu", "exact=true")).err).toContain("tool_unknown");
  expect((await own.run("policy", "explain", ...words)).out).toMatch(/^sum {3}ALLOW/);
  child.kill("SIGTERM");
  await end;
});

it("`--port 0` means no Postern in particular: one inside answers, or the one of the data folder", async () => {
  const data = ["--data", cli.dataFolder("any-port")];
  expect(await cli.run("call", "echo", "text=1", "--port", "0", ...data)).toMatchObject({ code: 0, out: "1\n" });
});

it("arguments too large for a command line are read from standard input", async () => {
  const data = ["--data", cli.dataFolder("piped")];
  const large = JSON.stringify({ text: "a".repeat(300_000) });
  expect(await cli.given(large, "call", "echo", "--args", "-", ...data)).toMatchObject({ code: 0 });
  const asked = await cli.given(large, "call", "send", "--args", "-", ...data);
  expect(asked).toMatchObject({
    code: 4,
    err: expect.stringMatching(/^… and \d{4} more lines: `.* approvals show apr_/m),
  });
  expect(asked.err.length).toBeLessThan(5000);
  const broken = await cli.given('{"text":', "call", "echo", "--args", "-", ...data);
  expect(broken).toMatchObject({ code: 2, out: "", err: expect.stringContaining("`--args` is not JSON") });
});

it("a configuration with a mistake starts nothing and says where", async () => {
  writeFileSync(join(cli.folder, "wrong.yaml"), "tools:\n  moduls: []\n");
  const { code, err } = await cli.run("start", "--config", "wrong.yaml", "--data", join(cli.folder, "wrong"));
  expect(code).toBe(1);
  expect(err).toBe("postern: wrong.yaml:2:3 tools.moduls: `moduls` is not a known key. Fix: Did you mean `modules`?\n");
  expect(existsSync(join(cli.folder, "wrong"))).toBe(false);
});

it("a folder without configuration is not served", async () => {
  const { code, err } = await cli.runIn(tmpdir(), "start");
  expect(code).toBe(1);
  expect(err).toContain("There is no configuration");
});

describe("without a running Postern", () => {
  const data = ["--data", cli.dataFolder("inside")];

  it("each command starts one inside, and the next one finds its store", async () => {
    expect(await cli.run("call", "echo", "text=12", ...data)).toEqual({
      code: 0,
      out: "12\n",
      err: "",
    });
    const calls = await cli.run("calls", "--json", ...data);
    const { call_id: id } = JSON.parse(calls.out).calls[0];
    expect((await cli.run("calls", "show", id, ...data)).out).toMatch(/ gate +\d+ ms\n +took +\d+ ms\n/);
    expect(JSON.parse(calls.out)).toMatchObject({
      calls: [{ tool: "echo", state: "ok", arguments: { text: "12" } }],
    });
  });

  it("a call that needs a person stays open, is approved later, and runs once", async () => {
    const asked = await cli.run("call", "send", "text=hi", "--json", ...data);
    expect(asked.code).toBe(4);
    const { status, approval_id: id }: { status: string; approval_id: string } = JSON.parse(asked.out);
    expect(status).toBe("pending");
    expect(cli.runs).toEqual([]);
    const approved = await cli.run("approvals", "approve", id, "--reason", "fine", ...data);
    expect(approved).toMatchObject({ code: 0, err: "" });
    expect(approved.out).toContain("would send hi");
    expect(cli.runs).toEqual([]);
    expect(await cli.run("call", "send", "text=hi", ...data)).toMatchObject({
      code: 0,
      out: "sent hi\n",
      err: expect.stringMatching(/^A person \(operator\) .*Reason: fine\.\n/),
    });
    const again = await cli.run("call", "send", "text=hi", ...data);
    expect(again.err).toMatch(
      /did not run again\.\n(?:.*\n)*To run it once more, give the call a key of its own: `--key KEY`\.\n/,
    );
    expect(cli.runs).toEqual(["hi"]);
    expect(await cli.run("approvals", "approve", id, ...data)).toMatchObject({ code: 1 });
  });

  it("without a terminal nothing prompts: waiting is a denial at once", async () => {
    const began = performance.now();
    const { code, err } = await cli.run("call", "send", "text=other", "--wait", "60", ...data);
    expect(code).toBe(3);
    expect(err).toContain("approval_unavailable");
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(cli.runs).not.toContain("other");
  });

  it("ends with 3 when denied, 1 when failed", async () => {
    expect(await cli.run("call", "wipe", ...data)).toMatchObject({
      code: 3,
      err: expect.stringContaining("blocked"),
    });
    expect(await cli.run("call", "fail", ...data)).toMatchObject({
      code: 1,
      err: expect.stringContaining("no luck"),
    });
    expect(await cli.run("call", "constructor", ...data)).toMatchObject({
      code: 1,
      err: expect.stringContaining("tool_unknown"),
    });
  });

  it("shows the last events of the log, old to new, and the first after one that is named", async () => {
    const seqs = async (...flags: readonly string[]): Promise<readonly number[]> => {
      const shown = await cli.run("audit", "show", "--type", "tool_call.", "--json", ...flags, ...data);
      return (JSON.parse(shown.out) as { events: { seq: number }[] }).events.map(({ seq }) => seq);
    };
    for (const text of ["one", "two"]) await cli.run("call", "echo", `text=${text}`, ...data);
    const all = await seqs();
    expect(all.length).toBeGreaterThan(3);
    expect(await seqs("--after", String(all[0]), "--limit", "1000")).toEqual(all.slice(1));
    expect(await seqs("--limit", "2")).toEqual(all.slice(-2));
    expect(await seqs("--limit", "5000")).toEqual(all);
    expect(await seqs("--limit", "0")).toEqual([]);
    expect(await seqs("--after", String(all[0]), "--limit", "1")).toEqual(all.slice(1, 2));
  });

  it("the log verifies, an export verifies alone, and a changed one does not", async () => {
    const verified = await cli.run("audit", "verify", "--json", ...data);
    expect(verified.code).toBe(0);
    expect(JSON.parse(verified.out)).toMatchObject({
      intact: true,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const note = join(cli.folder, "note");
    writeFileSync(note, (await cli.run("audit", "checkpoint", ...data)).out);
    const file = join(cli.folder, "export");
    const exported = await cli.run("audit", "export", file, ...data);
    expect(exported).toMatchObject({ code: 0, out: expect.stringContaining("audit.pub") });
    const [keyFile = ""] = /\S+audit\.pub/.exec(exported.out) ?? [];
    expect((await cli.run("audit", "export", file, ...data)).err).toContain("not there yet");
    expect(await cli.run("audit", "verify", file, "--against", note)).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /intact.*\nsigned by postern\/\w+ \(key \S+\), the key this file names itself; `--public-key/,
      ),
    });
    const { out: trusted } = await cli.run("audit", "verify", file, "--public-key", keyFile);
    expect(trusted).toContain(", the key you trust\n");
    const { out: untrusted } = await cli.run("audit", "verify", file, "--json");
    expect(JSON.parse(untrusted)).toMatchObject({
      ...{ intact: true, key_trusted: false, signed_by: expect.stringMatching(/^postern\//) },
      public_key: readFileSync(keyFile, "utf8").trim(),
    });
    writeFileSync(file, readFileSync(file, "utf8").replace("echo", "ecco"));
    expect(await cli.run("audit", "verify", file)).toMatchObject({
      code: 1,
      out: expect.stringContaining("BROKEN"),
    });
    expect(await cli.run("audit", "verify", "--against", note, ...data)).toMatchObject({ code: 0 });
  });

  it("doctor finds nothing wrong, and then names what is", async () => {
    await cli.run("call", "echo", "text=here", ...data); // makes the folder
    const healthy = await cli.run("doctor", "--json", ...data);
    expect(healthy.code).toBe(0);
    const { findings }: { findings: { level: string; check: string }[] } = JSON.parse(healthy.out);
    expect(findings.map(({ check }) => check)).toEqual(["port", "store", "names", "engines"]);
    expect(findings.every(({ level }) => level === "ok")).toBe(true);
    writeFileSync(join(cli.folder, "limits.yaml"), "limits:\n  approval_wait_ms: 70000\n  call_timeout_ms: 60000\n");
    const limits = await cli.run("doctor", "--port", "0", "--config", "limits.yaml", ...data);
    expect(limits.code).toBe(0);
    expect(limits.out).toMatch(/warn {2}start +`approvalWaitMs` \(70000\) is not shorter /); // case 81
    writeFileSync(join(cli.folder, "wrong.yaml"), "autonomie: A1\n");
    expect(await cli.run("doctor", "--config", "wrong.yaml", ...data)).toMatchObject({
      code: 1,
      out: expect.stringContaining("wrong.yaml:1:1 autonomie"),
    });
  });
});

it("a skill says what its warnings are, and one that is not there which there are", async () => {
  const folder = join(cli.folder, "skills/review");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "SKILL.md"),
    "---\nname: review\ndescription: How to review.\nallowed-tools:\n---\nRead it.\n",
  );
  writeFileSync(join(cli.folder, "skilled.yaml"), "skills: { folders: [./skills] }\nlisten: { port: 0 }\n");
  const to = ["--config", join(cli.folder, "skilled.yaml"), "--data", cli.dataFolder("skilled")];
  const shown = await cli.run("skills", "show", "review", ...to);
  expect(shown.out).toMatch(/^review .*\n +is for +How to review\.\n/);
  const { warnings } = JSON.parse((await cli.run("skills", "show", "review", "--json", ...to)).out);
  expect(warnings).not.toEqual([]);
  for (const warning of warnings) expect(shown.out).toContain(`warning    ${warning}.`);
  expect((await cli.run("skills", ...to)).out).toContain("skills show review` says what its warnings are");
  expect(await cli.run("skills", "show", "reveiw", ...to)).toMatchObject({
    code: 1,
    err: expect.stringContaining("There is no skill `reveiw`. Did you mean `review`?"),
  });
});

it("a missing file is reported in plain words", async () => {
  const to = ["--data", cli.dataFolder("gone")];
  for (const words of [
    ["audit", "verify", "gone.jsonl"],
    ["chain", "run", "gone.py"],
    ["policy", "test", "gone.yaml"],
  ]) {
    const { err } = await cli.run(...words, ...to);
    expect(err).toContain("is not there.");
    expect(err).not.toContain("ENOENT");
  }
});

it("says once that a call was only previewed", async () => {
  const { code, out, err } = await cli.run(
    "call",
    "send",
    "text=hi",
    "--autonomy",
    "A0",
    "--data",
    cli.dataFolder("shown"),
  );
  expect(code).toBe(0);
  expect(out).toBe("Not run: at this autonomy level `send` is only previewed. It would do this: would send hi\n");
  expect(err).not.toContain("would send hi");
});
