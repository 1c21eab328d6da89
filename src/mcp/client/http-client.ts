import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch as undiciFetch } from "undici";

/** A call may take as long as its own limit says: the library's five minutes are none of ours. */
const noLimit = { headersTimeout: 0, bodyTimeout: 0 };
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

const agents = new Map<string, Dispatcher>();

/** `fetch` without a limit of time, through `HTTPS_PROXY` or `HTTP_PROXY` where `NO_PROXY` does not say otherwise. */
export const httpFetch: typeof fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const dispatcher = loopback.test(url.hostname)
    ? agentFor("direct", () => new Agent(noLimit))
    : agentFor("environment", () => new EnvHttpProxyAgent(noLimit));
  const send = undiciFetch as unknown as (url: URL, init: object) => Promise<Response>; // the same standard, with types of its own
  return send(url, { ...init, dispatcher });
};

/** One for the process: it keeps connections open. */
function agentFor(name: string, make: () => Dispatcher): Dispatcher {
  const agent = agents.get(name) ?? make();
  agents.set(name, agent);
  return agent;
}
