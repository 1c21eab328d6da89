/**
 * `postern/audit`: the audit log, its proofs, and the verifier of an exported log.
 *
 * @packageDocumentation
 */
export type { ExportedLog } from "./lines.ts";
export type {
  AuditEvent,
  AuditFilter,
  AuditLog,
  CheckedLog,
  EntryProof,
  LatestFilter,
  LatestPage,
  Verification,
} from "./log.ts";
export type { ConsistencyProof, InclusionProof } from "./proofs.ts";
export { consistencyPath, leafHash, verifyConsistency, verifyInclusion } from "./proofs.ts";
export type { RecheckSettings } from "./recheck.ts";
export type { ExportVerification, VerifyExportOptions } from "./verify.ts";
export { verifyExport } from "./verify.ts";
export type { Witness, WitnessSettings } from "./witness.ts";
