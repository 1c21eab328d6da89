/**
 * `npm run test:agents [-- --claude] [words for vitest]`: installs the agent libraries beside their tests and runs these.
 * `--claude` installs the program of the Claude Agent SDK too, which is large, and runs what needs it.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./packages.ts";

const words = process.argv.slice(2);
const isClaude = words.includes("--claude");
const prefix = [
  "--prefix",
  "test/agents",
  "--no-audit",
  "--no-fund",
  "--ignore-scripts",
  "--omit=optional",
  "--legacy-peer-deps",
];

function run(command: string, ...given: readonly string[]): void {
  execFileSync(command, given, { cwd: root, stdio: "inherit", env: { ...process.env, NODE_OPTIONS: undefined } });
}

if (isClaude)
  run(
    "npm",
    "install",
    ...prefix,
    "--no-save",
    `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}@0.3.332`,
  );
else {
  run("npm", "ci", ...prefix);
  run(join(root, "node_modules/.bin/tsc"), "--noEmit", "-p", "test/agents");
}
const only = isClaude ? ["claude-agent", "examples"] : [];
const config = ["run", "--config", "test/agents/vitest.config.ts"];
run(join(root, "node_modules/.bin/vitest"), ...config, ...only, ...words.filter((word) => word !== "--claude"));
