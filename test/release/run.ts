/**
 * `node test/release/run.ts`, the end of `npm run release`: installs the tarballs in an empty folder, as a user does, and
 * uses them: a new project, a call before and after a decision, and the example of the AI SDK.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { root } from "../../scripts/packages.ts";

const tarballs = globSync("temp/release/*.tgz", { cwd: root }).map((path) => join(root, path));
const folder = mkdtempSync(join(tmpdir(), "postern-released-"));
const { NODE_OPTIONS: _, ...inherited } = process.env;
const env = { ...inherited, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) };

/** What a command of the folder prints. */
function run(command: string, ...words: readonly string[]): string {
  return execFileSync(command, words, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** As `run`, for a command that fails. */
function exitCodeOf(command: string, ...words: readonly string[]): unknown {
  try {
    run(command, ...words);
    return 0;
  } catch (error) {
    return Reflect.get(Object(error), "status");
  }
}

async function started(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["node_modules/postern/bin/postern.js", "start"], {
    ...{ cwd: folder, env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("Try next")) resolve();
    });
    child.once("exit", () => reject(new Error(`\`postern start\` ended: ${text}`)));
  });
  return child;
}

function checkPacked(): void {
  assert.equal(tarballs.length, 4, "one tarball for each package: run `npm run release`");
  for (const name of ["postern", "@postern/core", "@postern/engines", "@postern/agents"]) {
    const at = join(folder, "node_modules", name);
    assert.ok(!readdirSync(at).includes("src"), `${name} has sources`);
    assert.ok(!readFileSync(join(at, "package.json"), "utf8").includes("postern-source"), `${name} names its sources`);
  }
}

async function checkProject(): Promise<void> {
  run("npx", "postern", "init");
  const yaml = join(folder, "postern.yaml");
  writeFileSync(yaml, `${readFileSync(yaml, "utf8")}\nlisten:\n  port: 0\n`);
  const server = await started();
  try {
    assert.match(run("npx", "postern", "call", "clock"), /\d{4}-\d\d-\d\dT/);
    const note = ["postern", "call", "note", "text=hello"] as const;
    assert.equal(exitCodeOf("npx", ...note), 4, "a call that needs approval");
    const [id = ""] = /apr_[\w-]+/.exec(run("npx", "postern", "approvals", "list")) ?? [];
    run("npx", "postern", "approvals", "approve", id);
    run("npx", ...note);
    assert.equal(readFileSync(join(folder, "notes.md"), "utf8"), "hello\n");
    run("npx", "postern", "audit", "verify");
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
  }
}

function checkAdapter(): void {
  copyFileSync(join(root, "examples/agents/ai-sdk.ts"), join(folder, "ai-sdk.mts"));
  const printed = run(process.execPath, "ai-sdk.mts");
  assert.equal(printed.match(/\(a mail leaves for ada@example.org\)/g)?.length, 1, printed);
  assert.equal(printed.match(/Ada has the mail\./g)?.length, 2, printed);
}

try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true }));
  const { dependencies } = JSON.parse(readFileSync(join(root, "test/agents/package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<"ai" | "zod", string>>;
  }; // our own
  const libraries = (["ai", "zod"] as const).map((name) => `${name}@${dependencies[name]}`);
  run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", ...tarballs, ...libraries);
  checkPacked();
  await checkProject();
  checkAdapter();
  console.log("The packed packages install, serve, decide and run an example.");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
