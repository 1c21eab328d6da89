/** Another process that calls (http.ts): `node http-client.ts URL TOKEN CALLS`, and says on its standard output what it took. */
import { httpCaller } from "./http-caller.ts";

const [url = "", token = "", calls = ""] = process.argv.slice(2);
const count = Number(calls);
const inFlight = 32;
using caller = httpCaller(url, token);

export interface ClientFigures {
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  readonly callsPerSecond: number;
}

const times: number[] = [];
for (let n = 0; n < count; n++) {
  const begun = performance.now();
  await caller.call(`${n}`);
  if (n >= count / 4) times.push((performance.now() - begun) * 1_000); // the first quarter is warming up
}
times.sort((one, other) => one - other);
const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
let next = count;
const begun = performance.now();
const lane = async (): Promise<void> => {
  while (next < 2 * count) await caller.call(`${next++}`);
};
await Promise.all(Array.from({ length: inFlight }, lane));
const callsPerSecond = count / ((performance.now() - begun) / 1_000);
console.log(
  JSON.stringify({ p50Microseconds: at(0.5), p99Microseconds: at(0.99), callsPerSecond } satisfies ClientFigures),
);
