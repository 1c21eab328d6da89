/** A client as small as one can be: what `fetch` leaves to be collected would be most of what is measured. */
import { Agent, request } from "node:http";

/** Of one run: none has a budget for all of them. */
const callsOfOne = 5_000;

export interface Caller extends Disposable {
  /** Throws where the tool did not run: a refusal is quicker than a call. */
  call(text: string): Promise<void>;
}

export function httpCaller(url: string, token: string): Caller {
  const agent = new Agent({ keepAlive: true });
  const started = Date.now();
  let made = 0;
  return {
    call: (text) => {
      const run = `run_${started}_${Math.floor(made++ / callsOfOne)}`;
      const body = JSON.stringify({ tool: "echo", arguments: { text }, run_id: run });
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      };
      return new Promise((resolve, reject) => {
        const asking = request(`${url}/v1/calls`, { agent, method: "POST", headers }, (answer) => {
          const { statusCode } = answer;
          const end = (): void =>
            statusCode === 200 ? resolve() : reject(new Error(`A call was answered with ${statusCode}.`));
          answer.resume().once("end", end);
        });
        asking.once("error", reject).end(body);
      });
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
