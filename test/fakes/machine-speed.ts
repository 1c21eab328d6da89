/**
 * How slow this machine is now: the limits of tests are those of a machine at its full speed. The speed of a shared
 * machine halves and doubles within a minute, and processor time grows with it.
 */

/** Processor time of the fixed work on the machine on which the limits were set, at its full speed. */
const referenceMs = 50;

/** Coverage makes our code several times slower; `npm run test:system` checks the limits without it. */
const counted = process.env["COUNTED"] === "yes" ? 4 : 1;

const rows = Array.from({ length: 2_000 }, (_, i) => ({
  [`k${(i * 7_919) % 2_003}`]: i,
  text: "some words and a few more",
  list: [i, i + 1, { a: i }],
}));

function fixedWork(): number {
  const copy: Record<string, unknown>[] = JSON.parse(JSON.stringify(rows));
  return copy.reduce((length, row) => length + Object.keys(row).sort().join().length, 0);
}

/** Processor time of this thread for the work, in milliseconds. */
export function threadMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
}

fixedWork(); // compiles it

/** How many times as long as on the reference machine the same work takes now; at least 1. */
export function slowness(): number {
  const before = process.threadCpuUsage();
  for (let round = 0; round < 10; round += 1) fixedWork();
  return counted * Math.max(1, threadMs(before) / referenceMs);
}
