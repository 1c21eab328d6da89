import type { Checked, Verification } from "../audit/log.ts";
import { iso } from "./wire.ts";

export type VerificationWire =
  | Extract<Verification, { readonly intact: true }>
  | { readonly intact: false; readonly events: number; readonly first_broken: number; readonly why: string };

export function verificationToWire(found: Verification): VerificationWire {
  if (found.intact) return found;
  return { intact: false, events: found.events, first_broken: found.firstBroken, why: found.why };
}

/** What the log was last found to be; nothing while nobody has looked. */
export function checkedToWire(checked: Checked | undefined): (VerificationWire & { readonly at: string }) | undefined {
  return checked && { ...verificationToWire(checked.found), at: iso(checked.at) };
}
