/**
 * For bugs, broken configuration and requests that name no call. The end of a call is never a fault but a value
 * (refusals.ts). HTTP answers with the status of the code (below); 500 becomes `internal` and a trace id.
 */
export class RuntimeFault extends Error {
  override readonly name = "RuntimeFault";
  readonly code: string;

  constructor(code: FaultCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** A message for any thrown thing, `null` and cyclic objects included. Never throws. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  if (typeof error === "string") return error;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    return Object.prototype.toString.call(error); // a cycle or a throwing getter: only its kind can be shown
  }
}

/**
 * The codes of a RuntimeFault that a caller can act on, with the HTTP status of a request that ends with it. A code
 * without a row does not compile. 500 stands for what a request cannot cause.
 *
 * Every other fault has one of four general codes, and its message says what is wrong and what to do:
 * `request_invalid`, the arguments of a method or a request; `options_invalid`, options of the runtime, a tool or another
 * part; `config_invalid`, a file, a folder or an address of this machine; `internal`, a bug of ours or of the caller.
 */
export const faultStatuses = {
  account_exists: 409,
  account_unknown: 404,
  approval_waits: 409,
  arguments_invalid: 422,
  artifact_unavailable: 404,
  artifacts_off: 501,
  audit_unavailable: 503,
  backup_damaged: 500,
  backup_keys_sealed: 500,
  backup_newer: 500,
  backup_running: 409,
  backup_unreadable: 500,
  backup_unsupported: 501,
  config_invalid: 500,
  connection_failed: 502,
  connection_unknown: 404,
  context_invalid: 422,
  data_folder_unusable: 500,
  deadline_passed: 408,
  decision_invalid: 422,
  definition_differs: 409,
  dependency_missing: 501,
  disk_full: 507,
  document_contended: 409,
  engine_unavailable: 503,
  folder_not_empty: 500,
  internal: 500,
  memory_failed: 502,
  nats_unusable: 500,
  node_too_old: 500,
  openid_unreachable: 502,
  options_invalid: 500,
  overloaded: 429,
  policy_invalid: 422,
  port_taken: 500,
  request_invalid: 422,
  run_contended: 409,
  run_foreign: 403,
  run_taken: 409,
  runtime_closed: 503,
  secret_missing: 500,
  secrets_busy: 503,
  secrets_command_failed: 502,
  secrets_key_invalid: 500,
  skill_refused: 409,
  skill_unknown: 404,
  store_broken: 503,
  store_foreign: 500,
  store_locked: 503,
  store_lost: 503,
  store_newer: 500,
  store_not_empty: 500,
  store_older: 500,
  store_unopenable: 500,
  store_unreachable: 503,
  store_unreadable: 503,
  store_unwritable: 503,
  tenant_refused: 403,
  token_missing: 401,
  token_refused: 422,
  token_unknown: 404,
  tool_name_invalid: 500,
  ui_unavailable: 409,
} as const;

export type FaultCode = keyof typeof faultStatuses;

/** Accepts codes of foreign errors too: an unknown code counts as a bug. */
export function faultStatus(code: string): number {
  return Object.hasOwn(faultStatuses, code) ? faultStatuses[code as FaultCode] : 500;
}
