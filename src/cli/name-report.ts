import type { Clock } from "../core/clock.ts";
import type { PolicyWarning } from "../policy/report/warnings.ts";
import type { Runtime } from "../runtime/api.ts";
import type { Log } from "./log.ts";

/** A server that connects registers its tools one by one: they are looked at together. */
const quietMs = 500;

/**
 * Tells each name in the configuration that matches nothing, once: now, and when the tools of a server become known or
 * change. Ends when it is called.
 *
 * @returns what is told now, and how to stop
 */
export function reportNames(
  { policy, tools }: Pick<Runtime, "policy" | "tools">,
  { log, clock }: { readonly log: Pick<Log, "problem">; readonly clock: Clock },
): { readonly found: readonly PolicyWarning[]; stop(): void } {
  let before = new Set<string>();
  const tell = (): readonly PolicyWarning[] => {
    const found = policy.warnings().filter(({ code }) => code === "matches_no_tool");
    for (const { message, where } of found)
      if (!before.has(message)) log.problem(where === undefined ? message : `${where}: ${message}`);
    before = new Set(found.map(({ message }) => message));
    return found;
  };
  let cancel: (() => void) | undefined;
  const found = tell();
  const unfollow = tools.follow(() => {
    cancel ??= clock.in(
      quietMs,
      () => {
        cancel = undefined;
        tell();
      },
      false,
    );
  });
  return {
    found,
    stop: () => {
      unfollow();
      cancel?.();
    },
  };
}
