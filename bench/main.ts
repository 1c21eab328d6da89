/**
 * `npm run bench [-- NAME] [options]`: the benchmark of that file in this folder; without a name run.ts, our path beside
 * peers. `npm run bench -- peers` installs the peers.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { sourcesInProcesses } from "../test/setup/sources.ts";

const [name = "", ...words] = process.argv.slice(2);
const isNamed = /^[a-z][a-z-]*$/.test(name);
if (isNamed) process.argv.splice(2, 1);
Object.assign(process.env, sourcesInProcesses);

if (name === "peers") {
  const install = [
    "install",
    "--prefix",
    join(import.meta.dirname, "peers"),
    "--no-audit",
    "--no-fund",
    "--legacy-peer-deps",
  ];
  execFileSync("npm", [...install, ...words], { stdio: "inherit" });
} else if (isNamed && !existsSync(join(import.meta.dirname, `${name}.ts`))) {
  process.stderr.write(`There is no benchmark \`${name}\` in bench/.\n`);
  process.exitCode = 2;
} else await import(`./${isNamed ? name : "run"}.ts`);
