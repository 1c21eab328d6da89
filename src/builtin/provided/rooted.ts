import type { FileKit } from "../files/kit.ts";

/** Models that think in whole paths name a root as `/workspace/…`, as the shell tool shows it: the same file. */
export function rootedPath({ roots }: FileKit, path: string): string {
  const [, first = ""] = /^\/([^/]+)(?:\/|$)/.exec(path) ?? [];
  return roots.has(first) ? path.slice(1) : path;
}
