import { hash } from "node:crypto";
import { canonical, type Json } from "../json.ts";

/** SHA-256 of canonical JSON, as 64 hex digits. */
export function digestOf(value: Json): string {
  return sha256(canonical(value));
}

/** SHA-256 as 64 hex digits. A text is hashed as UTF-8. */
export function sha256(bytes: string | Uint8Array): string {
  return hash("sha256", bytes, "hex");
}
