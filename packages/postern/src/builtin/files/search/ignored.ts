import { closeSync, readSync } from "node:fs";
import ignore, { type Ignore } from "ignore";
import type { Folder } from "../guard/folder.ts";

const maxRuleBytes = 262_144;

/** The `.gitignore` files from the root down to a folder, the nearest last, which wins. */
export class IgnoreRules {
  static readonly none: IgnoreRules = new IgnoreRules([]);
  readonly #layers: readonly { readonly depth: number; readonly rules: Ignore }[];

  private constructor(layers: IgnoreRules["layers"]) {
    this.#layers = layers;
  }

  get layers(): readonly { readonly depth: number; readonly rules: Ignore }[] {
    return this.#layers;
  }

  /** Adds the rules of a folder. @param depth how many names lead from the root to it */
  within(folder: Folder, depth: number): IgnoreRules {
    const text = textOf(folder);
    if (text === undefined) return this;
    return new IgnoreRules([...this.#layers, { depth, rules: ignore().add(text) }]);
  }

  /** @param names from the root */
  ignores(names: readonly string[], isFolder: boolean): boolean {
    for (let i = this.#layers.length - 1; i >= 0; i -= 1) {
      const layer = this.#layers[i];
      if (layer === undefined || names.length <= layer.depth) continue;
      const { ignored, unignored } = layer.rules.test(names.slice(layer.depth).join("/") + (isFolder ? "/" : ""));
      if (ignored) return true;
      if (unignored) return false;
    }
    return false;
  }
}

/** A `.gitignore` that cannot be read, or is a link, has no rules. */
function textOf(folder: Folder): string | undefined {
  let descriptor: number;
  try {
    descriptor = folder.openFile([".gitignore"]);
  } catch {
    return undefined;
  }
  try {
    const buffer = Buffer.alloc(maxRuleBytes);
    return buffer.toString("utf8", 0, readSync(descriptor, buffer, 0, maxRuleBytes, 0));
  } finally {
    closeSync(descriptor);
  }
}
