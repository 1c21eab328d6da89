import { messageOf, RuntimeFault } from "@postern/core";

/** What the codes of PostgreSQL mean for a store. Others are shown with PostgreSQL's own words. */
const sentences: ReadonlyMap<string, string> = new Map([
  ["25006", "the database is read-only (it may be a standby); use the primary server"],
  ["28000", "the user may not sign in"],
  ["28P01", "the password is wrong; correct it in the address of the store"],
  ["3D000", "the database does not exist; make it with `createdb`"],
  ["42501", "the user may not do that; let it own the schema, or create one"],
  ["53100", "the disk of the database is full"],
  ["53300", "the database has no free connection; raise its `max_connections`, or stop other clients"],
  ["57014", "the database took too long"],
  ["57P01", "the database is being stopped"],
  ["57P03", "the database is starting or stopping"],
]);

/** What codes of the network mean. */
const unreached: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", "its host is not known; check the address"],
  ["EAI_AGAIN", "its host cannot be looked up; check the address and the name service"],
  ["ECONNREFUSED", "nothing listens at its host and port; check the address, or start PostgreSQL"],
]);

/** Classes and codes after which the connection cannot be used. */
const lostCode = /^(?:08|57P0[1-5]|PT001)/;

/** The five characters that PostgreSQL gives an error; undefined if it is not one of PostgreSQL. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in Object(error) ? code : undefined;
}

/** Whether the connection is gone, so that it is not known what the database did. */
export function isConnectionLost(error: unknown): boolean {
  const code = sqlState(error);
  return code === undefined ? !(error instanceof RuntimeFault) : lostCode.test(code);
}

/** One write of a batch is not acceptable, for example too large: the others may be. */
export function isRefusedContent(error: unknown): boolean {
  return /^(?:22|23|54)/.test(sqlState(error) ?? "");
}

/** Why, in words, with PostgreSQL's own. */
export function reasonOf(error: unknown): string {
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const own = messageOf(first);
  const code = sqlState(first) ?? (first as { readonly code?: string } | undefined)?.code ?? "";
  const sentence = sentences.get(code) ?? unreached.get(code);
  return sentence === undefined ? own : `${sentence} (${own})`;
}

export function unwritable(error: unknown): RuntimeFault {
  if (error instanceof RuntimeFault) return error;
  return new RuntimeFault("store_unwritable", `The store could not write: ${reasonOf(error)}.`, { cause: error });
}

export function unreadable(error: unknown): RuntimeFault {
  if (error instanceof RuntimeFault) return error;
  return new RuntimeFault("store_unreadable", `The store could not read: ${reasonOf(error)}.`, { cause: error });
}

export function unopenable(error: unknown, shown: string): RuntimeFault {
  if (error instanceof RuntimeFault) return error;
  const message = `The store \`${shown}\` cannot be opened: ${reasonOf(error)}.`;
  return new RuntimeFault("store_unopenable", message, { cause: error });
}
