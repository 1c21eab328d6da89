import { type FaultCode, RuntimeFault } from "./fault.ts";
import { shown } from "./shown.ts";

/**
 * The person who acts by hand, as the server or command line authenticated them. The log always names the credential
 * beside the person, because sessions, tokens and channels are revoked separately.
 *
 * @public
 */
export interface Actor {
  readonly by: string;
  /** The credential: `session:ann`, `token:tok_…`, `token:operator`, `channel:ops`; `postern` for an act of Postern itself. */
  readonly via: string;
  /** The tenant that the person is confined to. Without it, the person may act in all tenants. */
  readonly tenant?: string;
}

/** The member names that are required, and those that are optional. */
interface Names {
  readonly needed: readonly string[];
  readonly other: readonly string[];
}

const actorNames: Names = { needed: ["by", "via"], other: ["tenant"] };

/**
 * Checks the caller of an act by hand. A wrong caller gets a fault and no event is written.
 *
 * @param names the members to check; by default those of an `Actor`
 * @throws RuntimeFault with this code, that names the member and the value
 */
export function checkActorFields(given: unknown, code: FaultCode, names: Names = actorNames): void {
  const { needed, other } = names;
  if (typeof given !== "object" || given === null) {
    const wanted = [...needed, ...other.map((name) => `${name}?`)].join(", ");
    throw new RuntimeFault(code, `The actor is ${shown(given)}; it must be { ${wanted} }.`);
  }
  for (const name of [...needed, ...other]) {
    const value = (given as Readonly<Record<string, unknown>>)[name]; // any member of an object may be asked for
    if (value === undefined && !needed.includes(name)) continue;
    if (typeof value !== "string" || value === "")
      throw new RuntimeFault(code, `\`${name}\` of the actor is ${shown(value)}; it must be a text that is not empty.`);
  }
}
