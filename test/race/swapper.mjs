// The same without a compiler: three renames a swap, until it is told to stop. For a moment neither name is there.
import { renameSync } from "node:fs";

const [, , one = "", other = ""] = process.argv;
const between = `${one}.between`;
let swaps = 0;
let stopped = false;
process.on("SIGTERM", () => {
  stopped = true;
});
process.on("disconnect", () => process.exit());

function swapSome() {
  for (let i = 0; i < 256; i += 1) {
    try {
      renameSync(one, between);
      renameSync(other, one);
      renameSync(between, other);
      swaps += 1;
    } catch {
      // Somebody else's rename came between; the next round finds them as they are.
    }
  }
  if (!stopped) return void setImmediate(swapSome);
  process.stdout.write(`${swaps}\n`);
  process.disconnect?.();
}

swapSome();
