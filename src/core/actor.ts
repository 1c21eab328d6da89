import { RuntimeFault } from "./fault.ts";
import type { FaultCode } from "./fault-codes.ts";
import { shown } from "./shown.ts";

/**
 * Who does something by hand, as the door authenticated them. A session, a token and a channel are lost and revoked
 * apart: so the log names the credential beside the person, always.
 *
 * @public
 */
export interface Actor {
  readonly by: string;
  /** The credential: `session:ann`, `token:tok_…`, `token:operator`, `channel:ops`; `postern` for what nobody did. */
  readonly via: string;
  /** The tenant it is confined to; none: all of them. */
  readonly tenant?: string;
}

/** Which names must be there, and which may be. */
interface Names {
  readonly needed: readonly string[];
  readonly other: readonly string[];
}

const actorNames: Names = { needed: ["by", "via"], other: ["tenant"] };

/**
 * The one check of whoever does something by hand, where the word comes in: what is wrong with it is told to them, and
 * is no event of anybody's.
 *
 * @param names what they are called by: those of an `Actor`, unless said
 * @throws RuntimeFault with this code, that names the member and the value
 */
export function checkWho(given: unknown, code: FaultCode, names: Names = actorNames): void {
  const { needed, other } = names;
  if (typeof given !== "object" || given === null) {
    const wanted = [...needed, ...other.map((name) => `${name}?`)].join(", ");
    throw new RuntimeFault(code, `Who does this is ${shown(given)}; it must be { ${wanted} }.`);
  }
  for (const name of [...needed, ...other]) {
    const value = (given as Readonly<Record<string, unknown>>)[name]; // any member of an object may be asked for
    if (value === undefined && !needed.includes(name)) continue;
    if (typeof value !== "string" || value === "")
      throw new RuntimeFault(
        code,
        `\`${name}\` of who does this is ${shown(value)}; it must be a text that is not empty.`,
      );
  }
}
