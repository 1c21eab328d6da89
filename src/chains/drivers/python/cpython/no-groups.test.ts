/** Where the kernel offers no control groups, and says so in its own way: a folder in which none can be made. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const asked = `
const { isolate } = await import(${JSON.stringify(join(import.meta.dirname, "bubblewrap.ts"))});
const { Groups } = await import(${JSON.stringify(join(import.meta.dirname, "../../child/groups.ts"))});
console.log(JSON.stringify({ python: await isolate("0"), groups: Groups.open("postern-test") ?? null }));
`;
const options = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", asked];

async function inEmptyKernelTree(): Promise<string> {
  const mount = 'mount -t sysfs sysfs /sys && exec "$@"';
  const words = ["--mount", "--net", "sh", "-c", mount, "sh", process.execPath, ...options];
  return (await run("unshare", words, { timeout: 15_000 })).stdout;
}

it.skipIf(process.getuid?.() !== 0)(
  "root without control groups is told so, and nothing waits for them for ever",
  async () => {
    expect(JSON.parse(await inEmptyKernelTree())).toEqual({
      python: { missing: expect.stringContaining("without control groups") },
      groups: null,
    });
  },
);
