/**
 * The longest turn of this thread's loop during some work, in milliseconds of processor time: so long everybody else would
 * have waited. What other processes take of a busy machine is not counted.
 */
export async function heldUp(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let before = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (user + system) / 1_000);
  };
  const looking = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(looking);
  }
  return longestMs;
}
