import type { Broken, Checked, Verdict, Verification } from "../audit/log.ts";
import type { ExportVerification } from "../audit/verify.ts";
import { iso } from "./wire.ts";

export type VerificationWire =
  | Extract<Verification, { readonly intact: true }>
  | {
      readonly intact: false;
      readonly events: number;
      readonly first_broken: number;
      readonly why: string;
      readonly unreadable?: "damaged" | "failing" | undefined;
    };

export function verificationToWire(found: Verification & Partial<Verdict>): VerificationWire & Partial<Verdict> {
  return found.intact ? found : brokenToWire(found);
}

function brokenToWire({ firstBroken, ...found }: Broken & Partial<Verdict>): BrokenWire & Partial<Verdict> {
  return { ...found, first_broken: firstBroken };
}

/** Whose an intact file is; `key_trusted: false`: only the file itself says so. */
export type SignedWire = Extract<VerificationWire, { readonly intact: true }> & {
  readonly signed_by: string;
  readonly public_key: string;
  readonly key_trusted: boolean;
};

type BrokenWire = Extract<VerificationWire, { readonly intact: false }>;
export type ExportVerificationWire = (SignedWire | BrokenWire) & Partial<Verdict>;

export function exportVerificationToWire(found: ExportVerification): ExportVerificationWire {
  if (!found.intact) return brokenToWire(found);
  const { publicKey, keyTrusted, ...rest } = found;
  return { ...rest, signed_by: publicKey.split("+", 1)[0] ?? "", public_key: publicKey, key_trusted: keyTrusted };
}

export type CheckedWire = VerificationWire & { readonly at: string };

/** What the log was last found to be; nothing while nobody has looked. */
export function checkedToWire(checked: Checked | undefined): CheckedWire | undefined {
  return checked && { ...verificationToWire(checked.found), at: iso(checked.at) };
}
