import { RuntimeFault } from "../../core/fault.ts";

const reference = /\$\{([^{}]*)\}/g;
const named = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Where a text of the configuration stands. */
export interface ReferencePlace {
  readonly server: string;
  /** As `env.TOKEN`. */
  readonly key: string;
  /** Told of each variable that is put in. */
  readonly onVariable?: (name: string, value: string) => void;
}

/**
 * The text with `${NAME}` and `${NAME:-default}` replaced by what Postern's own environment has. What is put in is not
 * looked through.
 *
 * @throws RuntimeFault `server_invalid` when the variable is not set, or the text is no such reference
 */
export function withEnvironment(
  text: string,
  { server, key, onVariable }: ReferencePlace,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return text.replace(reference, (whole, inner: string) => {
    const [, name, fallback] = named.exec(inner) ?? [];
    const place = `\`servers.${server}.${key}\``;
    if (name === undefined)
      throw new RuntimeFault(
        "server_invalid",
        `${place} has \`${whole.slice(0, 60)}\`, which names no environment variable: write \`\${NAME}\`, or \`\${NAME:-default}\`.`,
      );
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value !== undefined && (value !== "" || fallback === undefined)) {
      onVariable?.(name, value);
      return value;
    }
    if (fallback !== undefined) return fallback;
    throw new RuntimeFault(
      "server_invalid",
      `${place} needs the environment variable \`${name}\`, which is not set where Postern runs: set it there, or write \`\${${name}:-default}\`.`,
    );
  });
}
