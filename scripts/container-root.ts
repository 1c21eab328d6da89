/**
 * `node scripts/container-root.ts FOLDER`, after `npm run release`: makes the file system of the container image without a
 * base image: Debian packages by mmdebstrap, Node from npm, and the packed packages of this repository. deploy/Dockerfile
 * makes the same from node:24-bookworm-slim.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "./packages.ts";

const [typed] = process.argv.slice(2);
if (typed === undefined) throw new Error("Name the folder to make: `node scripts/container-root.ts FOLDER`.");
const folder = resolve(typed);
const tarballs = globSync("temp/release/*.tgz", { cwd: root }).map((path) => join(root, path));
if (tarballs.length === 0) throw new Error("There are no packed packages: run `npm run release` first.");

function run(command: string, words: readonly string[], cwd: string = root): void {
  execFileSync(command, words, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

// Only extracted: nothing in it is configured, and no shell is there.
run("mmdebstrap", ["--quiet", "--variant=extract", "--include=libc6,libstdc++6,tini", "bookworm", folder]);
// What a mount or a link is put on.
for (const path of ["data", "app", "proc", "dev", "run/secrets", "etc/postern", "usr/local/bin"])
  mkdirSync(join(folder, path), { recursive: true });
writeFileSync(join(folder, "etc/passwd"), "postern:x:10001:10001::/tmp:/usr/sbin/nologin\n");
copyFileSync(process.execPath, join(folder, "usr/local/bin/node"));
const app = join(folder, "app");
writeFileSync(join(app, "package.json"), '{ "private": true }\n');
run("npm", ["install", "--no-audit", "--no-fund", "--omit=dev", "--prefer-offline", ...tarballs], app);
