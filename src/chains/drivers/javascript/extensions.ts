import { dirname, join } from "node:path";

const names = ["url", "encoding", "structured-clone"] as const;

/** The engine's extensions in the order they are loaded in, and the files they are loaded from. */
export function extensionPaths(wasmPath: string): readonly (readonly [name: string, path: string])[] {
  return names.map((name) => [name, join(dirname(wasmPath), "extensions", name, `${name}.so`)]);
}
