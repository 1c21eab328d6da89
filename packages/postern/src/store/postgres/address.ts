import { RuntimeFault } from "@postern/core";

/** Where a store in PostgreSQL is. */
export interface PostgresAddress {
  /** For the package `pg`. It may contain the password. */
  readonly connectionString: string;
  /** The schema that holds the tables. */
  readonly schema: string;
  /** For messages: without the user's name and password. */
  readonly shown: string;
}

const defaultSchema = "postern";
/** The name is also part of the name of a channel, which PostgreSQL cuts at 63 bytes. */
const schemaName = /^[a-z_][a-z0-9_]{0,39}$/;

export function isPostgresAddress(store: string): boolean {
  return /^postgres(?:ql)?:/.test(store);
}

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`.
 *
 * @throws RuntimeFault `options_invalid`
 */
export function readPostgresAddress(store: string): PostgresAddress {
  const url = URL.parse(store);
  if (url === null || !isPostgresAddress(store)) {
    const form = "`postgres://USER:PASSWORD@HOST:PORT/DATABASE`";
    throw new RuntimeFault(
      "options_invalid",
      `The address of the store in PostgreSQL cannot be read; write ${form}, with signs such as \`/\`, \`@\` and \`#\` of the password as \`%2F\`, \`%40\` and \`%23\`.`,
    );
  }
  const schema = url.searchParams.get("schema") ?? defaultSchema;
  if (!schemaName.test(schema)) {
    const rule = "Use 1 to 40 small letters, digits and `_`.";
    throw new RuntimeFault("options_invalid", `\`${schema}\` cannot be the schema of a store in PostgreSQL. ${rule}`);
  }
  url.searchParams.delete("schema");
  const shown = `postgres://${url.host}${url.pathname} (schema ${schema})`;
  return { connectionString: url.href, schema, shown };
}
