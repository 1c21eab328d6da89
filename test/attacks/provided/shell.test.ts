/** What a command may try: to leave its sandbox, to outlive its time, to use more than its limits. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { shellTool, textEditorTool } from "../../../packages/agents/src/provided/provider-tools.ts";
import { type ProvidedFixture, providedFixture } from "../../fakes/provided-fixture.ts";

const here = existsSync("/usr/bin/bwrap");
if (!here) console.warn("SKIPPED: attacks on the shell tool: this machine lacks `bwrap`");

/** What a new shell uses before it runs a command, and what a command uses. */
const hijacked = ["eval", "set", "trap", "echo", "exec", "builtin", "export", "cd", "unset", "mapfile", "pwd"];

/** A program: writes to each descriptor it has, or to those in the folders of its arguments. */
const eachDescriptor = `for folder in "\${@:-/proc/self/fd}"; do
  for descriptor in "$folder"/*; do
    { printf '\\0rm -f kept\\0PATH=/workspace\\0x=evil\\0evil=evil\\0' > "$descriptor"; } 2>/dev/null
    { printf 'evil=evil\\0' >&"\${descriptor##*/}"; } 2>/dev/null # a socket cannot be opened
  done
done`;

/** What a command may do to run as the next one. */
const hijackings = {
  "a program that writes to each descriptor it inherits": "/bin/bash each.sh",
  "a program that opens the descriptors of other processes": "/bin/bash each.sh /proc/[0-9]*/fd",
  "a program that is left behind": "(sleep 0.1; /bin/bash each.sh) & sleep 0.3",
  "a line that writes to each descriptor of its shell":
    "for f in {3..255}; do eval \"printf '\\\\0rm -f kept\\\\0' >&$f\"; done 2>/dev/null",
  "functions with the names of builtins": hijacked.map((name) => `${name}() { command rm -f kept; }`).join("; "),
  "exported functions": `${hijacked.map((name) => `${name}() { rm -f kept; }`).join("; ")}; export -f ${hijacked.join(" ")}`,
  traps: "trap 'rm -f kept' DEBUG EXIT ERR RETURN",
  aliases: "shopt -s expand_aliases; alias echo='rm -f kept; echo'",
  "shell options": "set -efnuvx; shopt -s extdebug",
  "files that a shell reads at its start":
    "echo 'rm -f kept' > s; export BASH_ENV=$PWD/s ENV=$PWD/s PROMPT_COMMAND='. s'",
  "variables that a shell interprets":
    "export IFS=e PS4='$(rm -f kept)' CDPATH=/ GLOBIGNORE='*' TMOUT=1 POSIXLY_CORRECT=1",
  "options in a variable": "export SHELLOPTS BASHOPTS; set -x; PS4='$(rm -f kept)'; export PS4",
  "a library for every program": "export LD_PRELOAD=$PWD/s LD_AUDIT=$PWD/s LD_LIBRARY_PATH=$PWD GCONV_PATH=$PWD",
  "variables of strange names": "/usr/bin/env 'rm -f kept=1' true; export PWD='$(rm -f kept)' OLDPWD='; rm -f kept'",
  "the end of its shell": "exec 3>&-; exec 10>&-; readonly x PATH; kill -9 $$",
};

interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: object;
}

async function shell(fixture: ProvidedFixture, ...commands: readonly string[]): Promise<CommandResult> {
  const outcome = await fixture.call("shell_call", { action: { commands: [...commands], timeout_ms: 20_000 } });
  if (outcome.structured === undefined) throw new Error(`the shell answers: ${outcome.text}`);
  const { output } = outcome.structured as unknown as { readonly output: readonly CommandResult[] };
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
    await fixture.call("bash", { command: "export x=kept" });
    const { text } = await fixture.call("bash", { command: "export x=$(head -c 90000 /dev/zero | tr '\\0' y)" });
    expect(text).toContain("the earlier ones stay");
    expect((await fixture.call("bash", { command: "echo $x" })).text).toBe("kept");
  });

  it("cannot change what the next command line runs as", async () => {
    await using fixture = await providedFixture(shellTool);
    fixture.put("each.sh", eachDescriptor);
    const line =
      'echo "[$x$evil]" $-; pwd; declare -F; trap -p DEBUG ERR RETURN; alias; ls kept; set -- $(printf seen); echo $#';
    const seen: Record<string, string> = {};
    for (const [how, command] of Object.entries(hijackings)) {
      await fixture.call("bash", { command: `export x=1 # ${how}`, restart: true }); // an equal call would be replayed
      await fixture.call("bash", { command });
      fixture.put("kept", "");
      seen[how] = (await fixture.call("bash", { command: `${line} # ${how}` })).text;
    }
    expect(Object.keys(hijackings).filter((how) => seen[how] !== "[1] hBc\n/workspace\nkept\n1")).toEqual([]);
  });

  it("shows a person exactly what runs, and runs that", async () => {
    await using fixture = await providedFixture(shellTool, { approvals: { patience: "suspend" } });
    const long = `echo ${"a".repeat(3_000)}; echo end`;
    const action = { command: ["echo", "it's; rm x"], env: { A: "b c" }, working_directory: "d" };
    for (const [tool, given, seen] of [
      ["bash", { command: long }, long],
      ["bash", { command: "ls", restart: true }, "begin a new session\nls"],
      ["shell_call", { action: { commands: ["ls", "pwd"] } }, "ls\npwd"],
      ["local_shell_call", { action }, "export A='b c'\ncd -- 'd' || exit 1\n'echo' 'it'\\''s; rm x'"],
    ] as const) {
      const { approvalId = "" } = await fixture.call(tool, given);
      const request = await fixture.runtime.approvals.get(approvalId);
      expect(request?.preview).toMatchObject({ summary: seen, supported: true });
    }
  });

  it.each([
    ["a NUL in a command", { command: "ls\0rm -f x" }],
    ["a NUL in a variable", { action: { command: ["ls"], env: { A: "\0" } } }],
    ["a command beside an action", { command: "ls", action: { commands: ["rm -f x"] } }],
    ["two kinds of commands in an action", { action: { command: ["ls"], commands: ["rm -f x"] } }],
  ])("is refused before a person is asked: %s", async (_, given) => {
    await using fixture = await providedFixture(shellTool);
    expect(await fixture.call("bash", given)).toMatchObject({ refusal: { code: "arguments_invalid" } });
  });

  it("cannot change a `.git`, wherever it lies", async () => {
    await using fixture = await providedFixture(shellTool);
    const files = [".git/config", "a/b/.git/hooks/post-checkout", "c/.GIT/config", "worktree/.git"];
    for (const path of files) fixture.put(path, "as it was");
    await shell(
      fixture,
      `for f in ${files.join(" ")}; do echo evil > $f; echo evil > $f.new; rm -rf $(dirname $f); done`,
    );
    await shell(
      fixture,
      "mv .git x; mv a x; mv worktree/.git y; echo evil > x/b/.git/hooks/pre-push; rm -rf worktree c",
    );
    expect(files.map((path) => fixture.read(path) ?? fixture.read(path.replace(/^a/, "x")))).toEqual(
      files.map(() => "as it was"),
    );
    expect((await shell(fixture, "cat .git/config; find . -name '*.new' -o -name pre-push")).stdout).toBe("as it was");
  });

  it("has each `.git` that it makes renamed, also if it is ended", async () => {
    await using fixture = await providedFixture(shellTool);
    const made = await shell(
      fixture,
      "mkdir -p .git a/.git; echo evil > a/.git/config; ln -s a c; ln -s ../a b.git; echo x > d; mkdir e; ln -s ../a e/.git",
    );
    expect(made.stderr).toMatch(
      /^Commands cannot make a `\.git`: `\.git` is now `git-\w+`, `a\/\.git` is now `a\/git-\w+`, /,
    );
    await fixture.call("shell_call", {
      action: { commands: ["mkdir f; mv a/git-* f/.git; sleep 60"], timeout_ms: 1_000 },
    });
    expect(
      readdirSync(fixture.workspace, { recursive: true }).filter((path) => /(^|\/)\.git$/.test(String(path))),
    ).toEqual([]);
    expect((await shell(fixture, "cat f/git-*/config")).stdout).toBe("evil\n");
  });

  it("sees no `.git` of another folder that a link puts in place", async () => {
    await using fixture = await providedFixture(shellTool);
    mkdirSync(join(fixture.base, "other/.git"), { recursive: true });
    writeFileSync(join(fixture.base, "other/.git/config"), "secret");
    symlinkSync(join(fixture.base, "other"), join(fixture.workspace, "link"));
    symlinkSync(join(fixture.base, "other/.git"), join(fixture.workspace, ".git"));
    expect((await shell(fixture, "cat link/.git/config .git/config")).stdout).toBe("");
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
  });
});
