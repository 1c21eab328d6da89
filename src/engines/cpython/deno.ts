/** Deno, found among the installed packages or on the path, and what a process of it may do: read one package. */
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { devNull } from "node:os";
import { delimiter, dirname, join } from "node:path";

const platforms: ReadonlyMap<string, string> = new Map([
  ["linux-x64", "@deno/linux-x64-glibc"],
  ["linux-arm64", "@deno/linux-arm64-glibc"],
  ["darwin-x64", "@deno/darwin-x64"],
  ["darwin-arm64", "@deno/darwin-arm64"],
  ["win32-x64", "@deno/win32-x64"],
]);

/** The package `deno` brings the program of its platform; its install script is not needed. */
export function findDeno(): string | undefined {
  const name = process.platform === "win32" ? "deno.exe" : "deno";
  const carried = packageFolder("deno");
  const platform = platforms.get(`${process.platform}-${process.arch}`);
  const folder = carried === undefined || platform === undefined ? undefined : packageFolder(platform, carried);
  const paths = (process.env["PATH"] ?? "").split(delimiter).filter((path) => path !== "");
  const places = [...(folder === undefined ? [] : [folder]), ...paths].map((path) => join(path, name));
  const found = places.find((path) => existsSync(path) && !path.includes(`${join("node_modules", ".bin")}`));
  return found === undefined ? undefined : realpathSync(found);
}

/** Where a package lies, seen from us or from another package. */
export function packageFolder(name: string, from?: string): string | undefined {
  try {
    const seen = createRequire(from === undefined ? import.meta.url : join(from, "package.json"));
    return realpathSync(dirname(seen.resolve(`${name}/package.json`)));
  } catch {
    return undefined; // not installed
  }
}

/** No network, no environment, no programs, no files but these: enforced by Deno beneath JavaScript. */
export function denoArguments(program: string, readable: readonly string[], heapMegabytes: number): readonly string[] {
  return [
    ...["run", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock", "--no-check", "--no-code-cache"],
    `--allow-read=${readable.join(",")}`,
    ...["--deny-net", "--deny-env", "--deny-run", "--deny-ffi", "--deny-sys", "--deny-write", "--deny-import"],
    `--v8-flags=--max-old-space-size=${heapMegabytes}`,
    program,
  ];
}

/**
 * Nothing is kept between processes: once a child is closed in, the kernel ends it at the first byte it writes to a file,
 * and Deno writes what it compiled whenever it likes. No folder can be beneath a device, so it keeps that in memory.
 */
export const denoEnvironment: Readonly<Record<string, string>> = {
  DENO_DIR: join(devNull, "none"),
  DENO_NO_UPDATE_CHECK: "1",
  NO_COLOR: "1",
};
