/**
 * `node scripts/release.ts`, after the build: makes the tarballs of all packages in `temp/release`, and checks each with
 * publint and attw. The packed `package.json` has no condition for sources, which are not packed.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packages, root } from "./packages.ts";

const release = join(root, "temp", "release");
const binaries = join(root, "node_modules", ".bin");

interface Manifest {
  readonly name: string;
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly [member: string]: unknown;
}

/** Copies what npm publishes of a package into a folder of its own. */
function stage(folder: string): string {
  const from = join(root, "packages", folder);
  const to = join(release, folder);
  const text = readFileSync(join(from, "package.json"), "utf8");
  const { scripts: _scripts, devDependencies: _development, ...manifest } = JSON.parse(text) as Manifest; // our own
  const exports = Object.entries(manifest.exports).map(([path, to]) => [
    path,
    typeof to === "string" ? to : to.default,
  ]);
  mkdirSync(to, { recursive: true });
  for (const path of [...manifest.files, "README.md", "LICENSE"]) {
    const source = [join(from, path), join(root, path)].find((place) => existsSync(place));
    if (source === undefined) throw new Error(`\`${join(from, path)}\` is missing: run \`npm run build\` first.`);
    cpSync(source, join(to, path), { recursive: true });
  }
  const packed = { ...manifest, exports: Object.fromEntries(exports) };
  writeFileSync(join(to, "package.json"), `${JSON.stringify(packed, undefined, 2)}\n`);
  return to;
}

rmSync(release, { recursive: true, force: true });
for (const folder of packages) {
  const staged = stage(folder);
  const [{ filename }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--pack-destination", release], { cwd: staged, encoding: "utf8" }),
  ) as [{ readonly filename: string }]; // npm's answer
  const tarball = join(release, filename);
  execFileSync(join(binaries, "publint"), ["--strict", tarball], { stdio: "inherit" });
  execFileSync(join(binaries, "attw"), [tarball, "--profile", "esm-only"], { stdio: "inherit" });
}
