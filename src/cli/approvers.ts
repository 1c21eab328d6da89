/** The approvers that come with the package. What they show a person with is loaded at the first question. */
import type { Readable, Writable } from "node:stream";
import type { Approver } from "../approvals/approver.ts";
import type { TerminalApproverOptions } from "./terminal-approver.ts";
import type { WebApprover, WebApproverOptions } from "./web-approver.ts";

/**
 * Asks at the terminal: `y` approves; `n`, an empty line, anything else and the end of input deny. A request that is longer
 * than the screen is approved by typing the tool's name. One question at a time; withdrawing a request ends its question.
 *
 * @param input default: standard input
 * @param output default: standard error
 *
 * @example
 * const runtime = await createRuntime({ tools, approvals: { approver: createTerminalApprover(), patience: "wait" } });
 *
 * @public
 */
export function createTerminalApprover(
  input?: Readable,
  output?: Writable,
  options?: TerminalApproverOptions,
): Approver {
  let made: Promise<Approver> | undefined;
  const load = async (): Promise<Approver> =>
    (await import("./terminal-approver.ts")).createTerminalApprover(input, output, options);
  return {
    name: "terminal",
    ask: async (request, signal) => {
      made ??= load();
      return (await made).ask(request, signal);
    },
  };
}

/**
 * Asks persons on a page that you mount in your own HTTP server. A decision is taken from the same origin only.
 *
 * @example
 * const web = createWebApprover({ person: (request) => sessionOf(request)?.user });
 * const runtime = await createRuntime({ tools, approvals: { approver: web, patience: "wait" } });
 * app.all("/approvals/*", (context) => web.fetch(context.req.raw)); // Hono; any server with Request and Response
 *
 * @public
 */
export function createWebApprover(options: WebApproverOptions): WebApprover {
  let made: Promise<WebApprover> | undefined;
  const load = async (): Promise<WebApprover> => (await import("./web-approver.ts")).createWebApprover(options);
  const approver = (): Promise<WebApprover> => {
    made ??= load();
    return made;
  };
  return {
    name: "web",
    ask: async (request, signal) => (await approver()).ask(request, signal),
    fetch: async (request) => (await approver()).fetch(request),
  };
}
