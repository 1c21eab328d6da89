/** postern imports no type of this package, so the shape that it expects is compared here. */
import type { AgentsPackage } from "../../postern/src/cli/agents-port.ts";
import * as command from "./command.ts";

command satisfies AgentsPackage;
