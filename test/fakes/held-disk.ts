import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** A slow disk: it answers no sync until it is released. Written data can be read. */
export interface HeldDisk extends Disposable {
  /** The number of unanswered syncs. */
  readonly unanswered: number;
  /** Answers all syncs at once from now on. */
  release(): void;
}

export function heldDisk(): HeldDisk {
  const { fdatasync } = fs;
  const unanswered: (() => void)[] = [];
  const replace = (by: typeof fdatasync): void => {
    fs.fdatasync = by;
    syncBuiltinESMExports();
  };
  const holding = (...given: Parameters<typeof fdatasync>): void => void unanswered.push(() => fdatasync(...given));
  const release = (): void => {
    replace(fdatasync);
    for (const answer of unanswered.splice(0)) answer();
  };
  replace(Object.assign(holding, { __promisify__: fdatasync.__promisify__ }));
  return {
    get unanswered() {
      return unanswered.length;
    },
    release,
    [Symbol.dispose]: release,
  };
}
