/** What a command may try: to leave its sandbox, to outlive its time, to use more than its limits. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { shellTool, textEditorTool } from "../../../src/builtin/provided/provider-tools.ts";
import { type ProvidedFixture, providedFixture } from "../../fakes/provided-fixture.ts";

const here = existsSync("/usr/bin/bwrap");
if (!here) console.warn("SKIPPED: attacks on the shell tool: this machine lacks `bwrap`");

interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: object;
}

async function shell(fixture: ProvidedFixture, ...commands: readonly string[]): Promise<CommandResult> {
  const { structured } = await fixture.call("shell_call", { action: { commands: [...commands], timeout_ms: 20_000 } });
  const { output } = structured as unknown as { readonly output: readonly CommandResult[] };
  return output.at(-1) ?? { stdout: "", stderr: "", outcome: {} };
}

/** Returns the processes of this machine with a word in their command line. */
function running(word: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
    } catch {
      return false; // it has ended
    }
  });
}

describe.skipIf(!here)("a command of the shell tool", () => {
  it.each([
    ["/etc/passwd", "cat /etc/passwd /etc/shadow /etc/hostname"],
    ["a file beside its folder", "ls /workspace/.. | grep -x -e runs -e logs; ls /root /home /var /run /work"],
    ["the host's processes", 'ps -e | wc -l | grep -vx "[2-9]" ; ls /proc/1/root/etc/passwd'],
    ["the kernel's memory", "cat /proc/kcore /dev/mem /dev/kmem | head -c 1"],
  ])("cannot read %s", async (_, command) => {
    await using fixture = await providedFixture(shellTool);
    writeFileSync(join(fixture.base, "runs/secret.txt"), "secret");
    expect((await shell(fixture, `{ ${command}; } 2>/dev/null`)).stdout).toBe("");
  });

  it("has none of the host's environment", async () => {
    process.env["POSTERN_TEST_SECRET"] = "in the environment";
    try {
      await using fixture = await providedFixture(shellTool);
      const { stdout } = await shell(fixture, "env; cat /proc/*/environ | tr '\\0' '\\n'");
      expect(stdout).toContain("HOME=/tmp");
      expect(stdout).not.toContain("POSTERN");
    } finally {
      delete process.env["POSTERN_TEST_SECRET"];
    }
  });

  it("can write to its folder and to /tmp, and nowhere else", async () => {
    await using fixture = await providedFixture(shellTool);
    const places = ["/", "/usr", "/usr/bin", "/bin", "/etc", "/lib", "/proc", "/proc/sys/kernel", "/proc/self"];
    const files = ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/oom_score_adj"];
    const probe = `for p in ${[...places, ...files].join(" ")}; do [ ! -w $p ] || echo "$p can be written"; done`;
    expect((await shell(fixture, probe)).stdout).toBe("");
    expect((await shell(fixture, "touch /workspace/a /tmp/b && mount -t tmpfs x /workspace")).outcome).toMatchObject({
      exit_code: expect.not.stringMatching("^0$"),
    });
    expect(fixture.read("a")).toBe("");
  });

  it("has no capability and cannot regain one", async () => {
    await using fixture = await providedFixture(shellTool);
    const { stdout } = await shell(
      fixture,
      "grep Cap /proc/self/status; unshare -Ur true && echo a namespace of its own",
    );
    expect(stdout.match(/\t0{16}$/gm)).toHaveLength(5);
    expect(stdout).not.toContain("namespace");
  });

  it("reaches no network, unless that is allowed", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    const { port } = server.address() as { port: number };
    try {
      const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
      await using fixture = await providedFixture(shellTool);
      expect((await shell(fixture, ask)).stdout).toBe("");
      await using open = await providedFixture((options) => shellTool({ ...options, network: true }));
      expect((await shell(open, ask)).stdout).toBe("reached");
    } finally {
      server.close();
    }
  });

  it("leaves no process behind when its time is over, whatever its group", async () => {
    await using fixture = await providedFixture((options) => shellTool({ ...options, timeoutMs: 1_500 }));
    const word = `77777.${process.pid}`;
    const { outcome } = await shell(
      fixture,
      `sleep ${word} & setsid sleep ${word} & (trap '' TERM HUP INT; sleep ${word})`,
    );
    expect(outcome).toEqual({ type: "timeout" });
    expect(running(word)).toEqual([]);
  });

  it("leaves no process behind when it ends", async () => {
    await using fixture = await providedFixture(shellTool);
    const word = `88888.${process.pid}`;
    const { outcome } = await shell(fixture, `setsid sleep ${word} > /dev/null 2>&1 & echo done`);
    expect(outcome).toEqual({ type: "exit", exit_code: 0 });
    expect(running(word)).toEqual([]);
  });

  it("is held to its number of processes: a fork bomb ends with the command", async () => {
    await using fixture = await providedFixture((options) =>
      shellTool({ ...options, timeoutMs: 3_000, processes: 20 }),
    );
    const { stderr } = await shell(fixture, "bomb() { bomb | bomb & }; bomb; sleep 1; ls");
    expect(stderr).toContain("Resource temporarily unavailable");
    expect((await shell(fixture, "echo on")).stdout).toBe("on\n");
  });

  it("is held to its memory, also that of /tmp", async () => {
    await using fixture = await providedFixture((options) => shellTool({ ...options, memoryBytes: 64 * 1024 * 1024 }));
    const { stdout } = await shell(fixture, 'head -c 500m /dev/zero | tail -n 1 | wc -c; echo "left: $?"');
    expect(stdout).not.toContain("524288000");
    expect((await shell(fixture, "head -c 1g /dev/zero > /tmp/a && echo written")).stdout).toBe("");
  });

  it("is ended when it writes without end, and the stored output is bounded", async () => {
    await using fixture = await providedFixture((options) => shellTool({ ...options, maxOutputBytes: 1_000 }));
    const { stdout, stderr, outcome } = await shell(fixture, "yes");
    expect(stdout.length).toBeLessThan(1_100);
    expect(stdout).toMatch(/\n\[\d+ bytes are left out here\]\n/);
    expect(stderr).toContain("wrote more than");
    expect(outcome).toEqual({ type: "exit", exit_code: 137 });
  });

  it("has its session dropped when the session grows without end", async () => {
    await using fixture = await providedFixture(shellTool);
    await fixture.call("bash", { command: "x=kept" });
    const { text } = await fixture.call("bash", { command: "x=$(head -c 90000 /dev/zero | tr '\\0' y)" });
    expect(text).toContain("the earlier ones stay");
    expect((await fixture.call("bash", { command: "echo $x" })).text).toBe("kept");
  });

  it("cannot harm the next command through what it leaves behind", async () => {
    await using fixture = await providedFixture(shellTool);
    await fixture.call("bash", { command: "cd /tmp; x=1" });
    for (const command of [
      "echo 'exit 9' >&3",
      "exec 3>&-",
      "trap - EXIT",
      "kill -9 $$",
      "exec sleep 0",
      "readonly x=1",
    ])
      await fixture.call("bash", { command });
    const { text } = await fixture.call("bash", { command: "echo $x" });
    expect(text === "1" || text === "[exit code 9]").toBe(true);
    await fixture.call("bash", { restart: true });
    expect((await fixture.call("bash", { command: "echo [$x]" })).text).toBe("[]");
  });

  it("may make links that no file tool follows", async () => {
    await using fixture = await providedFixture(async (options) => shellTool(options));
    fixture.runtime.tools.register(
      textEditorTool({ roots: { workspace: { path: fixture.workspace, writable: true } } }),
    );
    await shell(fixture, "ln -s /etc/passwd passwd; ln -s / root; mkfifo pipe");
    for (const path of ["passwd", "root/etc/passwd", "pipe"])
      expect(await fixture.call("str_replace_based_edit_tool", { command: "view", path })).toMatchObject({
        status: "error",
      });
  });

  it("treats hostile words as words", async () => {
    await using fixture = await providedFixture(shellTool);
    const words = ["-c", "'; touch broken; '", "$(touch broken)", "`touch broken`", "a\nb", "\\", '"'];
    const action = { command: ["printf", "%s|", ...words], env: { X: "'$(touch broken)" }, working_directory: "." };
    const { structured } = await fixture.call("local_shell_call", { action });
    expect(structured).toMatchObject({ output: [{ stdout: words.map((word) => `${word}|`).join("") }] });
    expect(fixture.read("broken")).toBeUndefined();
    expect(await fixture.call("bash", { command: "echo \0" })).toMatchObject({ status: "error" });
  });
});
