import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** How many syncs of files were begun, and have ended, while this is there; they are made all the same. */
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
