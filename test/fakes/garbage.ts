import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { settled } from "../../packages/core/src/testing/clock.ts";

/** Collects garbage and runs the finalizers. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // what the flag makes
  for (let turn = 0; turn < 3; turn += 1) {
    await settled();
    collect(); // what native code held is given back a turn after it was let go
  }
  await settled();
}
