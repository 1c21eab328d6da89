/** Another process that calls (http.ts): `node http-client.ts URL TOKEN CALLS`, and says on its standard output what it took. */
import { Agent, request } from "node:http";

const [url = "", token = "", calls = ""] = process.argv.slice(2);
const count = Number(calls);
const inFlight = 32;
/** Of one run: none has a budget for all of them. */
const callsOfOne = 2_000;
const agent = new Agent({ keepAlive: true });
const started = Date.now();

export interface ClientFigures {
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  readonly callsPerSecond: number;
}

function call(n: number): Promise<void> {
  const run = `run_${started}_${Math.floor(n / callsOfOne)}`;
  const body = JSON.stringify({ tool: "echo", arguments: { text: String(n) }, run_id: run });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const asking = request(`${url}/v1/calls`, { agent, method: "POST", headers }, (answer) => {
      const { statusCode } = answer;
      const end = (): void => (statusCode === 200 ? resolve() : reject(new Error(`answered with ${statusCode}`)));
      answer.resume().once("end", end); // a refusal is quicker than a call, and no row
    });
    asking.once("error", reject).end(body);
  });
}

const times: number[] = [];
for (let n = 0; n < count; n++) {
  const begun = performance.now();
  await call(n);
  if (n >= count / 4) times.push((performance.now() - begun) * 1_000); // the first quarter is warming up
}
times.sort((one, other) => one - other);
const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
let next = count;
const begun = performance.now();
const lane = async (): Promise<void> => {
  while (next < 2 * count) await call(next++);
};
await Promise.all(Array.from({ length: inFlight }, lane));
const callsPerSecond = count / ((performance.now() - begun) / 1_000);
console.log(
  JSON.stringify({ p50Microseconds: at(0.5), p99Microseconds: at(0.99), callsPerSecond } satisfies ClientFigures),
);
agent.destroy();
