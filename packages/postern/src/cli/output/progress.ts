import { commentedType } from "@postern/core";
import { followEvents } from "../../server/client/event-client.ts";
import { sleep } from "../start/server-file.ts";
import type { Work } from "./print.ts";
import { fit, visible } from "./text.ts";

/** The call starts after this time even if the feed is not open. */
const openWithinMs = 2_000;

/** Prints what the tool says of its progress, when a person sits at the terminal or asked for it. */
export async function followProgress(
  work: Work,
  { isAsked, traceId }: { readonly isAsked: boolean; readonly traceId: string },
): Promise<AsyncDisposable> {
  const { host, json } = work;
  if (!isAsked && (json || !host.terminal.interactive)) return { [Symbol.asyncDispose]: async () => {} };
  const ending = new AbortController();
  const open = Promise.withResolvers<void>();
  const followed = printProgress(work, { traceId, signal: ending.signal, opened: open.resolve });
  const cancel = host.clock.in(openWithinMs, open.resolve, false);
  await Promise.race([open.promise, followed]);
  cancel();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await followed;
    },
  };
}

async function printProgress(
  { host, operator, terminal, paint }: Work,
  { traceId, signal, opened }: { readonly traceId: string; readonly signal: AbortSignal; readonly opened: () => void },
): Promise<void> {
  const where = { type: `tool_call.progressed,${commentedType}`, trace_id: traceId };
  const wait = (ms: number): Promise<void> => sleep(host.clock, ms, false);
  try {
    for await (const message of followEvents(operator.events, where, { signal, wait })) {
      if (message.kind === "live") opened();
      if (message.kind === "event") {
        const line = fit(`… ${visible(message.event.summary)}`, Math.max(20, terminal.columns - 1));
        terminal.aside(`${paint("dim", line)}\n`);
      }
    }
  } catch {
    // A caller that may not follow the feed still gets the outcome.
  }
}
