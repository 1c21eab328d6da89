/** The system's code of a failure: `ENOENT`, `EEXIST`, … For comparisons and messages to operators. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

/** SQLite's codes for a damaged database file: `SQLITE_CORRUPT`, `SQLITE_NOTADB`. */
const damageCodes: ReadonlySet<number> = new Set([11, 26]);

/** Whether stored data is damaged, so that reading it again would fail again: torn pages, or text that Postern did not write. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof SyntaxError) return true;
  if ("errcode" in error && damageCodes.has(Number(error.errcode) & 0xff)) return true;
  return isDamage(error.cause);
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "is not there"],
  ["ENOTDIR", "is not there"],
  ["EACCES", "is closed to this user"],
  ["EPERM", "is closed to this user"],
  ["EISDIR", "is a folder"],
  ["ERR_ENCODING_INVALID_ENCODED_DATA", "is not UTF-8 text"],
]);

/** Why a path cannot be read, as the end of a sentence that begins with the path. */
export function whyUnreadable(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return reasons.get(codeOf(error)) ?? `cannot be read: ${message}`;
}
