import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** Counts the file syncs that begin and end until disposed. The syncs still happen. */
export function countedSyncs(): { readonly begun: number; readonly ended: number } & Disposable {
  const { fdatasync } = fs;
  let begun = 0;
  let ended = 0;
  const counting = (fd: number, done: fs.NoParamCallback): void => {
    begun += 1;
    fdatasync(fd, (error) => {
      ended += 1;
      done(error);
    });
  };
  fs.fdatasync = Object.assign(counting, { __promisify__: fdatasync.__promisify__ });
  syncBuiltinESMExports();
  return {
    get begun() {
      return begun;
    },
    get ended() {
      return ended;
    },
    [Symbol.dispose]: () => {
      fs.fdatasync = fdatasync;
      syncBuiltinESMExports();
    },
  };
}
