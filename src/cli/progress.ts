import { followEvents } from "../server/client/event-client.ts";
import type { Host } from "./host.ts";
import type { Work } from "./session.ts";
import { fit, visible } from "./text.ts";

const none: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };
/** The call does not wait any longer for somebody to listen. */
const openWithinMs = 2_000;

/** What the tool says of its progress, beside the result, as it says it; where a person looks on, or asked for it. */
export async function followProgress(
  host: Host,
  work: Work,
  { isAsked, traceId }: { readonly isAsked: boolean; readonly traceId: string },
): Promise<AsyncDisposable> {
  if (!isAsked && (work.json || !host.terminal.interactive)) return none;
  const ending = new AbortController();
  const open = Promise.withResolvers<void>();
  const told = tell(host, work, { traceId, signal: ending.signal, opened: open.resolve });
  const cancel = host.clock.in(openWithinMs, open.resolve, false);
  await Promise.race([open.promise, told]);
  cancel();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await told;
    },
  };
}

async function tell(
  host: Host,
  { operator, terminal, paint }: Work,
  { traceId, signal, opened }: { readonly traceId: string; readonly signal: AbortSignal; readonly opened: () => void },
): Promise<void> {
  const wait = (ms: number): Promise<void> => new Promise((resolve) => void host.clock.in(ms, resolve, false));
  try {
    for await (const heard of followEvents(
      operator.events,
      { type: "tool_call.progressed", trace_id: traceId },
      { signal, wait },
    )) {
      if (heard.heard === "live") opened();
      if (heard.heard === "event") {
        const line = fit(`… ${visible(heard.event.summary)}`, Math.max(20, terminal.columns - 1));
        terminal.aside(`${paint("dim", line)}\n`);
      }
    }
  } catch {
    // Who may not follow, or cannot, still gets the outcome.
  }
}
