import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** A disk that answers no sync until it is let, as one that is slow: what was written is there, and who waits for the disk waits. */
export interface HeldDisk extends Disposable {
  /** How many syncs it has not answered. */
  readonly unanswered: number;
  /** From now on it answers at once. */
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
