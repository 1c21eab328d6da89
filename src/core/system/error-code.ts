/** What the system called a failure: `ENOENT`, `EEXIST`, … It is compared, and told to operators. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

/** SQLite's own words for a file that is no whole database: `SQLITE_CORRUPT`, `SQLITE_NOTADB`. */
const damageCodes: ReadonlySet<number> = new Set([11, 26]);

/** Whether what was kept is no longer what was written, so that reading it again fails again: torn pages, text that is none of ours. */
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

/** Behind a path: why it cannot be read, as people say it. */
export function whyUnreadable(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return reasons.get(codeOf(error)) ?? `cannot be read: ${message}`;
}
