import type { Clock } from "@postern/core";
import type { NatsLink } from "./nats.ts";
import { type KnownWorker, Presence } from "./presence.ts";
import { PeerKeys } from "./seal.ts";
import { beatSchema, subjects } from "./workers.ts";

/** Asks the workers to report, and returns those whose keys are known. */
export async function listWorkers(
  link: NatsLink,
  keys: Readonly<Record<string, string>>,
  waitMs: number,
  clock: Clock,
): Promise<readonly KnownWorker[]> {
  const known = new PeerKeys(keys);
  const presence = new Presence(clock, Number.POSITIVE_INFINITY);
  await link.whenConnected(() => {
    link.subscribe(subjects.everyBeat, (text) => {
      const opened = known.open("beat", text, beatSchema);
      if (!("problem" in opened)) presence.see(opened.publicKey, opened.by, opened.body);
    });
    link.publish(subjects.report, "");
  });
  await new Promise<void>((done) => clock.in(waitMs, done));
  return presence.list();
}
