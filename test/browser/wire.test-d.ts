/**
 * What the console believes the server sends, held to what the server says it sends. Only types: `tsc` is the test. A
 * field that is renamed, dropped or becomes optional on the server does not compile here.
 */
import type { Preview } from "../../console/src/api/approvals.ts";
import type { Session } from "../../console/src/api/who.ts";
import type { CallWire as CallShown } from "../../console/src/screens/policy/wire.ts";
import type { ChainWire as ChainShown } from "../../console/src/screens/runs/wire.ts";
import type {
  ControlsWire as ControlsShown,
  OutcomeWire as OutcomeShown,
  ToolWire as ToolShown,
} from "../../console/src/screens/tools/wire.ts";
import type { Json } from "../../src/calls/json.ts";
import type { CallWire, OutcomeWire, PreviewWire } from "../../src/doors/wire.ts";
import type { SessionWire } from "../../src/doors/wire-accounts.ts";
import type { ChainWire } from "../../src/doors/wire-chains.ts";
import type { ControlsWire, ToolWire } from "../../src/doors/wire-tools.ts";

/** As it arrives: JSON leaves out what is undefined. */
type Sent<Wire> = [Json] extends [Wire]
  ? Wire
  : Wire extends readonly (infer Item)[]
    ? readonly Sent<Item>[]
    : Wire extends object
      ? string extends keyof Wire
        ? Wire
        : { readonly [Name in keyof Wire]: Sent<Exclude<Wire[Name], undefined>> }
      : Wire;

/** Compiles only if all that is shown is sent. */
type Holds<Shown, Wire> = Sent<Wire> extends Shown ? true : { readonly notAs: Shown };

export const held: readonly [
  Holds<Preview, PreviewWire>,
  Holds<Session, SessionWire>,
  Holds<CallShown, CallWire>,
  Holds<ChainShown, ChainWire>,
  Holds<ControlsShown, ControlsWire>,
  Holds<OutcomeShown, OutcomeWire>,
  Holds<ToolShown, ToolWire>,
] = [true, true, true, true, true, true, true];
